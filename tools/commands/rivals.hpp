// Ours against the rivals: products of other libraries, each of their formats and algorithms for itself.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trial.hpp"
#include "tools/output/json.hpp"
#include "tools/output/record.hpp"

namespace autospmv::tools {

enum class Cache : std::uint8_t { warm, cold };

std::string_view name_of(Cache cache);

/// The fastest candidates of a rival's format by one of its algorithms, or of all formats that are ours.
struct Contestant {
  std::string name;  ///< "cusparse_coo 2", "cusparse_sell" where there is one algorithm, "ours"
  std::optional<TrialRecord> warm;
  std::optional<TrialRecord> cold;
  std::string detail;  ///< why there is no time

  [[nodiscard]] const std::optional<TrialRecord>& fastest(Cache cache) const {
    return cache == Cache::warm ? warm : cold;
  }
  /// NaN where there is no time.
  [[nodiscard]] double seconds(Cache cache) const;
};

/// What the trials of one matrix came to.
struct RivalRecord {
  MatrixSummary matrix;
  Contestant ours;
  std::vector<Contestant> rivals;  ///< in the order of their names, those without a time too
};

/// The formats of this build that are other libraries' on that backend.
std::vector<std::string> rival_formats(Backend backend);

/// Sorts the trials of one matrix; those of the formats in `rivals` are rivals', all others ours.
RivalRecord rival_record(const MatrixSummary& matrix, const std::vector<TrialRecord>& trials,
                         const std::vector<std::string>& rivals);

/// The rival with the least time; nullptr where none has one.
const Contestant* best_rival(const RivalRecord& record, Cache cache);

/// How many times as long as ours a contestant takes; NaN where either has no time.
double times_ours(const RivalRecord& record, const Contestant& rival, Cache cache);

/// The same of the best rival: above 1, ours is faster than all of them.
double best_times_ours(const RivalRecord& record, Cache cache);

/// Over all matrices for which there is such a number.
struct RivalSummary {
  std::int64_t matrices = 0;
  double geometric_mean = 0;  ///< NaN where there are none
  double worst = 0;
  std::string worst_matrix;
};

RivalSummary summarize(std::span<const RivalRecord> records, const std::function<double(const RivalRecord&)>& value);

/// One matrix as text.
void print_rivals(const RivalRecord& record);

/// All of them: a table with a row a matrix for warm, one for cold. As text, or in Markdown.
void print_rival_tables(std::span<const RivalRecord> records, bool markdown);

Json rivals_json(const RivalRecord& record);
Json rival_summary_json(std::span<const RivalRecord> records);

}  // namespace autospmv::tools
