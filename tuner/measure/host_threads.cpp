#include "tuner/measure/host_threads.hpp"

#include <fcntl.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <system_error>

#include "core/uncopied.hpp"
#include "tuner/measure/clock.hpp"

namespace autospmv {

namespace {

// What the scheduler has done to a thread so far.
struct Schedule {
  std::int64_t preemptions = 0;
  std::int64_t rests = 0;   ///< it gave its processor up by itself
  std::int64_t waited = 0;  ///< nanoseconds that it was ready to run and did not
  int processor = 0;
};

// Linux says how long a thread has waited in a file of its own, which stays open as long as the thread lives: opening
// it takes longer than a small product.
class ScheduleFile : Uncopied {
 public:
  ScheduleFile()
      : file_(open(("/proc/self/task/" + std::to_string(gettid()) + "/schedstat").c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~ScheduleFile() {
    if (file_ >= 0) close(file_);
  }

  /// "nanoseconds-run nanoseconds-waited turns"; 0 where the system keeps no such file.
  [[nodiscard]] std::int64_t waited() const {
    std::array<char, 96> text{};
    const auto size = file_ < 0 ? 0 : pread(file_, text.data(), text.size(), 0);
    const char* const begin = text.data();
    const char* const end = begin + std::max<std::ptrdiff_t>(size, 0);
    const char* const space = std::find(begin, end, ' ');
    std::int64_t waited = 0;
    if (space != end) std::from_chars(space + 1, end, waited);
    return waited;
  }

 private:
  int file_;
};

Schedule schedule_of_this_thread() {
  static thread_local const ScheduleFile file;
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return {usage.ru_nivcsw, usage.ru_nvcsw, file.waited(), sched_getcpu()};
}

// Of every thread of a parallel region. All of them are awake when it returns.
void look(std::vector<Schedule>& schedules) {
#pragma omp parallel default(none) shared(schedules)
  schedules[static_cast<std::size_t>(omp_get_thread_num())] = schedule_of_this_thread();
}

constexpr double share_of_a_product = 0.02;
constexpr double most_of_a_sample = 0.6;
// A thread that has slept is not awake at once on an idle machine either.
constexpr double seconds_to_wake = 2e-5;

}  // namespace

Sample time_threads(const std::function<void()>& body) {
  const auto threads = static_cast<std::size_t>(std::max(1, omp_get_max_threads()));
  std::vector<Schedule> before(threads);
  std::vector<Schedule> after(threads);
  look(before);
  const auto start = Clock::now();
  body();
  Sample sample{seconds_since(start), false};
  look(after);

  double longest = 0;
  for (std::size_t i = 0; i < threads; ++i) {
    const double waited = static_cast<double>(after[i].waited - before[i].waited) * 1e-9;
    const double allowed =
        share_of_a_product * sample.seconds + seconds_to_wake * static_cast<double>(after[i].rests - before[i].rests);
    sample.disturbed = sample.disturbed || waited > allowed || after[i].preemptions > before[i].preemptions ||
                       after[i].processor != before[i].processor;
    longest = std::max(longest, waited);
  }
  // A wait is counted when it ends, so that it may have begun before all this.
  if (sample.disturbed && longest < most_of_a_sample * sample.seconds) sample.seconds -= longest;
  return sample;
}

Sample time_least(const std::function<void()>& body, int wanted, Patience& patience) {
  Sample least{std::numeric_limits<double>::infinity(), true};
  int undisturbed = 0;
  for (int i = 0; i < wanted || (undisturbed < wanted && patience.is_left()); ++i) {
    const auto start = Clock::now();
    const auto sample = time_threads(body);
    if (i < wanted) {
      patience.earn(seconds_since(start));
    } else {
      patience.spend(seconds_since(start));
    }
    undisturbed += sample.disturbed ? 0 : 1;
    const bool better = sample.disturbed == least.disturbed ? sample.seconds < least.seconds : least.disturbed;
    if (better) least = sample;
  }
  return least;
}

PinnedThreads::PinnedThreads() {
  cpu_set_t allowed;
  if (omp_get_proc_bind() != omp_proc_bind_false || sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &allowed)) processors.push_back(i);
  }
  const auto threads = static_cast<std::size_t>(std::max(1, omp_get_max_threads()));
  if (threads > processors.size()) return;
  // From where this thread runs: the system has put other processes that do the same elsewhere.
  const auto current = std::find(processors.begin(), processors.end(), sched_getcpu());
  std::rotate(processors.begin(), current == processors.end() ? processors.begin() : current, processors.end());
  std::vector<cpu_set_t> before(threads);
  // Spread: neighbouring numbers are often two threads of one core.
#pragma omp parallel default(none) shared(before, processors, threads)
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    cpu_set_t own;
    CPU_ZERO(&own);
    CPU_SET(static_cast<std::size_t>(processors[thread * processors.size() / threads]), &own);
    if (sched_getaffinity(0, sizeof(cpu_set_t), &before[thread]) != 0) CPU_ZERO(&before[thread]);
    (void)sched_setaffinity(0, sizeof(own), &own);
  }
  before_ = std::move(before);
}

PinnedThreads::~PinnedThreads() {
  if (before_.empty()) return;
#pragma omp parallel default(none)
  {
    const auto thread = static_cast<std::size_t>(omp_get_thread_num());
    if (thread < before_.size() && CPU_COUNT(&before_[thread]) > 0) {
      (void)sched_setaffinity(0, sizeof(cpu_set_t), &before_[thread]);
    }
  }
}

}  // namespace autospmv
