// The device gives the numbers that the host gives, bit for bit.
#include <gtest/gtest.h>

#include "core/machine/array.hpp"
#include "core/machine/device.hpp"
#include "core/verify/magnitude.hpp"
#include "features/features.hpp"
#include "features/longest_row.hpp"
#include "scenarios.hpp"

namespace autospmv {
namespace {

template <class T>
class CudaExtractionTest : public testing::Test {
 protected:
  void SetUp() override {
    if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
  }
};
using Scalars = testing::Types<float, double>;
TYPED_TEST_SUITE(CudaExtractionTest, Scalars);

template <class T, class Offset>
Features on_device(const HostCsr<T>& matrix, const std::vector<Offset>& offsets, Place place) {
  const auto row_ptr = Array<Offset>::copy_of(offsets, place);
  const auto col_idx = Array<std::int32_t>::copy_of(matrix.col_idx, place);
  const auto values = Array<T>::copy_of(matrix.values, place);
  auto view = matrix.view();
  view.row_ptr = row_ptr.data();
  view.col_idx = col_idx.data();
  view.values = values.data();
  return extract_features(view, place);
}

template <class T, class Offset>
void expect_same(const HostCsr<T>& matrix, const std::vector<Offset>& offsets) {
  const auto host = extract_features(matrix.view(), Place{});
  const auto device = on_device(matrix, offsets, cuda_devices().front());
  for (const auto& feature : feature_table()) {
    EXPECT_EQ(feature.read(device), feature.read(host)) << feature.name;
  }
  if (matrix.nnz() == 0) return;
  EXPECT_EQ(device.largest_magnitude, largest_magnitude(matrix.values.data(), matrix.nnz(), Place{}));
}

TYPED_TEST(CudaExtractionTest, RowsAloneAgreeWithHost) {
  for (const auto& [name, matrix] : test::scenarios<TypeParam>()) {
    SCOPED_TRACE(name);
    const auto host = extract_row_features(matrix.view(), Place{});
    const auto place = cuda_devices().front();
    const auto offsets = Array<std::int64_t>::copy_of(matrix.row_ptr, place);
    auto view = matrix.view();
    view.row_ptr = static_cast<const std::int64_t*>(offsets.data());
    const auto device = extract_row_features(view, place);
    for (const auto& feature : feature_table()) {
      EXPECT_EQ(feature.read(device), feature.read(host)) << feature.name;
    }
  }
}

TYPED_TEST(CudaExtractionTest, ValuesAloneAgreeWithHost) {
  for (const auto& [name, matrix] : test::scenarios<TypeParam>()) {
    SCOPED_TRACE(name);
    const auto host = extract_value_features(matrix.view(), Place{});
    const auto place = cuda_devices().front();
    const auto values = Array<TypeParam>::copy_of(matrix.values, place);
    auto view = matrix.view();
    view.values = values.data();
    const auto device = extract_value_features(view, place);
    EXPECT_EQ(device.distinct_values, host.distinct_values);
    EXPECT_EQ(device.values_all_equal, host.values_all_equal);
    EXPECT_EQ(device.values_exact_in_float, host.values_exact_in_float);
  }
}

TYPED_TEST(CudaExtractionTest, LongestRowAgreesWithHost) {
  const auto place = cuda_devices().front();
  for (const auto& [name, matrix] : test::scenarios<TypeParam>()) {
    SCOPED_TRACE(name);
    const auto wide = Array<std::int64_t>::copy_of(matrix.row_ptr, place);
    const auto narrow = Array<std::int32_t>::copy_of(test::narrow(matrix.row_ptr), place);
    const auto expected = longest_row(matrix.row_ptr.data(), matrix.rows, Place{});
    EXPECT_EQ(longest_row(wide.data(), matrix.rows, place), expected);
    EXPECT_EQ(longest_row(narrow.data(), matrix.rows, place), expected);
  }
}

TYPED_TEST(CudaExtractionTest, WideOffsetsAgreeWithHost) {
  for (const auto& [name, matrix] : test::scenarios<TypeParam>()) {
    SCOPED_TRACE(name);
    expect_same(matrix, matrix.row_ptr);
  }
}

TYPED_TEST(CudaExtractionTest, NarrowOffsetsAgreeWithHost) {
  for (const auto& [name, matrix] : test::scenarios<TypeParam>()) {
    SCOPED_TRACE(name);
    expect_same(matrix, test::narrow(matrix.row_ptr));
  }
}

}  // namespace
}  // namespace autospmv
