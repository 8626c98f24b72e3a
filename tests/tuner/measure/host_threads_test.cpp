#include "tuner/measure/host_threads.hpp"

#include <gtest/gtest.h>
#include <omp.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "core/machine/parallel.hpp"

namespace autospmv {
namespace {

cpu_set_t processors_of_this_thread() {
  cpu_set_t processors;
  CPU_ZERO(&processors);
  EXPECT_EQ(sched_getaffinity(0, sizeof(processors), &processors), 0);
  return processors;
}

void work_for(std::chrono::milliseconds time) {
  const auto end = std::chrono::steady_clock::now() + time;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Another thread that never rests, on the processor of the calling thread alone, which may use no other either.
class Rival {
 public:
  Rival() : before_(processors_of_this_thread()) {
    cpu_set_t here;
    CPU_ZERO(&here);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &here);
    EXPECT_EQ(sched_setaffinity(0, sizeof(here), &here), 0);
    thread_ = std::jthread([](const std::stop_token& stop) {  // inherits the processor
      while (!stop.stop_requested()) {
      }
    });
  }
  ~Rival() {
    thread_ = {};
    sched_setaffinity(0, sizeof(before_), &before_);
  }
  Rival(const Rival&) = delete;
  Rival& operator=(const Rival&) = delete;

 private:
  cpu_set_t before_;
  std::jthread thread_;
};

TEST(TimeThreads, NoticesAnotherThreadOnTheProcessor) {
  const Rival rival;
  const auto sample = time_threads([] { work_for(std::chrono::milliseconds(200)); });
  EXPECT_TRUE(sample.disturbed);
  EXPECT_GT(sample.seconds, 0);
}

TEST(TimeThreads, SeesTheOtherThreadsOfAProduct) {
  if (omp_get_max_threads() < 2) GTEST_SKIP() << "there is one thread";
  const auto caller = std::this_thread::get_id();
  const auto sample = time_threads([&] {
    parallel_region(serial_below, [&](int /*thread*/, int /*threads*/) {
      if (std::this_thread::get_id() == caller) return;
      const auto before = processors_of_this_thread();
      const Rival rival;
      work_for(std::chrono::milliseconds(200));
      sched_setaffinity(0, sizeof(before), &before);
    });
  });
  EXPECT_TRUE(sample.disturbed);
}

TEST(TimeLeast, TakesAsManySamplesAsItIsAskedFor) {
  int calls = 0;
  Patience none;
  none.spend(1e9);
  const auto least = time_least([&] { work_for(std::chrono::milliseconds(++calls == 2 ? 2 : 20)); }, 3, none);
  EXPECT_EQ(calls, 3);
  EXPECT_GT(least.seconds, 0);
}

TEST(TimeLeast, LosesPatienceWhereNothingIsEverUndisturbed) {
  const Rival rival;
  Patience patience;
  int calls = 0;
  const auto least = time_least(
      [&] {
        ++calls;
        work_for(std::chrono::milliseconds(50));
      },
      1, patience);
  EXPECT_GT(calls, 1);
  EXPECT_TRUE(least.disturbed || patience.is_left());
}

TEST(PinnedThreads, HaveAProcessorEachAndGiveItBack) {
  const auto threads = static_cast<std::size_t>(omp_get_max_threads());
  const auto processors = [&] {
    std::vector<cpu_set_t> all(threads);
#pragma omp parallel
    all[static_cast<std::size_t>(omp_get_thread_num())] = processors_of_this_thread();
    return all;
  };
  const auto before = processors();
  if (static_cast<std::size_t>(CPU_COUNT(before.data())) < threads || omp_get_proc_bind() != omp_proc_bind_false) {
    GTEST_SKIP() << "the threads are bound, or more than there are processors";
  }
  {
    const PinnedThreads pinned;
    const auto during = processors();
    for (std::size_t i = 0; i < threads; ++i) {
      EXPECT_EQ(CPU_COUNT(&during[i]), 1);
      for (std::size_t k = 0; k < i; ++k) EXPECT_FALSE(CPU_EQUAL(&during[i], &during[k]));
    }
  }
  const auto after = processors();
  for (std::size_t i = 0; i < threads; ++i) EXPECT_TRUE(CPU_EQUAL(&before[i], &after[i]));
}

}  // namespace
}  // namespace autospmv
