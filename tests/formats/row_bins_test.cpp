// Rows in bins: who is in which, how many threads take which entries, and the rule of SURAA's segments. What the
// formats make of them is multiplied by the conformance suite; here are the rows that are longer than it has, on every
// device.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/binned/row_bins.hpp"
#include "formats/binned/suraa/segments.hpp"
#include "formats/format.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

using formats::BinTable;
using formats::RowBin;
using formats::RowBins;
using formats::ThreadRule;

HostCsr<double> skewed(std::int64_t rows) {
  return from_lengths<double>(rows, 1000, [](std::int64_t row) { return row % 97 == 5 ? row % 301 : row * row % 7; });
}

std::vector<std::int64_t> lengths_of(const HostCsr<double>& source, std::int64_t granularity) {
  std::vector<std::int64_t> lengths;
  for (std::int64_t row = 0; row < source.rows; row += granularity) {
    const auto last = std::min(source.rows, row + granularity);
    const auto nonzeros =
        source.row_ptr[static_cast<std::size_t>(last)] - source.row_ptr[static_cast<std::size_t>(row)];
    lengths.push_back((nonzeros + granularity - 1) / granularity);
  }
  return lengths;
}

TEST(RowBins, HoldTheRowsOfTheirLengthsInOrder) {
  const auto source = skewed(50001);
  const auto matrix = matrix_of(source);
  const std::vector<std::vector<std::int64_t>> all_floors{
      {-1}, {4, -1}, ThreadRule{2, 128, 16}.floors(), formats::fine_floors()};
  for (const auto& device : devices()) {
    for (const auto& floors : all_floors) {
      for (const int log_granularity : {0, 3}) {
        SCOPED_TRACE(std::string(name_of(device.backend)) + " " + std::to_string(floors.size()) +
                     " bins, granularity " + std::to_string(1 << log_granularity));
        const auto lengths = lengths_of(source, 1 << log_granularity);
        std::vector<std::int32_t> expected;
        std::vector<std::int64_t> first;
        for (std::size_t bin = 0; bin < floors.size(); ++bin) {
          first.push_back(static_cast<std::int64_t>(expected.size()));
          for (std::size_t item = 0; item < lengths.size(); ++item) {
            const bool above = bin > 0 && lengths[item] > floors[bin - 1];
            if (lengths[item] > floors[bin] && !above) expected.push_back(static_cast<std::int32_t>(item));
          }
        }
        first.push_back(static_cast<std::int64_t>(expected.size()));
        const auto rows =
            formats::bin_rows(data_of(matrix).on(device).row_ptr, source.rows, floors, log_granularity, device);
        EXPECT_EQ(rows.first, first);
        EXPECT_EQ(rows.order.to_vector(), expected);
      }
    }
  }
}

TEST(RowBins, MustEndWithABinForAllRows) {
  const auto matrix = matrix_of(skewed(10));
  const auto row_ptr = data_of(matrix).on(host_device()).row_ptr;
  EXPECT_THROW(static_cast<void>(formats::bin_rows(row_ptr, 10, {}, 0, Place{})), InvalidArgument);
  EXPECT_THROW(static_cast<void>(formats::bin_rows(row_ptr, 10, {3, 0}, 0, Place{})), InvalidArgument);
}

TEST(RowBins, FineOnesTellShortLengthsApart) {
  const auto floors = formats::fine_floors();
  ASSERT_LE(floors.size(), static_cast<std::size_t>(formats::most_bins));
  EXPECT_TRUE(std::is_sorted(floors.rbegin(), floors.rend()));
  const int bins = static_cast<int>(floors.size());
  for (std::int64_t length = 0; length < formats::exact_lengths; ++length) {
    EXPECT_EQ(floors[static_cast<std::size_t>(formats::bin_of(floors.data(), bins, length))], length - 1);
  }
  for (std::int64_t length = formats::exact_lengths; length < std::int64_t{1} << 31; length = length * 9 / 8) {
    const auto shortest = floors[static_cast<std::size_t>(formats::bin_of(floors.data(), bins, length))] + 1;
    EXPECT_LE(shortest, length);
    EXPECT_LT(length, shortest + (shortest + 3) / 4);
  }
}

