#include "tuner/context/background.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <system_error>
#include <thread>
#include <vector>

namespace autospmv {
namespace {

using std::chrono::milliseconds;

TEST(Background, RunsTasksInOneThreadAndInTheirOrder) {
  std::vector<int> order;
  std::vector<std::thread::id> threads;
  std::promise<void> last;
  Background background([&] { order.push_back(-1); });
  for (int i = 0; i < 100; ++i) {
    EXPECT_TRUE(background.post([&, i] {
      order.push_back(i);
      threads.push_back(std::this_thread::get_id());
    }));
  }
  EXPECT_TRUE(background.post([&] { last.set_value(); }));
  last.get_future().wait();
  background.stop();
  ASSERT_EQ(order.size(), 101U);
  for (int i = 0; i < 101; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i - 1);
  EXPECT_EQ(threads, std::vector(100, threads.front()));
  EXPECT_NE(threads.front(), std::this_thread::get_id());
}

TEST(Background, WhatIsDelayedLetsOthersPass) {
  std::atomic<int> done = 0;
  std::promise<int> delayed;
  Background background([] {});
  const auto start = Background::Clock::now();
  EXPECT_TRUE(background.post([&] { delayed.set_value(done); }, milliseconds(300)));
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(background.post([&] { ++done; }));
  EXPECT_EQ(delayed.get_future().get(), 10);
  EXPECT_GE(Background::Clock::now() - start, milliseconds(300));
}

TEST(Background, StopsAfterTheTaskInHand) {
  std::promise<void> runs;
  std::promise<void> may_end;
  std::atomic<bool> ended = false;
  std::atomic<bool> other = false;
  Background background([] {});
  const auto held = std::make_shared<int>();
  EXPECT_TRUE(background.post([&] {
    runs.set_value();
    may_end.get_future().wait();
    ended = true;
  }));
  EXPECT_TRUE(background.post([&other, held] { other = true; }));
  runs.get_future().wait();
  std::thread stopper([&] { background.stop(); });
  // stop() has let go of the waiting task by the time the one in hand may end.
  while (held.use_count() > 1) std::this_thread::yield();
  EXPECT_FALSE(ended);
  may_end.set_value();
  stopper.join();
  EXPECT_TRUE(ended);
  EXPECT_FALSE(other);
  EXPECT_FALSE(background.post([] {})) << "nobody would run it";
}

TEST(Background, WithoutAThreadTasksAreRefused) {
  int tries = 0;
  Background background([] {},
                        [&](const Background::Task&) -> std::thread {
                          ++tries;
                          throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
                        });
  const auto held = std::make_shared<int>();
  EXPECT_FALSE(background.start());
  EXPECT_FALSE(background.post([held] { ADD_FAILURE() << "who runs this?"; }));
  EXPECT_EQ(tries, 2) << "the next one may get a thread";
  EXPECT_EQ(held.use_count(), 1);
}

}  // namespace
}  // namespace autospmv
