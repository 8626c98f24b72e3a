// What the subcommands found out, apart from value types and from how it is printed. Numbers that are not known are
// NaN: they print as "-" and as null.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/matrix/matrix_data.hpp"
#include "core/trial.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv::tools {

inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

inline constexpr double us = 1e6;  ///< microseconds, in which times are printed, a second

struct MatrixSummary {
  std::string label;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  std::string value_type;
  std::int64_t value_bytes = 0;
};

template <Scalar T>
MatrixSummary summary_of(const std::string& label, const Matrix<T>& matrix, Operation op = Operation::plain) {
  const std::string type(value_type_name<T>());
  if (op == Operation::transposed) {
    return {label + transposed_suffix, matrix.cols(), matrix.rows(), matrix.nnz(), type, sizeof(T)};
  }
  return {label, matrix.rows(), matrix.cols(), matrix.nnz(), type, sizeof(T)};
}

/// "cant: 62451 x 62451, 4007383 nonzeros, double".
std::string headline(const MatrixSummary& matrix);

/// Bytes that a product by plain CSR with 32-bit offsets moves: the unit in which formats are compared.
double csr_product_bytes(const MatrixSummary& matrix);

/// Seconds of one product, warm or cold.
double median_of(const Timing& timing);

double gflops(const MatrixSummary& matrix, double seconds);
double csr_equivalent_gbs(const MatrixSummary& matrix, double seconds);

/// A plan and how it came about.
struct TuneRecord {
  MatrixSummary matrix;
  Candidate choice;
  Measurement measurement;               ///< of the choice; without samples where it was not tried
  std::optional<Prediction> prediction;  ///< of the choice, where it was estimated
  std::optional<TrialRecord> baseline;
  bool from_database = false;
  std::string layer = {};    ///< as in Tuned
  bool passed_over = false;  ///< as in Tuned
  std::int64_t trials = 0;
  StepTimes times;
};

template <Scalar T>
TuneRecord record_of(const MatrixSummary& matrix, const Tuned<T>& tuned) {
  return {.matrix = matrix,
          .choice = tuned.plan->choice().candidate,
          .measurement = tuned.winner ? tuned.winner->measurement : Measurement{},
          .prediction = tuned.prediction,
          .baseline = tuned.baseline,
          .from_database = tuned.from_database,
          .layer = tuned.layer,
          .passed_over = tuned.passed_over,
          .trials = tuned.new_trials,
          .times = tuned.times};
}

double seconds_of(const TuneRecord& record);
double baseline_seconds(const TuneRecord& record);

/// Time of plain CSR over that of the choice.
double speedup(const TuneRecord& record);

/// "database", "measured", "estimated" or "untried".
std::string source_of(const TuneRecord& record);

/// Products after which the choice, its setup included, has cost less than plain CSR; infinity where it never does.
double break_even_calls(const TuneRecord& record);

}  // namespace autospmv::tools
