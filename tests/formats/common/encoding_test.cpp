// Values in fewer bits that give way to others: where they lie stays the same, and what does not fit changes nothing.

#include "formats/common/encoding/encoding.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <tuple>
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

}  // namespace
}  // namespace autospmv::formats
