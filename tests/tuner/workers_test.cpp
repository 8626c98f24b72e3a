#include "tuner/workers.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <thread>
#include <vector>

namespace autospmv::testing {
namespace {

TEST(Workers, RunTasksThatWaitForEachOther) {
  std::atomic<int> begun = 0;
  Workers workers([&] { ++begun; });
  std::promise<void> last_runs;
  const auto last = last_runs.get_future().share();
  std::vector<std::future<void>> ended(4);
  for (auto& one : ended) {
    one = &one == &ended.back() ? workers.run([&] { last_runs.set_value(); }) : workers.run([last] { last.wait(); });
  }
  for (const auto& one : ended) one.wait();
  EXPECT_EQ(begun, 4);
}

TEST(Workers, KeepTheirThreads) {
  Workers workers([] {});
  std::thread::id first;
  workers.run([&] { first = std::this_thread::get_id(); }).wait();
  for (int i = 0; i < 100; ++i) {
    std::thread::id other;
    workers.run([&] { other = std::this_thread::get_id(); }).wait();
    if (other == first) return;
  }
  FAIL() << "each task had a thread of its own";
}

TEST(Workers, EndTheirTasksFirst) {
  std::atomic<int> done = 0;
  {
    Workers workers([] {});
    for (int i = 0; i < 20; ++i) workers.run([&] { ++done; });
  }
  EXPECT_EQ(done, 20);
}

}  // namespace
}  // namespace autospmv::testing
