// The papers' own comparisons: a paper's set of formats over its matrices, and what the paper claims of them.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/machine/device.hpp"
#include "core/trial.hpp"
#include "features/features.hpp"
#include "tools/output/record.hpp"

namespace autospmv::tools {

enum class Role : std::uint8_t {
  own,    ///< proposed by the paper, as published
  tuned,  ///< the same or its descendants of today, by any candidate: narrowed values and columns, stored halves too
  rival,  ///< measured by the paper beside its own
  described,  ///< told of by the paper, or running elsewhere: shown, and left out of who is fastest
};

struct Contest;
struct StudiedMatrix;

/// One format of a comparison. Its fastest candidate counts; but none that stores columns or values in fewer bits than
/// the paper, or half of a symmetric matrix, unless the role is Role::tuned.
struct Contender {
  std::string_view name;  ///< as the paper writes it
  /// As FormatChoice reads them, "suraa fused=0 width=100"; several are joined by "; ". A parameter that a candidate
  /// does not have, as on another backend, excludes none.
  std::string_view candidates;
  Role role = Role::rival;
  /// What one product moves by the paper's own count; asked for only where the contest has a time.
  double (*moved_bytes)(const StudiedMatrix& studied, const Contest& contest) = nullptr;
  std::string_view otherwise = {};  ///< the candidates where none of the others has a time
  std::string_view without = {};    ///< of its candidates, those that it does not take
};

/// What a contender came to on one matrix.
struct Contest {
  const Contender* contender = nullptr;
  std::vector<TrialRecord> trials;  ///< that it takes; all that is drawn from a contest is drawn from these
  std::optional<TrialRecord> best;  ///< the fastest of them that gave the right product
  std::string status;               ///< "measured", "missing" from this build, or the outcome of its trials
  std::string detail;               ///< why there is no time
};

/// One matrix of a study.
struct StudiedMatrix {
  MatrixSummary matrix;
  std::string backend;
  std::string device;
  double mean_row = 0;      ///< nonzeros
  double longest_row = 0;   ///< nonzeros
  double row_variance = 0;  ///< population variance of the nonzeros of a row
  double copy_bandwidth = 0;
  double cache_bytes = 0;
  std::vector<Contest> contests;  ///< in the order of the study's contenders
  std::vector<TrialRecord> trials;
};

using Matrices = std::span<const StudiedMatrix>;

/// A bound of a quantity, which may be another one for products in single precision.
struct Bound {
  double in_float = unknown;
  double in_double = unknown;

  [[nodiscard]] double of(std::string_view value_type) const { return value_type == "float" ? in_float : in_double; }
};

/// A number that a study draws from all its matrices; NaN where they do not tell. Those with a bound decide whether a
/// claim holds, the others are shown beside them.
struct Quantity {
  std::string name;
  std::function<double(Matrices)> value;
  std::optional<Bound> least = {};
  std::optional<Bound> most = {};

  /// The same with a bound.
  [[nodiscard]] Quantity at_least(double in_float, double in_double) const;
  [[nodiscard]] Quantity at_least(double bound) const { return at_least(bound, bound); }
  [[nodiscard]] Quantity at_most(double bound) const;
};

/// What a paper says of its comparison, and what this one says of the same.
struct Claim {
  std::string_view place;  ///< in the paper
  std::string_view text;
  std::vector<Quantity> measured;
  bool on_host = true;            ///< it makes sense on a processor too
  std::string_view why_not = {};  ///< where it does not hold on a GPU
  std::string_view why_not_on_host = {};
};

/// A matrix that a paper measured on, of the published size.
struct PaperMatrix {
  std::string_view name;         ///< as the paper writes it
  std::string_view suitesparse;  ///< "Williams/cant"; empty where that collection does not have it
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
};

/// A generator, "gen:pde:50"; empty where nothing stands in for it.
std::string_view stand_in_of(const PaperMatrix& matrix);

struct Study {
  std::string_view name;
  std::string_view paper;
  std::string_view short_paper;  ///< "Gao 2016"
  std::string_view byte_count;   ///< how moved_bytes counts, in words
  std::vector<Contender> contenders;
  std::vector<PaperMatrix> matrices;
  std::vector<Claim> claims;
};

/// Every study there is. A further one is a further file, see questions.hpp.
std::span<const Study> all_studies();

/// "ellr_t, three-formats, ...", for messages.
std::string study_names();

/// The studies of that name, all of them for "all". Throws InvalidArgument, with the names there are, for others.
std::vector<const Study*> find_studies(std::string_view name);

/// Sorts the trials of one matrix by contender: `studied` has everything but the contests.
StudiedMatrix study_matrix(const Study& study, StudiedMatrix studied);

// Of a contender on a matrix; NaN where it has no time.
double seconds_of(const Contest& contest);
double gflops_of(const StudiedMatrix& studied, const Contest& contest);
double memory_of(const StudiedMatrix& studied, const Contest& contest);
double effective_bandwidth(const StudiedMatrix& studied, const Contest& contest);
double setup_products(const Contest& contest);

/// Of plain CSR with 32-bit offsets.
double csr_memory(const MatrixSummary& matrix);

/// The fastest among those that the paper measured, its own as published; nullptr where none has a time.
const Contest* fastest_of(const StudiedMatrix& studied);

// Of the finite ones; NaN where there are none.
double geometric_mean(std::span<const double> values);
double arithmetic_mean(std::span<const double> values);

}  // namespace autospmv::tools