TEST(ThreadRule, GivesTheFewestThreadsThatLeaveEachFewEntries) {
  for (const auto& rule :
       {ThreadRule{4, 256, 0}, ThreadRule{1, 128, 0}, ThreadRule{8, 512, 16}, ThreadRule{2, 256, 64}}) {
    SCOPED_TRACE(std::to_string(rule.entries) + " " + std::to_string(rule.block) + " " + std::to_string(rule.split));
    const auto floors = rule.floors();
    ASSERT_LE(floors.size(), static_cast<std::size_t>(BinTable::most));
    std::map<int, int> threads_of_bin;
    for (std::int64_t length = 0; length < 100'000'000; length += 1 + length / 7) {
      const std::int64_t threads = std::int64_t{1} << rule.log_threads_of(length);
      const std::int64_t each = threads > rule.block ? rule.split : rule.entries;
      if (threads != rule.block) {
        EXPECT_LE(length, threads * each) << length;
      }
      if (threads > 1 && threads <= rule.block) {
        EXPECT_GT(length, threads / 2 * rule.entries) << length;
      }
      if (threads > rule.block) {
        EXPECT_GT(length, static_cast<std::int64_t>(rule.block) * rule.split) << length;
      }
      // Rows of a bin all have the same number of threads.
      const int bin = formats::bin_of(floors.data(), static_cast<int>(floors.size()), length);
      EXPECT_EQ(threads_of_bin.try_emplace(bin, rule.log_threads_of(length)).first->second,
                rule.log_threads_of(length));
    }
  }
}

TEST(BinTable, SeatsEveryThreadOfEveryRowOnce) {
  const std::vector<RowBin> bins{{.first = 3, .last = 5, .log_threads = 9},
                                 {.first = 5, .last = 6, .log_threads = 7},
                                 {.first = 6, .last = 77, .log_threads = 5},
                                 {.first = 77, .last = 1000, .log_threads = 1},
                                 {.first = 1000, .last = 1001, .log_threads = 0}};
  constexpr int block = 128;
  const auto table = formats::table_of(bins.data(), static_cast<int>(bins.size()), block);
  std::map<std::pair<std::int64_t, std::int64_t>, int> seated;
  for (std::int64_t b = 0; b < table.blocks; ++b) {
    const int log_threads = table.seat_of(b, 0).log_threads;
    for (int thread = 0; thread < block; ++thread) {
      const auto seat = table.seat_of(b, thread);
      EXPECT_EQ(seat.log_threads, log_threads) << "block " << b;
      if (seat.inside) ++seated[{seat.position, seat.lane}];
    }
  }
  std::size_t expected = 0;
  for (const auto& bin : bins) {
    for (auto position = bin.first; position < bin.last; ++position) {
      for (std::int64_t lane = 0; lane < std::int64_t{1} << bin.log_threads; ++lane, ++expected) {
        ASSERT_EQ((seated[{position, lane}]), 1) << position << " " << lane;
      }
    }
  }
  EXPECT_EQ(seated.size(), expected);
}

// ---- SURAA's segments

RowBins fine_bins(const HostCsr<double>& source) {
  const auto matrix = matrix_of(source);
  return formats::bin_rows(data_of(matrix).on(host_device()).row_ptr, source.rows, formats::fine_floors(), 0, Place{});
}

TEST(SuraaSegments, AreAsWideAsFreedmanAndDiaconisSay) {
  // Quartiles 10 and 30 of 1000 rows: 2 x 20 / 10.
  const auto spread = from_lengths<double>(1000, 100, [](std::int64_t row) { return row < 500 ? 10 : 30; });
  EXPECT_DOUBLE_EQ(formats::suraa::interval_width(fine_bins(spread)), 4);
  const auto alike = from_lengths<double>(1000, 100, [](std::int64_t row) { return row < 900 ? 10 : 30; });
  EXPECT_DOUBLE_EQ(formats::suraa::interval_width(fine_bins(alike)), 1);
}

TEST(SuraaSegments, CoverAllRowsWithThreadsForTheirLengths) {
  const auto source = from_lengths<double>(3000, 100000, [](std::int64_t row) {
    return row == 700 ? 90001 : row % 500 == 3 ? 2000 + row : row % 250;
  });
  for (const int split : {0, 16}) {
    const ThreadRule rule{2, 256, split};
    const auto bins = fine_bins(source);
    const auto segments = formats::suraa::segments_of(bins, rule, formats::suraa::interval_width(bins), 0);
    ASSERT_LE(segments.size(), static_cast<std::size_t>(BinTable::most));
    std::int64_t position = 0;
    for (const auto& segment : segments) {
      EXPECT_EQ(segment.first, position);
      EXPECT_LT(segment.first, segment.last);
      position = segment.last;
    }
    EXPECT_EQ(position, source.rows);
    EXPECT_EQ(segments.front().log_threads, rule.log_threads_of(80000));
    EXPECT_EQ(segments.back().log_threads, 0);
    for (std::size_t i = 1; i < segments.size(); ++i) EXPECT_LE(segments[i].log_threads, segments[i - 1].log_threads);
  }
}

