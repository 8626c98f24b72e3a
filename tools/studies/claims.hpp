// What becomes of the papers' claims: a verdict for each, from one run or several, in one table.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tools/output/json.hpp"
#include "tools/studies/study.hpp"

namespace autospmv::tools {

enum class Verdict : std::uint8_t {
  holds,
  fails,
  unmeasured,  ///< no quantity with a bound has a value
  senseless,   ///< on a processor
};

/// "yes", "no", "not measured", "-".
std::string_view name_of(Verdict verdict);

struct Judgement {
  Verdict verdict = Verdict::unmeasured;
  std::vector<double> values;  ///< of the quantities
};

/// By those of its quantities that have a bound and a value. The matrices are of one device and value type.
Judgement judge(const Claim& claim, Matrices matrices);

/// "average speed-up >= 1.76 (float), 1.53 (double); geometric".
std::string criterion_of(const Claim& claim);

/// A matrix and the study that it was measured for.
using StudiedFor = std::pair<const Study*, StudiedMatrix>;

/// What was measured on one device in one value type.
struct StudyRun {
  std::string backend;
  std::string device;
  std::string value_type;
  std::map<const Study*, std::vector<StudiedMatrix>> matrices;
};

/// In the order in which they come; the last result counts where a matrix was measured again.
std::vector<StudyRun> runs_of(std::vector<StudiedFor> all);

/// "host, double", "NVIDIA H200, float".
std::string title_of(const StudyRun& run);

/// A column a run, and one for each run on a GPU that is missing.
void print_claims_table(const std::vector<const Study*>& studies, const std::vector<StudyRun>& runs, bool markdown);

/// An array of claims.
Json claims_json(const std::vector<const Study*>& studies, const std::vector<StudyRun>& runs);

}  // namespace autospmv::tools
