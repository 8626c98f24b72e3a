// Values in fewer bits that give way to others: where they lie stays the same, and what does not fit changes nothing.
// Columns by chunk, in as few octets as each takes.

#include "formats/common/encoding/encoding.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/verify/random.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::formats {
namespace {

constexpr std::size_t slots = 5000;

// `distinct` values over and over, each of which survives float, or not.
template <class T>
std::vector<T> values_of(std::size_t distinct, bool in_float, std::uint64_t seed) {
  std::vector<T> values(slots);
  for (std::size_t k = 0; k < slots; ++k) {
    const double value = random_value(seed, k % distinct);
    values[k] = static_cast<T>(in_float ? static_cast<float>(value) : value);
  }
  return values;
}

template <class T>
auto addresses_of(const EncodedValues<T>& encoded) {
  return std::tuple(encoded.full.data(), encoded.narrow.data(), encoded.indices.data(), encoded.table.data());
}

template <class T>
auto contents_of(const EncodedValues<T>& encoded) {
  return std::tuple(encoded.full.to_vector(), encoded.narrow.to_vector(), encoded.indices.to_vector(),
                    encoded.table.to_vector());
}

template <class T>
std::vector<T> decoded(const EncodedValues<T>& encoded) {
  if (encoded.bits == 0) return std::vector<T>(slots, encoded.table.to_vector().front());
  if (encoded.bits == 8) {
    const auto table = encoded.table.to_vector();
    std::vector<T> values;
    for (const auto index : encoded.indices.to_vector()) values.push_back(table[index]);
    return values;
  }
  if (encoded.in_full()) return encoded.full.to_vector();
  const auto narrow = encoded.narrow.to_vector();
  return {narrow.begin(), narrow.end()};
}

template <class T>
void expect_replaced(int bits, const std::vector<T>& first, const std::vector<T>& second, const std::vector<T>& never) {
  for (const auto& device : testing::devices()) {
    SCOPED_TRACE(std::to_string(bits) + " bits on " + std::string(name_of(device.backend)));
    const auto stream = setup_stream(device);
    EncodedValues<T> encoded;
    ASSERT_TRUE(encode(encoded, Array<T>::copy_of(first, device), bits, nullptr, stream));
    EXPECT_EQ(encoded.bits, bits);
    EXPECT_EQ(decoded(encoded), first);
    const auto addresses = addresses_of(encoded);
    ASSERT_TRUE(replace_values(encoded, Array<T>::copy_of(second, device), nullptr, stream));
    EXPECT_EQ(addresses_of(encoded), addresses);
    EXPECT_EQ(decoded(encoded), second);
    if (encoded.in_full()) continue;
    const auto contents = contents_of(encoded);
    EXPECT_FALSE(replace_values(encoded, Array<T>::copy_of(never, device), nullptr, stream));
    EXPECT_EQ(addresses_of(encoded), addresses);
    EXPECT_EQ(contents_of(encoded), contents);
    EncodedValues<T> refused;
    EXPECT_FALSE(encode(refused, Array<T>::copy_of(never, device), bits, nullptr, stream));
    EXPECT_EQ(refused.bytes(), 0);
  }
}

template <class T>
void expect_all_replaced() {
  expect_replaced(0, values_of<T>(1, false, 1), values_of<T>(1, false, 2), values_of<T>(2, false, 3));
  // Few of a dictionary, then as many as there may be, then one more.
  expect_replaced(8, values_of<T>(3, false, 1), values_of<T>(255, false, 2), values_of<T>(256, false, 3));
  expect_replaced(8, values_of<T>(255, false, 1), values_of<T>(3, false, 2), values_of<T>(256, false, 3));
  const auto any = values_of<T>(slots, false, 3);
  if constexpr (full_value_bits < T >> 32) {
    expect_replaced(32, values_of<T>(slots, true, 1), values_of<T>(slots, true, 2), any);
  }
  expect_replaced(full_value_bits<T>, values_of<T>(slots, false, 1), any, any);
}

TEST(Encoding, OtherValuesLieWhereThoseBeforeThemDidInFloat) { expect_all_replaced<float>(); }
TEST(Encoding, OtherValuesLieWhereThoseBeforeThemDidInDouble) { expect_all_replaced<double>(); }

TEST(Encoding, PaddingNeedsNoBits) {
  const std::vector<double> values{1.5, 0, 1.5, 0};
  const std::vector<std::int32_t> columns{0, -1, 3, -1};
  EncodedValues<double> encoded;
  ASSERT_TRUE(encode(encoded, Array<double>::copy_of(values, Place{}), 0, columns.data(), {}));
  const std::vector<double> other{-2.5, 7, -2.5, 9};
  ASSERT_TRUE(replace_values(encoded, Array<double>::copy_of(other, Place{}), columns.data(), {}));
  EXPECT_EQ(encoded.table.to_vector(), std::vector<double>{-2.5});
}

// ---- Columns by chunk.

using Columns = std::vector<std::int32_t>;

// A chunk that counts up but for its last column, which lies so far from the first.
Columns chunk_spanning(std::int32_t first, std::int32_t distance) {
  Columns chunk(chunk_slots);
  std::iota(chunk.begin(), chunk.end(), first);
  chunk.back() = first + distance;
  return chunk;
}

// What the heads say of the octets, slot by slot.
Columns decoded(const EncodedColumns& encoded, std::size_t count) {
  const auto octets = encoded.octets.to_vector();
  const auto heads = encoded.heads.to_vector();
  Columns columns;
  for (std::size_t slot = 0; slot < count; ++slot) {
    const auto head = heads[slot / chunk_slots];
    const auto each = ChunkHead::octets_of(head.kind());
    const auto at = head.first_octet() + slot % chunk_slots * each;
    std::uint32_t distance = 0;
    std::memcpy(&distance, octets.data() + at, each);
    const bool pads = distance == ChunkHead::padding_of(head.kind());
    columns.push_back(pads ? -1 : head.first + static_cast<std::int32_t>(distance));
  }
  return columns;
}

TEST(Encoding, EachChunkOfColumnsTakesWhatItNeeds) {
  constexpr auto most = std::numeric_limits<std::int32_t>::max() - 1;
  using Head = ChunkHead;
  const std::vector<std::pair<Columns, Head::Kind>> chunks{
      {chunk_spanning(1, 254), Head::octets},        {chunk_spanning(1, 255), Head::words},
      {chunk_spanning(9, 65534), Head::words},       {chunk_spanning(9, 65535), Head::full},
      {chunk_spanning(0, most), Head::full},         {Columns(chunk_slots, 5), Head::octets},
      {Columns(chunk_slots, -1), Head::octets},      {chunk_spanning(100, -101), Head::octets},
      {chunk_spanning(100000, -50), Head::octets},   {chunk_spanning(7, 31), Head::octets},
      {chunk_spanning(most - 31, 31), Head::octets}, {{3, 70003, -1}, Head::full},
  };
  Columns columns;
  std::int64_t octets = chunk_slots;
  for (const auto& [chunk, kind] : chunks) {
    columns.insert(columns.end(), chunk.begin(), chunk.end());
    const bool counts_up = chunk.back() - chunk.front() == chunk_slots - 1;
    if (!counts_up) octets += chunk_slots * Head::octets_of(kind);
  }
  for (const auto& device : testing::devices()) {
    if (device.backend == Backend::host) continue;
    EncodedColumns encoded;
    const auto stream = setup_stream(device);
    ASSERT_TRUE(encode(encoded, Array<std::int32_t>::copy_of(columns, device), columns_by_chunk, {}, stream));
    EXPECT_EQ(encoded.octets.bytes(), octets);
    const auto heads = encoded.heads.to_vector();
    ASSERT_EQ(heads.size(), chunks.size());
    for (std::size_t at = 0; at < heads.size(); ++at) EXPECT_EQ(heads[at].kind(), chunks[at].second) << at;
    EXPECT_EQ(decoded(encoded, columns.size()), columns);
  }
}

TEST(Encoding, HostsDoNotHaveColumnsByChunkOfAWarp) {
  EncodedColumns encoded;
  const Columns columns(chunk_slots, 5);
  EXPECT_FALSE(encode(encoded, Array<std::int32_t>::copy_of(columns, Place{}), columns_by_chunk, {}, {}));
  EXPECT_EQ(encoded.full.to_vector(), columns);
}

}  // namespace
}  // namespace autospmv::formats