TEST(SuraaSegments, AreFewerTheWiderTheyAre) {
  // Of every length from 0 to 19; quartiles 4 and 14, a width of 2 x 10 / 10.
  const auto source = from_lengths<double>(1000, 100, [](std::int64_t row) { return row % 20; });
  const auto bins = fine_bins(source);
  const auto width = formats::suraa::interval_width(bins);
  EXPECT_DOUBLE_EQ(width, 2);
  const ThreadRule rule{2, 256, 0};
  EXPECT_EQ(formats::suraa::segments_of(bins, rule, width, 0).size(), 10U);
  EXPECT_EQ(formats::suraa::segments_of(bins, rule, width / 2, 0).size(), 20U);
  EXPECT_EQ(formats::suraa::segments_of(bins, rule, 2 * width, 0).size(), 5U);
}

TEST(SuraaSegments, GiveWholeSegmentsToChildren) {
  // 100 rows of 90 nonzeros, 300 of 60, 300 of 40 and 300 of 10; quartiles 10 and 60, a width of 2 x 50 / 10.
  const auto source = from_lengths<double>(1000, 100, [](std::int64_t row) {
    return row % 10 == 0 ? 90 : row % 10 < 4 ? 60 : row % 10 < 7 ? 40 : 10;
  });
  const auto bins = fine_bins(source);
  const auto width = formats::suraa::interval_width(bins);
  EXPECT_DOUBLE_EQ(width, 10);
  EXPECT_EQ(formats::suraa::rows_of_children(bins, width, 99), 0) << "the first segment holds more";
  EXPECT_EQ(formats::suraa::rows_of_children(bins, width, 399), 100);
  EXPECT_EQ(formats::suraa::rows_of_children(bins, width, 400), 400);
  EXPECT_EQ(formats::suraa::rows_of_children(bins, width, 8192), 700) << "rows of 10 nonzeros get no child";
  const auto segments = formats::suraa::segments_of(bins, {2, 256, 0}, width, 400);
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(segments[0].last, 400);
  EXPECT_EQ(segments[1].last, 700);
  EXPECT_EQ(segments[2].last, 1000);
}

// ---- Children

Features features_with_long_rows(std::int64_t rows) {
  return extract_features(
      from_lengths<double>(20000, 500, [=](std::int64_t row) { return row < rows ? 40 : 3; }).view(), Place{});
}

std::vector<std::int64_t> child_limits(const Format<double>& format, const Features& features, Choices choices) {
  std::vector<std::int64_t> limits;
  for (const auto& params : format.params(features, described_gpu()).combinations(choices)) {
    const auto limit = params["max_child_threads"];
    if (std::find(limits.begin(), limits.end(), limit) == limits.end()) limits.push_back(limit);
  }
  return limits;
}

TEST(Children, AreAsManyAsTheRowsThatTheyAreFor) {
  using Limits = std::vector<std::int64_t>;
  for (const auto* name : {"suraa", "acsr"}) {
    const auto* format = find_format<double>(name);
    const auto likely = [&](std::int64_t rows) {
      return child_limits(*format, features_with_long_rows(rows), Choices::likely);
    };
    EXPECT_EQ(likely(0), (Limits{0})) << name;
    EXPECT_EQ(likely(10), (Limits{0, 2048})) << name;
    EXPECT_EQ(likely(2048), (Limits{0, 2048})) << name;
    EXPECT_EQ(likely(2049), (Limits{0, 4096})) << name;
    EXPECT_EQ(likely(15000), (Limits{0, 8192})) << name;
    EXPECT_EQ(child_limits(*format, features_with_long_rows(10), Choices::all), (Limits{0, 2048, 1024, 4096, 8192}))
        << name;
  }
}

TEST(Children, ArePricedOneByOneAndNotCaptured) {
  const auto features = features_with_long_rows(6000);
  for (const auto* name : {"suraa", "acsr"}) {
    const auto* format = find_format<double>(name);
    std::map<std::int64_t, int> launches;
    for (const auto& params : format->params(features, described_gpu()).combinations()) {
      const auto limit = params["max_child_threads"];
      EXPECT_EQ(format->capturable(params, described_gpu()), limit == 0) << params.text();
      const auto cost = format->predict(features, params, described_gpu());
      EXPECT_EQ(cost.admitted(), limit == 0 || (params["fused"] == 0 && params["split"] == 0)) << params.text();
      if (cost && params["fused"] == 0) launches[limit] = cost->launches;
    }
    EXPECT_NEAR(launches[1024] - launches[0], 1024 / 5.0, 2) << name;
    EXPECT_NEAR(launches[8192] - launches[0], 6000 / 5.0, 2) << "no more than there are rows for, in " << name;
  }
  const auto* elsewhere = find_format<double>("csr_sorted_bins");
  EXPECT_TRUE(
      elsewhere->capturable(elsewhere->params(features, described_gpu()).combinations().front(), described_gpu()));
}

