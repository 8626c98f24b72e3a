// Slices whose slots hosts write in fewer bits: what just fits is kept, what does not is refused.
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/verify/random.hpp"
#include "formats/format.hpp"
#include "io/host_csr.hpp"
#include "tests/formats/right_product.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

constexpr std::int64_t rows = 1000;
constexpr std::int64_t far_row = 700;

Params params_of(std::int64_t slice_rows, std::int64_t sigma, std::int64_t column_bits, std::int64_t value_bits) {
  return {{"C", slice_rows}, {"T", 1}, {"sigma", sigma}, {"column_bits", column_bits}, {"value_bits", value_bits}};
}

// Columns around the row's own place, the smallest one last, in rows of 0 to 12 entries of which float keeps all; those
// of one row span `span` columns more than one.
HostCsr<double> source_of(std::int64_t span) {
  HostCsr<double> csr;
  csr.rows = rows;
  csr.cols = 200000;
  csr.row_ptr = {0};
  const auto put = [&](std::int64_t column) {
    csr.col_idx.push_back(static_cast<std::int32_t>(column));
    csr.values.push_back(static_cast<float>(random_value(5, csr.values.size())));
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    if (row == far_row) {
      put(50000 + span);
      put(50000 + span / 2);
      put(50000);
    } else if (row / 32 != far_row / 32) {
      for (std::int64_t k = row % 13; k > 0; --k) put(20 * (row / 32) + 3 * k);
    }
    csr.row_ptr.push_back(std::ssize(csr.values));
  }
  return csr;
}

void expect_refused(const Params& params, const HostCsr<double>& source, const std::string& reason) {
  SCOPED_TRACE(params.text());
  const auto matrix = matrix_of(source);
  const auto built = find_format<double>("sell_p")->build(data_of(matrix).on(host_device()), params, host_device());
  ASSERT_FALSE(built.admitted());
  EXPECT_NE(built.reason().find(reason), std::string::npos) << built.reason();
}

TEST(SlicesOnHosts, KeepColumnsAsFarApartAsTheirBitsHold) {
  for (const std::int64_t bits : {8, 16}) {
    const std::int64_t most = (std::int64_t{1} << bits) - 2;
    for (const std::int64_t slice_rows : {1, 8, 16, 32}) {
      const std::int64_t sigma = slice_rows == 1 ? 256 : 1;
      const auto params = params_of(slice_rows, sigma, bits, 64);
      expect_right_product("sell_p", params, source_of(most), host_device());
      expect_refused(params, source_of(most + 1), "a slice spans more than " + std::to_string(bits) + " bits");
    }
  }
}

TEST(SlicesOnHosts, KeepInFloatWhatFloatKeeps) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  for (const std::int64_t slice_rows : {1, 8, 16, 32}) {
    for (const std::int64_t column_bits : {16, 32}) {
      const auto params = params_of(slice_rows, 256, column_bits, 32);
      auto source = source_of(100);
      expect_right_product("sell_p", params, source, host_device());
      source.values[300] = nan;
      expect_right_product("sell_p", params, source, host_device());
      source.values[777] = 0.1;
      expect_refused(params, source, "more than 32 bits");
    }
  }
}

}  // namespace
}  // namespace autospmv::testing
