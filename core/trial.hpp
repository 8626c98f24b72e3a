// The plain records that the tuner writes and the database keeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autospmv/options.hpp"
#include "core/matrix/fingerprint.hpp"
#include "core/params.hpp"

namespace autospmv {

/// A format with one choice of parameters.
struct Candidate {
  std::string format;
  Params params;

  [[nodiscard]] std::string text() const { return params.values().empty() ? format : format + " " + params.text(); }
  friend bool operator==(const Candidate&, const Candidate&) = default;
  friend auto operator<=>(const Candidate&, const Candidate&) = default;
};

/// disturbed: right, but other work on the machine was in every sample of its time, which is an estimate.
enum class Outcome : std::uint8_t { passed, disturbed, refused, wrong_answer, failed };

std::string_view name_of(Outcome outcome);
std::optional<Outcome> parse_outcome(std::string_view name);

/// Seconds of one product; nothing was measured where samples is 0.
struct Timing {
  double median = 0;
  double low_quartile = 0;
  double high_quartile = 0;
  int samples = 0;
};

/// What a trial gave.
struct Measurement {
  Outcome outcome = Outcome::failed;
  std::string detail;        ///< the reason of a refusal, the text of an error; empty where it passed
  Timing warm;               ///< back to back
  Timing cold;               ///< caches flushed before each
  Timing loop;               ///< back to back from a plain loop of launches: on CUDA, warm is replayed from a graph
  double setup_seconds = 0;  ///< conversion from CSR, allocation included
  std::int64_t bytes = 0;    ///< what the built candidate allocated beside the CSR arrays
  double worst_error = 0;    ///< as in Comparison
  /// Memory or threads ran out: refused for now, which says nothing of the candidate and is not recorded.
  bool given_up = false;
};

/// It gave the right product, in a time that is known, be it by estimate.
inline bool is_timed(const Measurement& measurement) {
  const bool right = measurement.outcome == Outcome::passed || measurement.outcome == Outcome::disturbed;
  return right && measurement.warm.samples > 0;
}

/// One row of the history. A later trial of the same candidate adds a row and never replaces one.
struct TrialRecord {
  Candidate candidate;
  int format_version = 0;
  bool deterministic = true;
  Measurement measurement;
  bool capturable = true;  ///< on CUDA, into a graph; else Measurement::warm is from a plain loop too
  std::size_t layer = 0;   ///< which database knows it: 0, the user's own; see Database::put_under()
};

/// What a measurement is valid for. Names, never numbers.
struct TrialKey {
  Fingerprint pattern;
  std::string value_type;  ///< "float", "double"; "double in 8 bits" where that is all the values need
  std::string operation;   ///< "n": y = A x
  std::string backend;     ///< "host", "cuda"
  std::string device;
  std::string toolkit;
  std::string driver;
  std::string library;  ///< version of autospmv

  /// False for that of a machine alone.
  [[nodiscard]] bool has_pattern() const { return pattern != Fingerprint{}; }

  friend bool operator==(const TrialKey&, const TrialKey&) = default;
};

/// What the database remembers of a matrix beside its fingerprint.
struct MatrixRecord {
  std::string label;  ///< its name, for people; may be empty
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  std::int64_t csr_bytes = 0;
  std::vector<std::pair<std::string, double>> features;  ///< empty where they were not extracted
  std::string source = {};                               ///< what it was read from: a file, a generator; may be empty
};

}  // namespace autospmv
