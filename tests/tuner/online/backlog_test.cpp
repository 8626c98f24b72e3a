#include "tuner/online/backlog.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>

#include "core/error.hpp"

namespace autospmv {
namespace {

// What a device has come past.
struct PretendedDevice {
  int marks = 0;   // behind products
  int passed = 0;  // of them
  int asked = 0;
  bool fails = false;
};

class PretendedMark final : public Stopwatch {
 public:
  explicit PretendedMark(PretendedDevice& device) : device_(device) {}

  void start(Stream /*stream*/) override {}
  void stop(Stream /*stream*/) override {
    if (device_.fails) throw DeviceError("it fails");
    which_ = ++device_.marks;
  }
  [[nodiscard]] bool stopped() const override {
    ++device_.asked;
    return which_ <= device_.passed;
  }
  [[nodiscard]] double seconds() const override { return 0; }

 private:
  PretendedDevice& device_;
  int which_ = 0;
};

// A caller whose orders are so many seconds apart.
class OrderingCaller {
 public:
  explicit OrderingCaller(PretendedDevice& device) {
    Backlog::Marks marks;
    for (auto& mark : marks) mark = std::make_unique<PretendedMark>(device);
    backlog_.use(std::move(marks));
  }

  /// How many of at most so many products he orders before he is to wait.
  int order(int most, double seconds, double apart) {
    for (int i = 0; i < most; ++i) {
      if (backlog_.may_be_long() && backlog_.is_long()) return i;
      now_ += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(apart));
      backlog_.note_product(seconds, now_, {});
    }
    return most;
  }

  Backlog& backlog() { return backlog_; }

 private:
  Backlog backlog_;
  Clock::time_point now_;
};

TEST(Backlog, KeepsACallerWhoAwaitsNothingNear) {
  for (const double seconds : {1e-5, 4e-5, 1e-4, 1e-3}) {
    PretendedDevice device;
    OrderingCaller caller(device);
    constexpr int many = 1000;
    const int ordered = caller.order(many, seconds, 4e-6);
    EXPECT_LT(ordered * seconds, 4 * Backlog::seconds_of_mark + 3 * seconds) << seconds;
    EXPECT_GE(ordered * seconds, 2 * Backlog::seconds_of_mark) << seconds;
    EXPECT_EQ(caller.order(many, seconds, 4e-6), 0);
    // The device comes past one mark after the other, and each time as much may follow.
    for (int i = 0; i < 10; ++i) {
      device.passed = device.marks - 1;
      const int more = caller.order(many, seconds, 4e-6);
      EXPECT_GT(more, 0) << seconds;
      EXPECT_LT(more * seconds, 2 * Backlog::seconds_of_mark + seconds) << seconds;
    }
  }
}

TEST(Backlog, LeavesACallerAloneWhoAwaitsEachProduct) {
  for (const double seconds : {1e-5, 1e-4, 1e-2}) {
    PretendedDevice device;
    OrderingCaller caller(device);
    constexpr int many = 1000;
    EXPECT_EQ(caller.order(many, seconds, seconds + 8e-6), many);
    EXPECT_EQ(device.marks, 0);
    EXPECT_EQ(device.asked, 0);
  }
}

// While nobody knows what a product takes, neither are those held up who order no faster than the device computes.
TEST(Backlog, TakesUnknownProductsForShortOnes) {
  PretendedDevice device;
  OrderingCaller caller(device);
  EXPECT_LT(caller.order(1000, 0, 2e-6), 30);
  PretendedDevice quick;
  OrderingCaller other(quick);
  EXPECT_EQ(other.order(1000, 0, Backlog::first_guess), 1000);
  EXPECT_EQ(quick.marks, 0);
}

// What was reckoned to take longer than it did is put right by the first mark that is passed.
TEST(Backlog, BelievesTheDevice) {
  PretendedDevice device;
  device.passed = 1 << 30;
  OrderingCaller caller(device);
  constexpr int many = 1000;
  EXPECT_EQ(caller.order(many, 1e-5, 4e-6), many);
  EXPECT_GT(device.marks, 0);
  EXPECT_LT(device.marks, many / 8);
}

TEST(Backlog, NotesNothingWithoutMarks) {
  Backlog backlog;
  for (int i = 0; i < 100; ++i) backlog.note_product(1, {}, {});
  EXPECT_FALSE(backlog.may_be_long());
  PretendedDevice device;
  OrderingCaller caller(device);
  EXPECT_LT(caller.order(100, 1e-3, 0), 100);
  caller.backlog().give_up();
  EXPECT_EQ(caller.order(100, 1e-3, 0), 100);
}

TEST(Backlog, EndsWithADeviceThatFails) {
  PretendedDevice device;
  device.fails = true;
  OrderingCaller caller(device);
  EXPECT_EQ(caller.order(100, 1e-3, 0), 100);
  EXPECT_FALSE(caller.backlog().has_marks());
}

}  // namespace
}  // namespace autospmv
