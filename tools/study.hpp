// The papers' own comparisons: a paper's set of formats over the given matrices, and what the paper claims of them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trial.hpp"
#include "features/features.hpp"
#include "tools/json.hpp"
#include "tools/record.hpp"

namespace autospmv::tools {

enum class Role : std::uint8_t {
  own,        ///< proposed by the paper
  rival,      ///< measured by the paper beside its own
  described,  ///< told of by the paper and not measured: shown, and left out of who is fastest
};

struct Contest;
struct StudiedMatrix;

/// One format of a comparison. Its fastest candidate counts, also where the paper knew a single choice of parameters;
/// but not those that store columns or values in fewer bits than the paper, or half of a symmetric matrix.
struct Contender {
  std::string_view name;    ///< as the paper writes it
  std::string_view format;  ///< as this library does; need not be in this build
  Role role = Role::rival;
  bool on_csr = false;  ///< multiplies from the CSR arrays, which are then part of its memory
  /// What one product moves by the paper's own count; asked for only where the contest has a time.
  double (*moved_bytes)(const StudiedMatrix& studied, const Contest& contest) = nullptr;
};

/// What a contender came to on one matrix.
struct Contest {
  const Contender* contender = nullptr;
  std::optional<TrialRecord> best;  ///< its fastest trial that passed
  std::string status;               ///< "measured", "missing" from this build, or the outcome of its trials
  std::string detail;               ///< why there is no time
};

/// One matrix of a study.
struct StudiedMatrix {
  MatrixSummary matrix;
  double mean_row = 0;      ///< nonzeros
  double longest_row = 0;   ///< nonzeros
  double row_variance = 0;  ///< population variance of the nonzeros of a row
  double copy_bandwidth = 0;
  double cache_bytes = 0;
  std::vector<Contest> contests;  ///< in the order of the study's contenders
  std::vector<TrialRecord> trials;
};

/// A number that a study draws from all its matrices; NaN where they do not tell.
struct Quantity {
  std::string_view name;
  std::function<double(std::span<const StudiedMatrix>)> value;
};

/// What a paper says of its comparison, and what this one says of the same.
struct Claim {
  std::string_view text;
  std::vector<Quantity> measured;
};

struct Study {
  std::string_view name;
  std::string_view paper;
  std::string_view byte_count;  ///< how moved_bytes counts, in words
  std::vector<Contender> contenders;
  std::vector<Claim> claims;
};

/// Every study there is. A further one is a further file, see study_questions.hpp.
std::span<const Study> all_studies();

/// "ellr_t, three-formats, ...", for messages.
std::string study_names();

/// Throws InvalidArgument, with the names there are, for a name that is none of them.
const Study& find_study(std::string_view name);

/// The formats of a study that this build has.
std::vector<std::string> formats_of(const Study& study);

/// Sorts the trials of one matrix by contender.
StudiedMatrix study_matrix(const Study& study, const MatrixSummary& matrix, const Features& features,
                           std::vector<TrialRecord> trials);

// Of a contender on a matrix; NaN where it has no time.
double seconds_of(const Contest& contest);
double memory_of(const StudiedMatrix& studied, const Contest& contest);
double effective_bandwidth(const StudiedMatrix& studied, const Contest& contest);
double setup_products(const Contest& contest);

/// Of plain CSR with 32-bit offsets.
double csr_memory(const MatrixSummary& matrix);

/// The fastest among those that the paper measured; nullptr where none has a time.
const Contest* fastest_of(const StudiedMatrix& studied);

/// Of the finite ones; NaN where there are none.
double geometric_mean(std::span<const double> values);

// As text on standard output, and as JSON: one value a matrix and one for all of them.
void print_studied(const Study& study, const StudiedMatrix& studied, const Device& device);
void print_summary(const Study& study, std::span<const StudiedMatrix> matrices);
Json studied_json(const Study& study, const StudiedMatrix& studied, const Device& device);
Json summary_json(const Study& study, std::span<const StudiedMatrix> matrices);

}  // namespace autospmv::tools
