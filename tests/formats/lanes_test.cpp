// What the conformance suite does not reach: rows far longer than all threads of a block take at once, predictions that
// are near what is built, and refusals of what another format does as well.

#include <gtest/gtest.h>

#include <cmath>
#include <utility>

#include "core/matrix/matrix_data.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "tests/formats/right_product.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

// Classes of every width, more than one row too long for a warp, and one too long for the threads of a block.
TEST(Lanes, RowsOfEveryLengthAreSummedWhole) {
  const auto source = from_lengths<double>(3000, 200000, [](std::int64_t row) -> std::int64_t {
    if (row == 1234) return 150001;
    return row % 100 == 7 ? 3001 : row % 11 == 0 ? row % 611 : row % 5;
  });
  for (const auto& device : devices()) {
    Params adaptive;
    if (device.backend == Backend::cuda) adaptive = {{"column_bits", 32}, {"value_bits", 64}};
    expect_right_product("ell_adaptive", adaptive, source, device);
    for (const std::int64_t threshold : {4, 16, 64, 512}) {
      auto split = adaptive;
      split.set("threshold", threshold);
      expect_right_product("ell_warp_split", split, source, device);
    }
  }
}

// Rows that fill lanes, groups, blocks of threads and several of these to the last slot, with one entry less and with
// one more.
TEST(Lanes, RowsAroundWhatIsPackedTogetherAreSummedWhole) {
  std::vector<std::int64_t> lengths;
  for (const std::int64_t full : {4, 8, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768}) {
    for (const std::int64_t more : {-1, 0, 1}) lengths.push_back(full + more);
  }
  const auto source = from_lengths<double>(1000, 40000, [&](std::int64_t row) -> std::int64_t {
    return row % 10 == 3 ? lengths[static_cast<std::size_t>(row / 10) % lengths.size()] : row % 37;
  });
  for (const auto& device : devices()) {
    const auto features = extract_features(data_of(matrix_of(source)).on(device), device);
    for (const auto& params : find_format<double>("ell_packed")->params(features, device).combinations()) {
      expect_right_product("ell_packed", params, source, device);
    }
  }
}

// Of rows as long, which a block of threads takes.
TEST(Lanes, EveryEncodingOfLongRowsIsSummedWhole) {
  for (const std::int64_t cols : {255, 65535, 200000}) {
    for (const int period : {1, 200}) {
      const auto source = with_few_values(
          from_lengths<double>(500, cols, [](std::int64_t row) { return row % 250 == 7 ? 40001 : row % 61; }), period);
      const auto matrix = matrix_of(source);
      for (const auto& device : devices()) {
        const auto features = extract_features(data_of(matrix).on(device), device);
        for (const auto* name : {"ell_warp_split", "ell_adaptive", "ell_packed"}) {
          for (const auto& params : find_format<double>(name)->params(features, device).combinations()) {
            expect_right_product(name, params, source, device);
          }
        }
      }
    }
  }
}

// Features say so first, but conversion finds it by itself: there is room for 255 values beside +0.0.
TEST(Lanes, MoreValuesThanADictionaryHasRoomForAreRefused) {
  for (const auto& device : devices()) {
    if (device.backend == Backend::host) continue;  // values have all their bits there
    for (const std::size_t distinct : {1, 2, 255, 256, 257, 2000}) {
      auto source = from_lengths<double>(500, 20000, [](std::int64_t row) { return row % 61; });
      for (std::size_t k = 0; k < source.values.size(); ++k) source.values[k] = random_value(7, k % distinct);
      const Params packed{{"entries", 4}, {"block", 256}, {"column_bits", 32}, {"value_bits", 8}};
      const Params sliced{{"C", 32}, {"T", 1}, {"sigma", 1}, {"column_bits", 32}, {"value_bits", 8}};
      const Params cached{{"T", 1}, {"width", 0}, {"value_bits", 8}};
      for (const auto& [name, params] :
           {std::pair{"ell_packed", packed}, {"sell_p", sliced}, {"sell_cached", cached}}) {
        if (distinct <= 255) {
          expect_right_product(name, params, source, device);
          continue;
        }
        const auto matrix = matrix_of(source);
        const auto refused = find_format<double>(name)->build(data_of(matrix).on(device), params, device);
        ASSERT_FALSE(refused.admitted()) << name << " of " << distinct;
        EXPECT_NE(refused.reason().find("more than 8 bits"), std::string::npos) << refused.reason();
      }
    }
  }
}