// ---- Products

void expect_right_products_of_bins(const std::string& format, const Params& params, const HostCsr<double>& source,
                                   const Device& device) {
  SCOPED_TRACE(format + " " + params.text() + " on " + std::string(name_of(device.backend)));
  const auto matrix = matrix_of(source);
  const auto view = data_of(matrix).on(device);
  const auto x = Array<double>::copy_of(make_x<double>(source.cols, Entries::finite, 3), device);
  const auto built = find_format<double>(format)->build(view, params, device);
  ASSERT_TRUE(built.admitted()) << built.reason();
  for (const double beta : {0.0, 1.0, -0.5}) {
    auto y = Array<double>::copy_of(make_x<double>(source.rows, Entries::finite, 5), device);
    const auto reference = reference_product(view, 2.0, x.data(), beta, y.data(), device);
    (*built)->apply(2.0, x.data(), beta, y.data(), setup_stream(device));
    synchronize(device, setup_stream(device));
    const auto comparison = compare(reference, static_cast<const double*>(y.data()), device);
    EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows, the first " << comparison.first_wrong;
  }
}

std::vector<Params> cuda_params(const std::string& format) {
  ParamSpace::Axis fused{"fused", {0, 1}};
  ParamSpace::Axis entries{"entries", {2}};
  const ParamSpace::Axis split{"split", {0, 16, 64}};
  const ParamSpace::Axis block{"block", {128, 512}};
  const ParamSpace::Axis value_bits{"value_bits", {64}};
  const ParamSpace::Axis children{"max_child_threads", {0, 1024, 8192}};
  if (format == "csr_sorted_bins") return ParamSpace{entries, split, block, value_bits}.combinations();
  if (format == "csr_binned") {
    return ParamSpace{fused, entries, split, block, value_bits, {"granularity", {16}}}.combinations();
  }
  auto all = ParamSpace{fused, entries, split, block, value_bits, children}.combinations();
  if (format == "suraa") {
    entries.values = {0};
    all = ParamSpace{fused, entries, split, block, value_bits, children, {"width", {25, 100, 400}}}.combinations();
  }
  std::erase_if(all, [](const Params& params) {
    return params["max_child_threads"] > 0 && (params["fused"] != 0 || params["split"] != 0);
  });
  return all;
}

bool runs_on(const std::string& format, const Device& device) {
  return find_format<double>(format)->info().runs_on(device.backend);
}

// A row too long for a block, one too long for two, and short ones.
TEST(BinnedRows, OfEveryLengthAreSummedWhole) {
  const auto source = from_lengths<double>(3000, 200000, [](std::int64_t row) -> std::int64_t {
    if (row == 1234) return 150001;
    return row == 77 ? 12345 : row % 100 == 7 ? 3001 : row % 11 == 0 ? row % 611 : row % 5;
  });
  for (const auto& device : devices()) {
    for (const auto* format : {"acsr", "suraa", "csr_binned", "csr_sorted_bins"}) {
      if (!runs_on(format, device)) continue;
      auto all = cuda_params(format);
      if (device.backend == Backend::host) all = find_format<double>(format)->params({}, device).combinations();
      for (const auto& params : all) expect_right_products_of_bins(format, params, source, device);
    }
  }
}

TEST(BinnedRows, PredictedStorageIsNearWhatIsBuilt) {
  for (const auto& device : devices()) {
    for (const auto* name : {"gen:circuit:60000", "gen:rmat:14", "gen:dense:300"}) {
      const auto matrix = matrix_of(generate<double>(name));
      const auto view = data_of(matrix).on(device);
      const auto features = extract_features(view, device);
      for (const auto* format_name : {"acsr", "suraa", "csr_binned", "csr_sorted_bins"}) {
        if (!runs_on(format_name, device)) continue;
        const auto* format = find_format<double>(format_name);
        for (const auto& params : format->params(features, device).combinations()) {
          SCOPED_TRACE(std::string(name) + " " + format_name + " " + params.text());
          const auto cost = format->predict(features, params, device);
          if (!cost && params.find("max_child_threads").value_or(0) > 0) continue;  // beside what they do not go with
          ASSERT_TRUE(cost.admitted()) << cost.reason();
          const auto built = format->build(view, params, device);
          if (!built) {  // dynamic parallelism for rows that turn out not to be there
            EXPECT_GT(params.find("max_child_threads").value_or(0), 0) << built.reason();
            continue;
          }
          EXPECT_NEAR(cost->storage_bytes, static_cast<double>((*built)->bytes()), 0.02 * cost->storage_bytes + 16);
        }
      }
    }
  }
}

}  // namespace
}  // namespace autospmv::testing
