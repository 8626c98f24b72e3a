#include "core/machine/turns.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace autospmv {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun) { return std::chrono::duration<double>(Clock::now() - begun).count(); }

template <class Body>
void in_another_thread(const Body& body) {
  std::thread(body).join();
}

TEST(DriverTurn, IsNotTakenWhereNobodyWorksBesideCallers) {
  EXPECT_FALSE(DriverTurn().held());
  std::atomic<bool> begun{false};
  std::atomic<bool> end{false};
  std::thread other([&] {
    const BesideCallers beside;
    begun = true;
    while (!end) std::this_thread::yield();
  });
  while (!begun) std::this_thread::yield();
  EXPECT_TRUE(DriverTurn().held());
  EXPECT_FALSE(DriverTurn(Backend::host).held());
  end = true;
  other.join();
  EXPECT_FALSE(DriverTurn().held());
}

TEST(DriverTurn, LastsUntilTheOuterOneEnds) {
  const BesideCallers beside;
  const DriverTurn outer;
  ASSERT_TRUE(outer.held());
  { EXPECT_FALSE(DriverTurn().held()); }
  in_another_thread([] { EXPECT_FALSE(DriverTurn().held()); });
}

// Nobody is kept from the driver by one who never comes back from it.
TEST(DriverTurn, IsWaitedForNoLongerThanItTakes) {
  const BesideCallers beside;
  const DriverTurn turn;
  in_another_thread([] {
    const auto begun = Clock::now();
    EXPECT_FALSE(DriverTurn().held());
    EXPECT_GE(seconds_since(begun), DriverTurn::most_wait);
    // Once for all: that thread may have lost its processor.
    constexpr int more = 1000;
    const auto then = Clock::now();
    for (int i = 0; i < more; ++i) EXPECT_FALSE(DriverTurn().held());
    EXPECT_LT(seconds_since(then), more * DriverTurn::most_wait / 2);
  });
  in_another_thread([] {
    const BesideCallers too;
    const auto begun = Clock::now();
    EXPECT_FALSE(DriverTurn().held());
    EXPECT_GE(seconds_since(begun), DriverTurn::most_wait_beside);
  });
}

TEST(DriverTurn, IsOneThreadsAtATime) {
  std::atomic<int> inside{0};
  std::atomic<int> together{0};
  const auto ask = [&] {
    for (int held = 0; held < 2000;) {
      const DriverTurn turn;
      if (!turn.held()) continue;
      ++held;
      if (inside.fetch_add(1) > 0) ++together;
      --inside;
    }
  };
  const BesideCallers beside;
  std::thread caller(ask);
  ask();
  caller.join();
  EXPECT_EQ(together, 0);
}

// Whoever awaits his product must first have come past the driver.
TEST(DriverTurn, ComesForOthersSomeTimeAfterACallersOrder) {
  constexpr double too_soon = 1e-6;  // seconds
  std::atomic<Clock::rep> ended{Clock::now().time_since_epoch().count()};
  std::atomic<bool> end{false};
  int turns = 0;
  int early = 0;
  std::thread other([&] {
    const BesideCallers beside;
    while (!end) {
      const DriverTurn turn;
      if (!turn.held()) continue;
      ++turns;
      // While this one is held, no caller ends another.
      const Clock::duration since = Clock::now().time_since_epoch() - Clock::duration(ended.load());
      if (std::chrono::duration<double>(since).count() < too_soon) ++early;
    }
  });
  for (int i = 0; i < 500; ++i) {
    {
      const DriverTurn turn;
      if (turn.held()) ended = Clock::now().time_since_epoch().count();
    }
    for (const auto begun = Clock::now(); seconds_since(begun) < 2e-5;) {
    }
  }
  end = true;
  other.join();
  EXPECT_GT(turns, 0);
  EXPECT_EQ(early, 0);
}

// One order after another leaves no time in which nobody asks.
TEST(DriverTurn, ComesForOthersBesideACallerWhoAwaitsNothing) {
  std::atomic<bool> end{false};
  std::atomic<int> orders{0};
  const BesideCallers beside;
  std::thread caller([&] {
    for (; !end; ++orders) {
      const DriverTurn turn;
      for (const auto begun = Clock::now(); seconds_since(begun) < 3e-6;) {
      }
    }
  });
  while (orders == 0) std::this_thread::yield();
  constexpr int asked = 200;
  int held = 0;
  for (int i = 0; i < asked; ++i) held += DriverTurn().held() ? 1 : 0;
  end = true;
  caller.join();
  EXPECT_GT(held, asked / 2);
}

}  // namespace
}  // namespace autospmv
