// The moments in which a candidate may kill the process.
#pragma once

#include <span>
#include <utility>

#include "core/trial.hpp"
#include "core/uncopied.hpp"
#include "db/database.hpp"

namespace autospmv {

/// Notes a candidate in the database as a suspect while it is built and launched for the first time: where the process
/// dies meanwhile, the next one knows what was in hand. Where this goes before the candidate has survived, it was given
/// up, and nothing is said of it.
class FirstLaunch : Uncopied {
 public:
  FirstLaunch(Database& database, TrialKey key, Candidate candidate)
      : database_(database), key_(std::move(key)), candidate_(std::move(candidate)) {
    database_.note_suspect(key_, candidate_);
  }
  /// At once with recording trials of this matrix.
  FirstLaunch(Database& database, TrialKey key, Candidate candidate, const MatrixRecord& matrix,
              std::span<const TrialRecord> trials)
      : database_(database), key_(std::move(key)), candidate_(std::move(candidate)) {
    database_.record(key_, matrix, trials, candidate_);
  }
  ~FirstLaunch() {
    if (!survived_) database_.clear_suspect(key_, candidate_);
  }

  /// Nor do deaths of earlier processes count against it any more.
  void survive() {
    if (!std::exchange(survived_, true)) database_.absolve(key_, candidate_);
  }

 private:
  Database& database_;
  TrialKey key_;
  Candidate candidate_;
  bool survived_ = false;
};

/// How many deaths while it was launched make a candidate one that is not tried any more. Processes are killed from
/// outside too, at any moment: of those that were killed a hundred times in the middle of tuning, hardly any candidate
/// is in hand at a third death, since after the first one it comes last.
inline constexpr int fatal_deaths = 3;

}  // namespace autospmv
