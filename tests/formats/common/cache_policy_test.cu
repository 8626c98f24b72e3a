#include "formats/common/kernels/cache_policy.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/machine/array.hpp"
#include "core/machine/device.hpp"
#include "formats/common/kernels/kernel.cuh"

namespace autospmv::formats {
namespace {

constexpr std::int64_t megabyte = 1'000'000;
constexpr std::int64_t cache = 60 * megabyte;

int lines_kept(CachePolicy policy) {
  for (int lines = 0; lines <= CachePolicy::all; ++lines) {
    if (policy.bits == CachePolicy::keeping(lines).bits) return lines;
  }
  return -1;
}

TEST(CachePolicy, KeepsAMatrixThatFits) {
  EXPECT_EQ(lines_kept(share_cache(0, 0, cache)), 16);
  EXPECT_EQ(lines_kept(share_cache(20 * megabyte, 4 * megabyte, cache)), 16);
}

TEST(CachePolicy, KeepsAsMuchOfALargeOneAsFitsBesideTheVectors) {
  EXPECT_EQ(lines_kept(share_cache(54 * megabyte, 0, cache)), 8);
  EXPECT_EQ(lines_kept(share_cache(54 * megabyte, 14 * megabyte, cache)), 3);
  EXPECT_EQ(lines_kept(share_cache(300 * megabyte, 0, cache)), 1);
}

TEST(CachePolicy, KeepsNothingWhereVectorsTakeAllRoom) {
  EXPECT_EQ(lines_kept(share_cache(54 * megabyte, 28 * megabyte, cache)), 0);
  EXPECT_EQ(lines_kept(share_cache(std::int64_t{1} << 40, 0, cache)), 0);
}

__global__ void create_policies(std::uint64_t* made) {
#if __CUDA_ARCH__ >= 800
  for (int first = 1; first <= 16; ++first) {
    const float fraction = static_cast<float>(first) / 16;
    asm volatile("createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %0, %1;"
                 : "=l"(made[first - 1])
                 : "f"(fraction));
  }
#endif
}

TEST(CachePolicy, IsWhatTheDeviceMakesOfItsFractions) {
  const auto device = default_device();
  if (device.backend != Backend::cuda) GTEST_SKIP() << "no CUDA device";
  const auto stream = setup_stream(device);
  Array<std::uint64_t> made(16, device);
  fill_bytes(made.data(), 0, static_cast<std::size_t>(made.bytes()), device, stream);
  create_policies<<<1, 1, 0, stream.handle>>>(made.data());
  cuda::check_launch();
  synchronize(device, stream);
  const auto bits = made.to_vector();
  if (bits[0] == 0) GTEST_SKIP() << "no cache policies before compute capability 8.0";
  for (int first = 1; first <= 16; ++first) {
    EXPECT_EQ(CachePolicy::keeping(16 - first).bits, bits[static_cast<std::size_t>(first) - 1]) << first;
  }
}

template <class V>
__global__ void load_all(const V* from, int count, CachePolicy policy, V* to) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) to[i] = load_stream(from + i, policy);
}

template <class V>
void expect_loads(const Device& device, const std::vector<V>& values) {
  const auto stream = setup_stream(device);
  const auto from = Array<V>::copy_of(values, device);
  const int count = static_cast<int>(values.size());
  for (int lines = 0; lines <= CachePolicy::all; ++lines) {
    Array<V> to(values.size(), device);
    load_all<<<cuda::grid_for(count), cuda::default_block, 0, stream.handle>>>(from.data(), count,
                                                                               CachePolicy::keeping(lines), to.data());
    cuda::check_launch();
    synchronize(device, stream);
    const auto loaded = to.to_vector();
    EXPECT_EQ(std::memcmp(loaded.data(), values.data(), values.size() * sizeof(V)), 0)
        << sizeof(V) << " bytes, " << lines << " of 16 lines kept";
  }
}

TEST(CachePolicy, ChangesNothingOfWhatIsLoaded) {
  const auto device = default_device();
  if (device.backend != Backend::cuda) GTEST_SKIP() << "no CUDA device";
  constexpr int count = 1000;
  std::vector<std::uint8_t> octets;
  std::vector<std::uint16_t> words;
  std::vector<std::int32_t> integers;
  std::vector<double> numbers;
  std::vector<double2> pairs;
  for (int i = 0; i < count; ++i) {
    octets.push_back(static_cast<std::uint8_t>(i * 7));
    words.push_back(static_cast<std::uint16_t>(i * 4099));
    integers.push_back(i * -2000003);
    numbers.push_back(1.0 / (i - 500.5));
    pairs.push_back(make_double2(1.0 / (i + 0.5), -1.0 * i));
  }
  expect_loads(device, octets);
  expect_loads(device, words);
  expect_loads(device, integers);
  expect_loads(device, numbers);
  expect_loads(device, pairs);
}

}  // namespace
}  // namespace autospmv::formats