TEST(Lanes, RowsOfManyFragmentsAreSummedWhole) {
  const auto source = from_lengths<double>(2000, 200000, [](std::int64_t row) -> std::int64_t {
    return row == 77 ? 150001 : row == 78 || row == 1999 ? 40000 : row % 3;
  });
  const auto matrix = matrix_of(source);
  for (const auto& device : devices()) {
    const auto features = extract_features(data_of(matrix).on(device), device);
    for (const auto* name : {"csr_bound", "csr_gathered", "csr_padded"}) {
      for (const auto& params : find_format<double>(name)->params(features, device).combinations()) {
        expect_right_product(name, params, source, device);
      }
    }
  }
}

void expect_predicted_storage(const std::string& generator, const std::string& format_name) {
  auto device = host_device();
  device.multiprocessors = 4;  // some of what is stored depends on the threads
  const auto matrix = matrix_of(generate<double>(generator));
  const auto view = data_of(matrix).on(device);
  const auto features = extract_features(view, device);
  const auto* format = find_format<double>(format_name);
  for (const auto& params : format->params(features, device).combinations()) {
    SCOPED_TRACE(::testing::Message() << generator << " " << format_name << " " << params.text());
    const auto cost = format->predict(features, params, device);
    ASSERT_TRUE(cost.admitted()) << cost.reason();
    const auto built = format->build(view, params, device);
    ASSERT_TRUE(built.admitted()) << built.reason();
    const auto bytes = static_cast<double>((*built)->bytes());
    EXPECT_NEAR(cost->storage_bytes / bytes, 1, 0.2);
  }
}

TEST(Lanes, PredictedStorageIsNearWhatIsBuilt) {
  for (const auto* generator : {"gen:fem:12:3", "gen:circuit:60000", "gen:rmat:14", "gen:dense:300"}) {
    for (const auto* format : {"ell_warp_split", "ell_adaptive", "ell_packed", "tjds", "csr_bound"}) {
      expect_predicted_storage(generator, format);
    }
  }
  // Short rows would be padded too much.
  for (const auto* generator : {"gen:fem:12:3", "gen:pde:20", "gen:rmat:14", "gen:dense:300"}) {
    expect_predicted_storage(generator, "csr_padded");
  }
}

TEST(Lanes, FormatsThatWouldSplitNothingAreRefused) {
  const auto device = host_device();
  const auto matrix = matrix_of(generate<double>("gen:pde:20"));
  const auto features = extract_features(data_of(matrix).on(device), device);
  EXPECT_FALSE(find_format<double>("ell_warp_split")->predict(features, {{"threshold", 8}}, device).admitted());
  EXPECT_TRUE(find_format<double>("ell_warp_split")->predict(features, {{"threshold", 4}}, device).admitted());
  EXPECT_FALSE(find_format<double>("ell_adaptive")->predict(features, {}, device).admitted());
}

TEST(Lanes, TransposedDiagonalsOfMoreNonzerosThanTheirNumbersCountAreRefused) {
  Features features;
  features.rows = features.cols = 100'000'000;
  features.nnz = std::int64_t{1} << 32;
  auto device = host_device();
  device.memory_bytes = std::int64_t{1} << 50;
  const auto* tjds = find_format<double>("tjds");
  const Params params{{"block", 4096}};
  EXPECT_FALSE(tjds->predict(features, params, device).admitted());
  --features.nnz;
  EXPECT_TRUE(tjds->predict(features, params, device).admitted());
}

}  // namespace
}  // namespace autospmv::testing
