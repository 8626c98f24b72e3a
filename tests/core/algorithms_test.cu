// Scans and copies on a device.
#include "core/cuda/algorithms.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <numeric>
#include <thread>
#include <vector>

#include "core/machine/device.hpp"

namespace autospmv::cuda {
namespace {

class AlgorithmsOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
  }

  Place place_{Backend::cuda, 0};
};

template <class V>
void expect_scan(std::int64_t size, Place place) {
  std::vector<V> in(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<V>(i * 7 % 11);
  auto scanned = Array<V>::copy_of(in, place);
  const auto stream = setup_stream(place);
  exclusive_scan(scanned.data(), scanned.data(), size, place, stream);
  std::vector<V> expected(in.size());
  std::exclusive_scan(in.begin(), in.end(), expected.begin(), V{0});
  EXPECT_EQ(scanned.to_vector(), expected) << size;
}

TEST_F(AlgorithmsOnDevice, ScanAnyNumberInPlace) {
  for (const std::int64_t size : {1, 3, 4, 1023, 1024, 4095, 4096, 4097, 9000, 16383, 16384, 16385, 100000}) {
    expect_scan<std::int32_t>(size, place_);
    expect_scan<std::int64_t>(size, place_);
  }
}

TEST_F(AlgorithmsOnDevice, CountsBecomeOffsets) {
  const auto stream = setup_stream(place_);
  for (const std::int64_t size : {1, 2, 4, 1024, 4096, 4097, 9000, 16384, 16385, 100000}) {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < counts.size(); ++i) counts[i] = static_cast<std::int32_t>(i * 7 % 11);
    counts.back() = 12345;  // stands for nothing
    auto on_device = Array<std::int32_t>::copy_of(counts, place_);
    std::vector<std::int32_t> expected(counts.size());
    std::exclusive_scan(counts.begin(), counts.end(), expected.begin(), 0);
    EXPECT_EQ(offsets_from_counts(on_device.data(), size, place_, stream), expected.back()) << size;
    EXPECT_EQ(on_device.to_vector(), expected) << size;
  }
}

TEST_F(AlgorithmsOnDevice, SumsOfCountsMayExceedOffsets) {
  constexpr std::int32_t each = 1 << 20;
  for (const std::int64_t counts : {5000, 50000, 500000}) {
    auto on_device =
        Array<std::int32_t>::copy_of(std::vector<std::int32_t>(static_cast<std::size_t>(counts) + 1, each), place_);
    const auto sum = offsets_from_counts(on_device.data(), counts + 1, place_, setup_stream(place_));
    EXPECT_EQ(sum, counts * each);
  }
}

TEST_F(AlgorithmsOnDevice, CopiesOfAnySizeArriveWhole) {
  const auto stream = setup_stream(place_);
  for (const std::size_t size : {std::size_t{1}, std::size_t{2048}, std::size_t{2049}, std::size_t{100000}}) {
    std::vector<std::int64_t> source(size);
    std::iota(source.begin(), source.end(), 5);
    const auto on_device = Array<std::int64_t>::copy_of(source, place_);
    std::vector<std::int64_t> back(size, -1);
    copy_bytes(back.data(), on_device.data(), size * sizeof(std::int64_t), place_, stream);
    synchronize(place_, stream);
    EXPECT_EQ(back, source);
  }
}

TEST_F(AlgorithmsOnDevice, AreReadByManyThreadsAtOnce) {
  std::vector<std::int32_t> source(1000);
  std::iota(source.begin(), source.end(), 0);
  const auto on_device = Array<std::int32_t>::copy_of(source, place_);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = t; i < 1000; i += 8) {
        if (read(on_device.data() + i, setup_stream(place_)) != i) ++wrong;
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace autospmv::cuda
