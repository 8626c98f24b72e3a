// Memory that runs out anywhere in the conversion to a format, on any thread, is said by what is thrown.

#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "tests/shortage/allocations.hpp"
#include "tests/tuner/support.hpp"

namespace autospmv {
namespace {

using testing::FailingAllocations;
using testing::make_matrix;
using testing::ramp;

// Each is large enough for several threads to share it, and suits formats that refuse others.
class Conversion : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Matrices, Conversion, ::testing::Values("gen:circuit:6000", "gen:grid2d:80", "gen:fem:7:3"),
                         [](const auto& spec) { return "m" + std::to_string(spec.index); });

// Runs body(), which returns whether all is well, once for each allocation that it asks for: that one fails alone, or
// all from there on. Where nothing fails, it must succeed.
template <class Body>
void fail_at_each_allocation(const Body& body) {
  for (const auto count : {std::int64_t{1}, FailingAllocations::all}) {
    std::int64_t asked = 0;
    for (std::int64_t first = 1; first == 1 || first <= asked + 1; ++first) {
      bool right = true;
      bool done = false;
      {
        const FailingAllocations failing(first, count);
        try {
          right = body();
          done = true;
        } catch (const std::bad_alloc&) {
        } catch (const OutOfMemory&) {
        }
        asked = FailingAllocations::asked();
      }
      EXPECT_TRUE(right) << "allocation " << first;
      EXPECT_TRUE(done || first <= asked) << "nothing failed";
    }
  }
}

TEST_P(Conversion, GivesTheRightProductOrSaysThatMemoryRanOut) {
  const auto matrix = make_matrix<double>(GetParam());
  const auto view = data_of(matrix).on({});
  const auto device = host_device();
  const auto features = extract_features(view, device);
  const auto x = ramp(matrix.cols());
  const auto reference = reference_product<double>(view, 1.0, x.data(), 0.0, nullptr, Place{});
  std::vector<double> y(static_cast<std::size_t>(matrix.rows()));
  int converted = 0;
  for (const auto* format : all_formats<double>()) {
    SCOPED_TRACE(std::string(format->info().name));
    const auto params = format->params(features, device).combinations();
    if (params.empty() || !format->predict(features, params.front(), device)) continue;
    fail_at_each_allocation([&] {
      auto built = format->build(view, params.front(), device);
      if (!built) return true;
      ++converted;
      (*built)->apply(1.0, x.data(), 0.0, y.data(), {});
      return compare(reference, y.data(), Place{}).passed();
    });
  }
  EXPECT_GT(converted, 0);
}

TEST_P(Conversion, FeaturesAreRightOrMemoryRanOut) {
  const auto matrix = make_matrix<double>(GetParam());
  const auto view = data_of(matrix).on({});
  const auto device = host_device();
  const auto expected = extract_features(view, device);
  fail_at_each_allocation([&] {
    const auto features = extract_features(view, device);
    for (const auto& feature : feature_table()) {
      if (feature.read(features) != feature.read(expected)) return false;
    }
    return true;
  });
}

}  // namespace
}  // namespace autospmv
