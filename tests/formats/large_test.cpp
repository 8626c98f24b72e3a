// Every format on matrices so large that 32-bit arithmetic, a grid of a block a row, or a thread that walks a row by
// itself would show: it refuses them with a reason, or its first candidate gives the right product. On a CUDA device
// with enough free memory; the host would take minutes over each.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "tests/formats/scenarios.hpp"

namespace autospmv::testing {
namespace {

constexpr std::int64_t gigabyte = 1'000'000'000;

/// Of the device in all, with what a format allocates.
constexpr std::int64_t memory_limit = 100 * gigabyte;

constexpr std::int64_t ten_million = 10'000'000;

/// A matrix on a device, vectors to multiply with, and what should come out.
template <class T>
struct LargeCase {
  LargeCase(const CsrView<T>& matrix, Device on)
      : device(std::move(on)),
        view(matrix),
        x(static_cast<std::size_t>(matrix.cols), device),
        y0(static_cast<std::size_t>(matrix.rows), device) {
    const auto stream = setup_stream(device);
    fill_random(x.data(), matrix.cols, 3, device, stream);
    fill_random(y0.data(), matrix.rows, 5, device, stream);
    overwriting = reference_product<T>(view, alpha, x.data(), 0, nullptr, device);
    adding = reference_product<T>(view, alpha, x.data(), beta, y0.data(), device);
    features = extract_features(view, device);
    // What formats may allocate beside the matrix and the vectors.
    device.memory_bytes = std::min(device.memory_bytes, memory_limit - view.bytes() - 5 * gigabyte);
  }

  static constexpr T alpha = 2;
  static constexpr T beta = -1;

  Device device;
  CsrView<T> view;
  Array<T> x;
  Array<T> y0;
  Reference overwriting;  ///< alpha A x
  Reference adding;       ///< alpha A x + beta y0
  Features features;
};

template <class T>
void expect_right(const LargeCase<T>& on, const Array<T>& y, const Reference& reference) {
  const auto comparison = compare(reference, y.data(), on.device);
  EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows, the first of them "
                                   << comparison.first_wrong << ", worst error " << comparison.worst_error;
}

template <class T>
void expect_right_products(const LargeCase<T>& on, const Operator<T>& op) {
  const auto stream = setup_stream(on.device);
  Array<T> y(on.y0.size(), on.device);
  const auto bytes = static_cast<std::size_t>(y.bytes());
  constexpr int not_a_number = 0xff;
  fill_bytes(y.data(), not_a_number, bytes, on.device, stream);
  op.apply(on.alpha, on.x.data(), 0, y.data(), stream);
  expect_right(on, y, on.overwriting);
  copy_bytes(y.data(), on.y0.data(), bytes, on.device, stream);
  op.apply(on.alpha, on.x.data(), on.beta, y.data(), stream);
  expect_right(on, y, on.adding);
}

template <class T>
std::optional<Params> first_admitted(const Format<T>& format, const LargeCase<T>& on) {
  for (const auto& params : format.params(on.features, on.device).combinations()) {
    const auto cost = format.predict(on.features, params, on.device);
    if (cost) return params;
    EXPECT_FALSE(cost.reason().empty());
  }
  return std::nullopt;
}

/// Whether the format multiplied.
template <class T>
bool expect_product_or_refusal(const Format<T>& format, const LargeCase<T>& on) {
  const auto params = first_admitted(format, on);
  if (!params) return false;
  SCOPED_TRACE(params->text());
  const auto built = format.build(on.view, *params, on.device);
  if (!built) {
    EXPECT_FALSE(built.reason().empty());
    return false;
  }
  expect_right_products(on, **built);
  synchronize(on.device, setup_stream(on.device));
  return true;
}

template <class T>
void expect_products_or_refusals(const LargeCase<T>& on) {
  int multiplied = 0;
  for (const auto* format : all_formats<T>()) {
    if (!format->info().runs_on(on.device.backend)) continue;
    SCOPED_TRACE(format->info().name);
    try {
      multiplied += expect_product_or_refusal(*format, on) ? 1 : 0;
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    // The next format shall find what this one had, whoever allocates it.
    trim_memory(on.device);
  }
  EXPECT_GT(multiplied, 0);
}

class Large : public ::testing::Test {
 protected:
  /// Skips the test where there is no device, or too little memory is free on it.
  void need(std::int64_t bytes) {
    const auto found = cuda_devices();
    if (found.empty()) GTEST_SKIP() << "no CUDA device";
    device = found.front();
    const auto available = free_memory(device);
    if (available >= bytes) return;
    GTEST_SKIP() << available / gigabyte << " GB are free on the device, " << bytes / gigabyte << " are wanted";
  }

  void multiply_with_every_format(const HostCsr<double>& source) const {
    const auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx,
                                                 source.values, Ownership::borrow);
    expect_products_or_refusals(LargeCase<double>(data_of(matrix).on(device), device));
  }

  Device device;
};

TEST_F(Large, OneLongRowAmongManyShortOnes) {
  need(20 * gigabyte);
  if (IsSkipped()) return;
  multiply_with_every_format(from_lengths<double>(
      ten_million, ten_million, [](std::int64_t row) { return row == ten_million / 3 ? 1'000'000 : row % 7; }));
}

TEST_F(Large, OnlyEmptyRows) {
  need(20 * gigabyte);
  if (IsSkipped()) return;
  HostCsr<double> source{ten_million, ten_million, {}, {}, {}};
  source.row_ptr.assign(ten_million + 1, 0);
  multiply_with_every_format(source);
}

/// Rows of 64 nonzeros, whose columns repeat after a million nonzeros, and whose values do not. Made on the device: on
/// the host it would be minutes of writing and copying.
struct Wide {
  static constexpr std::int64_t npr = 64;
  static constexpr std::int64_t period = 1'000'000;
  static constexpr std::int64_t nnz = (std::int64_t{1} << 31) + period;
  static constexpr std::int64_t rows = nnz / npr;
  static constexpr std::int64_t cols = 1 << 20;
  static_assert(period % npr == 0 && nnz % npr == 0);

