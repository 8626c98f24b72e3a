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

#include "core/array.hpp"
#include "core/matrix_data.hpp"
#include "core/reference.hpp"
#include "features/features.hpp"
#include "formats/common/row_bins.hpp"
#include "formats/format.hpp"
#include "formats/suraa/segments.hpp"
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
    const auto segments = formats::suraa::segments_of(fine_bins(source), rule);
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

// ---- Products

void expect_right_product(const std::string& format, const Params& params, const HostCsr<double>& source,
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
  std::vector<Params> all;
  for (const std::int64_t fused : {0, 1}) {
    for (const std::int64_t split : {0, 16, 64}) {
      for (const std::int64_t block : {128, 512}) {
        Params params{{"fused", fused}, {"split", split}, {"block", block}, {"entries", 2}, {"value_bits", 64}};
        if (format == "csr_binned") {
          params.set("granularity", 16);
          all.push_back(params);
          continue;
        }
        for (const bool dynamic : {false, true}) {
          auto with_tail = params;
          if (format == "acsr") with_tail.set("tail", dynamic ? 512 : 0);
          if (format == "suraa") with_tail.set("max_child_threads", dynamic ? 1024 : 0);
          all.push_back(with_tail);
          if (format != "suraa") continue;
          with_tail.set("entries", 0);
          all.push_back(with_tail);
        }
      }
    }
  }
  return all;
}

// A row too long for a block, one too long for two, and short ones.
TEST(BinnedRows, OfEveryLengthAreSummedWhole) {
  const auto source = from_lengths<double>(3000, 200000, [](std::int64_t row) -> std::int64_t {
    if (row == 1234) return 150001;
    return row == 77 ? 12345 : row % 100 == 7 ? 3001 : row % 11 == 0 ? row % 611 : row % 5;
  });
  for (const auto& device : devices()) {
    for (const auto* format : {"acsr", "suraa", "csr_binned"}) {
      auto all = cuda_params(format);
      if (device.backend == Backend::host) all = find_format<double>(format)->params({}, device).combinations();
      for (const auto& params : all) expect_right_product(format, params, source, device);
    }
  }
}

TEST(BinnedRows, PredictedStorageIsNearWhatIsBuilt) {
  for (const auto& device : devices()) {
    for (const auto* name : {"gen:circuit:60000", "gen:rmat:14", "gen:dense:300"}) {
      const auto matrix = matrix_of(generate<double>(name));
      const auto view = data_of(matrix).on(device);
      const auto features = extract_features(view, device);
      for (const auto* format_name : {"acsr", "suraa", "csr_binned"}) {
        const auto* format = find_format<double>(format_name);
        for (const auto& params : format->params(features, device).combinations()) {
          SCOPED_TRACE(std::string(name) + " " + format_name + " " + params.text());
          const auto cost = format->predict(features, params, device);
          ASSERT_TRUE(cost.admitted()) << cost.reason();
          const auto built = format->build(view, params, device);
          if (!built) continue;  // dynamic parallelism for rows that turn out not to be there
          EXPECT_NEAR(cost->storage_bytes, static_cast<double>((*built)->bytes()), 0.02 * cost->storage_bytes + 16);
        }
      }
    }
  }
}

}  // namespace
}  // namespace autospmv::testing
