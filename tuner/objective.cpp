#include "tuner/objective.hpp"

#include <tuple>
#include <utility>

namespace autospmv {

namespace {

// Of tunings that left out what is not deterministic. Who has tried everything has tried what is deterministic too.
constexpr const char* deterministic_mark = " deterministic";
// Of those whose short list took in what cannot be captured.
constexpr const char* uncaptured_mark = " uncaptured";

// Of those whose short list was that of many calls.
constexpr const char* many_calls_mark = " for many calls";

std::string mark_of(Effort effort, const Limits& limits) {
  std::string mark(name_of(effort));
  if (effort == Effort::measure && expects_many_calls(limits)) mark += many_calls_mark;
  return limits.capture || effort == Effort::exhaustive ? mark : mark + uncaptured_mark;
}

Limits with_calls(Limits limits, std::int64_t calls) {
  limits.expected_calls = calls;
  return limits;
}

bool is_simpler(const TrialRecord& a, const TrialRecord& b) {
  const auto rank = [](const TrialRecord& trial) {
    return std::tuple(trial.measurement.bytes, trial.candidate.params.values().size());
  };
  if (rank(a) != rank(b)) return rank(a) < rank(b);
  return a.candidate < b.candidate;
}

}  // namespace

void sort_by_total(std::vector<TrialRecord>& trials, const Limits& limits) {
  const auto rank = [&](const TrialRecord& trial) {
    const auto& m = trial.measurement;
    return std::tuple(m.outcome != Outcome::passed, m.outcome != Outcome::disturbed, m.warm.samples == 0,
                      total_seconds(m, limits), m.bytes);
  };
  std::sort(trials.begin(), trials.end(), [&](const TrialRecord& a, const TrialRecord& b) {
    const auto of_a = rank(a);
    const auto of_b = rank(b);
    if (of_a != of_b) return of_a < of_b;
    if (a.candidate.format != b.candidate.format) return a.candidate.format < b.candidate.format;
    return a.candidate.params.text() < b.candidate.params.text();
  });
}

std::optional<TrialRecord> winner_of(std::vector<TrialRecord> trials, const Limits& limits, std::int64_t csr_bytes,
                                     const std::function<bool(const Candidate&)>& may_win) {
  std::erase_if(trials, [&](const TrialRecord& trial) {
    return !could_win(trial, csr_bytes, limits) || (may_win && !may_win(trial.candidate));
  });
  if (trials.empty()) return std::nullopt;
  const bool any_passed = std::any_of(trials.begin(), trials.end(), [](const TrialRecord& trial) {
    return trial.measurement.outcome == Outcome::passed;
  });
  if (any_passed) {
    std::erase_if(trials, [](const TrialRecord& trial) { return trial.measurement.outcome != Outcome::passed; });
  }
  const auto total = [&](const TrialRecord& trial) { return total_seconds(trial.measurement, limits); };
  const auto cheapest =
      std::min_element(trials.begin(), trials.end(), [&](const auto& a, const auto& b) { return total(a) < total(b); });
  const double most = (1 + tie) * total(*cheapest);
  std::erase_if(trials, [&](const TrialRecord& trial) { return total(trial) > most; });
  return std::move(*std::min_element(trials.begin(), trials.end(), is_simpler));
}

std::string_view limit_against(bool deterministic, bool capturable, const Limits& limits) {
  if (limits.deterministic && !deterministic) return "not deterministic";
  if (limits.capture && !capturable) return "cannot be captured into a graph";
  return {};
}

std::string effort_mark(Effort effort, const Limits& limits) {
  auto mark = mark_of(effort, limits);
  return limits.deterministic ? mark + deterministic_mark : mark;
}

bool is_covered(std::span<const std::string> marks, Effort effort, const Limits& limits) {
  const auto has = [&](const std::string& mark) { return std::find(marks.begin(), marks.end(), mark) != marks.end(); };
  const auto has_tried = [&](const Limits& under) {
    const auto mark = mark_of(effort, under);
    return has(mark) || (limits.deterministic && has(mark + deterministic_mark));
  };
  if (has_tried(limits)) return true;
  if (effort == Effort::measure) {
    // Who has tried everything, or the list for many calls, has also tried the list for a few.
    return (limits.capture && has(mark_of(Effort::exhaustive, limits))) || has_tried(with_calls(limits, many_calls));
  }
  return effort == Effort::online && is_covered(marks, Effort::measure, with_calls(limits, 0));
}

}  // namespace autospmv