  explicit Wide(Place place)
      : row_ptr(rows + 1, place),
        columns(static_cast<std::size_t>(nnz), place),
        values(static_cast<std::size_t>(nnz), place) {
    const auto stream = setup_stream(place);
    std::vector<std::int64_t> offsets(rows + 1);
    for (std::int64_t row = 0; row <= rows; ++row) offsets[static_cast<std::size_t>(row)] = row * npr;
    row_ptr.assign(offsets, stream);
    const auto first = Array<std::int32_t>::copy_of(first_columns(), place);
    for (std::int64_t done = 0; done < nnz; done += period) {
      const auto size = static_cast<std::size_t>(std::min(period, nnz - done));
      copy_bytes(columns.data() + done, first.data(), size * sizeof(std::int32_t), place, stream);
    }
    fill_random(values.data(), nnz, 17, place, stream);
    synchronize(place, stream);
  }

  [[nodiscard]] CsrView<float> view() const {
    return {.rows = rows,
            .cols = cols,
            .nnz = nnz,
            .row_ptr = row_ptr.data(),
            .col_idx = columns.data(),
            .values = values.data()};
  }

  Array<std::int64_t> row_ptr;
  Array<std::int32_t> columns;
  Array<float> values;

 private:
  /// Increasing within a row, some close together and some far apart.
  static std::vector<std::int32_t> first_columns() {
    std::vector<std::int32_t> all(period);
    for (std::int64_t k = 0; k < period; ++k) {
      const auto row = static_cast<std::uint64_t>(k / npr);
      const auto start = static_cast<std::int64_t>(random_bits(29, row) % (cols / 2));
      const std::int64_t step = k / npr % 8 == 0 ? cols / 2 / npr : 1;
      all[static_cast<std::size_t>(k)] = static_cast<std::int32_t>(start + k % npr * step);
    }
    return all;
  }
};

TEST_F(Large, MoreNonzerosThan32BitsCount) {
  need(60 * gigabyte);
  if (IsSkipped()) return;
  const Wide matrix(device);
  expect_products_or_refusals(LargeCase<float>(matrix.view(), device));
}

}  // namespace
}  // namespace autospmv::testing
