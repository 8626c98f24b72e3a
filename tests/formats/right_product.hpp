// One product of a format with parameters that a test names.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "formats/format.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {

inline void expect_right_product(const std::string& format, const Params& params, const HostCsr<double>& source,
                                 const Device& device) {
  SCOPED_TRACE(format + " " + params.text() + " on " + std::string(name_of(device.backend)));
  const auto matrix = matrix_of(source);
  const auto view = data_of(matrix).on(device);
  const auto x = Array<double>::copy_of(make_x<double>(source.cols, Entries::finite, 3), device);
  auto y = Array<double>::copy_of(make_x<double>(source.rows, Entries::finite, 5), device);
  const auto reference = reference_product(view, 2.0, x.data(), -1.0, y.data(), device);
  const auto built = find_format<double>(format)->build(view, params, device);
  ASSERT_TRUE(built.admitted()) << built.reason();
  (*built)->apply(2.0, x.data(), -1.0, y.data(), setup_stream(device));
  synchronize(device, setup_stream(device));
  const auto comparison = compare(reference, static_cast<const double*>(y.data()), device);
  EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows, the first " << comparison.first_wrong;
}

}  // namespace autospmv::testing
