// Rows of all lengths, long ones that many blocks of threads share among them.

#include "core/reference.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "core/host_csr.hpp"
#include "core/matrix.hpp"
#include "core/random.hpp"

namespace autospmv {
namespace {

template <class T>
HostCsr<T> with_rows_of(const std::vector<std::int64_t>& lengths, std::int64_t cols) {
  HostCsr<T> matrix;
  matrix.rows = static_cast<std::int64_t>(lengths.size());
  matrix.cols = cols;
  matrix.row_ptr.assign(1, 0);
  for (const auto length : lengths) {
    for (std::int64_t k = 0; k < length; ++k) {
      matrix.col_idx.push_back(static_cast<std::int32_t>(k * 31 % cols));
      matrix.values.push_back(static_cast<T>(random_value(3, matrix.values.size())));
    }
    matrix.row_ptr.push_back(static_cast<std::int64_t>(matrix.col_idx.size()));
  }
  return matrix;
}

std::vector<Device> devices() {
  std::vector<Device> all{host_device()};
  if (const auto cuda = cuda_devices(); !cuda.empty()) all.push_back(cuda.front());
  return all;
}

// Against sums in the host's widest precision.
template <class T>
void expect_reference(const HostCsr<T>& source) {
  constexpr T alpha = 2;
  constexpr T beta = -1;
  std::vector<T> x;
  for (std::int64_t i = 0; i < source.cols; ++i)
    x.push_back(static_cast<T>(random_value(5, static_cast<std::size_t>(i))));
  const std::vector<T> y0(static_cast<std::size_t>(source.rows), T{3});
  const auto matrix = Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
  for (const auto& device : devices()) {
    const auto on_device = Array<T>::copy_of(x, device);
    const auto added = Array<T>::copy_of(y0, device);
    const auto reference = reference_product(matrix.on(device), alpha, on_device.data(), beta, added.data(), device);
    const auto product = reference.product.to_vector();
    const auto scale = reference.scale.to_vector();
    for (std::size_t row = 0; row < y0.size(); ++row) {
      long double sum = static_cast<long double>(beta) * y0[row];
      long double magnitude = 3;
      for (auto k = static_cast<std::size_t>(source.row_ptr[row]);
           k < static_cast<std::size_t>(source.row_ptr[row + 1]); ++k) {
        const auto term =
            static_cast<long double>(alpha) * source.values[k] * x[static_cast<std::size_t>(source.col_idx[k])];
        sum += term;
        magnitude += std::fabs(term);
      }
      const auto close = static_cast<double>(magnitude) * 1e-13;
      EXPECT_NEAR(product[row], static_cast<double>(sum), close * 1e-2) << name_of(device.backend) << ", row " << row;
      EXPECT_NEAR(scale[row], static_cast<double>(magnitude), close) << name_of(device.backend) << ", row " << row;
    }
  }
}

TEST(Reference, SumsFewLongRowsAmongManyShortOnes) {
  std::vector<std::int64_t> lengths(5000, 3);
  lengths[0] = 200'000;
  lengths[7] = 0;
  lengths[123] = 9'000;
  lengths[4999] = 8'193;
  expect_reference(with_rows_of<double>(lengths, 250'000));
  expect_reference(with_rows_of<float>(lengths, 250'000));
}

TEST(Reference, SumsNothingButLongRows) {
  expect_reference(with_rows_of<double>({100'000, 65'537, 300'000}, 400'000));
  expect_reference(with_rows_of<float>({100'000, 65'537, 300'000}, 400'000));
}

TEST(Reference, SumsRowsThatAreNotLongEnoughToBeShared) {
  expect_reference(with_rows_of<double>({0, 1, 31, 32, 33, 255, 256, 257, 5'000, 65'536}, 70'000));
}

}  // namespace
}  // namespace autospmv
