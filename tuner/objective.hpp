// What is better, what the limits allow, and which effort leaves nothing for another: said here and nowhere else.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autospmv/options.hpp"
#include "core/trial.hpp"

namespace autospmv {

// ---- What is better: the least total

/// Seconds of the conversion and of so many calls of so many seconds.
inline double total_seconds(double setup_seconds, double seconds, double calls) {
  return setup_seconds + calls * seconds;
}
inline double total_seconds(double setup_seconds, double seconds, const Limits& limits) {
  return total_seconds(setup_seconds, seconds, static_cast<double>(limits.expected_calls));
}
inline double total_seconds(const Measurement& measurement, const Limits& limits) {
  return total_seconds(measurement.setup_seconds, measurement.warm.median, limits);
}

/// From so many expected calls on, what thousands of them take is little beside what a choice that is a few percent
/// better brings to all of them: more is tried, and timed for longer.
inline constexpr std::int64_t many_calls = 100'000;
inline bool expects_many_calls(const Limits& limits) { return limits.expected_calls >= many_calls; }

/// Totals this close, as a share of the smaller, are told apart by noise alone.
inline constexpr double tie = 0.01;

/// A product that takes so many times what its trial took, or of which its trial took so many times as long, was not
/// measured: it was disturbed, or the machine was another.
inline constexpr double doubtful = 2;

/// Cheapest first; those that were disturbed behind those that passed, and the others last.
void sort_by_total(std::vector<TrialRecord>& trials, const Limits& limits);

/// The cheapest within the limits. Of those in a tie with it, the one of the fewest bytes, then of the fewest
/// parameters, then by name. `may_win`, where it is given, says which candidates count.
std::optional<TrialRecord> winner_of(std::vector<TrialRecord> trials, const Limits& limits, std::int64_t csr_bytes,
                                     const std::function<bool(const Candidate&)>& may_win = {});

// ---- What the limits allow

/// Why nothing like that may win, whatever it takes; empty where it may.
std::string_view limit_against(bool deterministic, bool capturable, const Limits& limits);

/// A factor that cannot be compared with (infinity times 0 bytes) is no limit.
inline bool exceeds_memory(double bytes, std::int64_t csr_bytes, const Limits& limits) {
  return bytes > limits.memory_factor * static_cast<double>(csr_bytes);
}

inline bool is_out_of_time(double seconds, const Limits& limits) { return seconds > limits.time_limit_seconds; }

/// Whether it gave the right product, and within the limits: a faster one beyond them is no rival.
inline bool could_win(const TrialRecord& trial, std::int64_t csr_bytes, const Limits& limits) {
  return is_timed(trial.measurement) && limit_against(trial.deterministic, trial.capturable, limits).empty() &&
         !exceeds_memory(static_cast<double>(trial.measurement.bytes), csr_bytes, limits);
}

// ---- Which effort covers which

/// What the database calls an effort whose candidates were all tried. Limits choose among trials and leave no candidate
/// out, except that of determinism, and of short lists that of capture and that there are many calls.
std::string effort_mark(Effort effort, const Limits& limits);

/// Whether one of the efforts marked so has tried all that this one would. Where a short list was measured, nothing is
/// left for Effort::online, whose list is the same.
bool is_covered(std::span<const std::string> marks, Effort effort, const Limits& limits);

}  // namespace autospmv
