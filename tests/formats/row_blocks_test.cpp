// Row blocks: the partition alone, and products that the conformance suite does not reach.

#include "formats/staged/row_blocks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "formats/staged/ipcsr/ipcsr.hpp"
#include "formats/staged/row_walk.hpp"
#include "formats/staged/storage.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

using formats::BlockStart;
using formats::RowBlockLimits;

// Long runs of empty, short and long rows, so that pieces are cut for every reason.
std::int64_t mixed_length(std::int64_t row) {
  if (row == 1234) return 5001;
  if (row % 1000 < 300) return 0;
  if (row % 1000 < 310) return 120 + row % 31;
  return row % 97 == 7 ? 601 : row * row % 11;
}

const std::vector<RowBlockLimits>& all_limits() {
  static const std::vector<RowBlockLimits> all = {
      {.entries = 1, .rows = 1, .part = 0},     {.entries = 64, .rows = 64, .part = 64},
      {.entries = 100, .rows = 7, .part = 130}, {.entries = 512, .rows = 4096, .part = 2048},
      {.entries = 600, .rows = 128, .part = 0}, {.entries = 1 << 20, .rows = 1 << 20, .part = 1 << 20}};
  return all;
}

// Every start lies where the one before it ends, and no block breaks a limit unless it must.
void expect_partition(const std::vector<BlockStart>& starts, const HostCsr<double>& source,
                      const RowBlockLimits& limits) {
  ASSERT_EQ(starts.front(), (BlockStart{0, 0}));
  ASSERT_EQ(starts.back(), (BlockStart{source.rows, source.nnz()}));
  for (std::size_t i = 0; i + 1 < starts.size(); ++i) {
    const auto rows = starts[i + 1].row - starts[i].row;
    const auto entries = starts[i + 1].entry - starts[i].entry;
    const auto row_start = source.row_ptr[static_cast<std::size_t>(starts[i].row)];
    const bool continues = i > 0 && starts[i - 1].row == starts[i].row;
    ASSERT_LE(rows, limits.rows);
    if (rows == 0 || continues) {
      ASSERT_GT(limits.part, 0);
      ASSERT_GT(entries, 0);
      ASSERT_LE(entries, limits.part);
      ASSERT_EQ((starts[i].entry - row_start) % limits.part, 0);
    } else {
      ASSERT_EQ(starts[i].entry, row_start);
      const auto of_one_row = limits.part > 0 ? limits.part : source.nnz();
      ASSERT_LE(entries, rows > 1 ? limits.entries : of_one_row);
    }
  }
}

// The blocks that one walk over all rows gives: pieces may add one each.
std::int64_t greedy_blocks(const HostCsr<double>& source, const RowBlockLimits& limits) {
  std::int64_t blocks = 0;
  const auto& ends = source.row_ptr;
  for (std::int64_t row = 0; row < source.rows; ++blocks) {
    const auto first = row++;
    const auto entries_to = [&](std::int64_t last) {
      return ends[static_cast<std::size_t>(last)] - ends[static_cast<std::size_t>(first)];
    };
    if (limits.part > 0) blocks += std::max<std::int64_t>(0, (entries_to(row) - 1) / limits.part);
    while (row < source.rows && row - first < limits.rows && entries_to(row + 1) <= limits.entries) ++row;
  }
  return blocks;
}

TEST(RowBlocks, KeepTheirLimitsAndAreFew) {
  for (const auto& source :
       {from_lengths<double>(20000, 3000, mixed_length), from_lengths<double>(1, 10, [](auto) { return 7; }),
        from_lengths<double>(5000, 10, [](auto) { return 0; }), generate<double>("gen:circuit:3000")}) {
    for (const auto& limits : all_limits()) {
      SCOPED_TRACE("entries " + std::to_string(limits.entries) + " rows " + std::to_string(limits.rows));
      const auto view = source.view();
      const auto blocks = make_row_blocks(view.row_ptr, view.rows, view.nnz, limits, {}, {});
      const auto starts = blocks.starts.to_vector();
      expect_partition(starts, source, limits);
      const formats::RowWalk<std::int64_t> walk{std::get<1>(view.row_ptr), view.rows, view.nnz, limits};
      EXPECT_LE(blocks.count(), greedy_blocks(source, limits) + walk.pieces());
      std::set<std::int64_t> rows;
      for (const auto& start : starts) rows.insert(start.row);
      EXPECT_EQ(blocks.split, rows.size() < starts.size());
    }
  }
}

// A warp of a device keeps the blocks of a piece one a lane.
TEST(RowBlocks, APieceHasNoMoreThanItsMost) {
  const auto source = from_lengths<double>(50000, 100, [](std::int64_t row) { return row % 2 == 0 ? 1 : 100; });
  const RowBlockLimits limits{.entries = 100, .rows = 50, .part = 0};
  const auto view = source.view();
  const formats::RowWalk<std::int64_t> walk{std::get<1>(view.row_ptr), view.rows, view.nnz, limits};
  const auto blocks = make_row_blocks(view.row_ptr, view.rows, view.nnz, limits, {}, {});
  std::vector<int> of_piece(static_cast<std::size_t>(walk.pieces()), 0);
  for (std::int64_t i = 0; i < blocks.count(); ++i) {
    const auto work = walk.work_before(blocks.starts[static_cast<std::size_t>(i)].row);
    ++of_piece[static_cast<std::size_t>(work / walk.work_of_piece())];
  }
  const auto most = *std::max_element(of_piece.begin(), of_piece.end());
  EXPECT_LE(most, formats::most_blocks_of_piece);
  EXPECT_GT(most, formats::blocks_of_piece);
}

TEST(RowBlocks, DevicesFindThoseOfTheHost) {
  const auto source = from_lengths<double>(20000, 3000, mixed_length);
  const auto matrix = matrix_of(source);
  const auto host_view = data_of(matrix).on(host_device());
  for (const auto& device : devices()) {
    const auto view = data_of(matrix).on(device);
    for (const auto& limits : all_limits()) {
      const auto expected = make_row_blocks(host_view.row_ptr, view.rows, view.nnz, limits, {}, {});
      const auto found = make_row_blocks(view.row_ptr, view.rows, view.nnz, limits, device, setup_stream(device));
      EXPECT_EQ(found.starts.to_vector(), expected.starts.to_vector()) << name_of(device.backend);
      EXPECT_EQ(found.split, expected.split);
    }
  }
}

TEST(RowBlocks, AWarpFindsTheFirstNumberThatIsFarEnough) {
  for (const std::int64_t size : {0, 1, 2, 31, 32, 33, 63, 64, 65, 1000, 1024, 1025, 40000}) {
    for (const std::int64_t wanted : {std::int64_t{0}, size / 3, size - 1, size}) {
      if (wanted < 0) continue;
      constexpr std::int64_t low = 17;
      formats::WarpSearch search{low, low + size};
      int rounds = 0;
      for (; !search.done(); ++rounds) {
        int short_lanes = 0;
        for (int lane = 0; lane < 32; ++lane) {
          const auto probe = search.probe(lane);
          short_lanes += probe < search.high && probe < low + wanted ? 1 : 0;
        }
        search.narrow(short_lanes);
      }
      EXPECT_EQ(search.low, low + wanted) << size;
      EXPECT_LE(rounds, 4) << size;
    }
  }
}

TEST(RowBlocks, TheirNumberIsPredicted) {
  for (const auto* name : {"gen:fem:12:3", "gen:circuit:60000", "gen:rmat:14", "gen:dense:300", "gen:pde:40"}) {
    const auto matrix = matrix_of(generate<double>(name));
    const auto view = data_of(matrix).on(host_device());
    const auto features = extract_features(view, host_device());
    for (const RowBlockLimits limits :
         {RowBlockLimits{512, 512, 2048}, RowBlockLimits{2048, 2048, 8192}, RowBlockLimits{3000, 256, 12000}}) {
      const auto blocks = make_row_blocks(view.row_ptr, view.rows, view.nnz, limits, {}, {});
      EXPECT_NEAR(expected_row_blocks(features, limits) / static_cast<double>(blocks.count()), 1, 0.3)
          << name << ' ' << limits.entries << ' ' << blocks.count();
    }
  }
}

TEST(RowBlocks, StagedRowsBeginInDifferentBanks) {
  constexpr int banks = 16;  // of eight bytes
  for (const int length : {8, 16}) {
    std::set<int> used;
    for (int row = 0; row < banks; ++row) used.insert(formats::staged_slot<double>(row * length) % banks);
    EXPECT_EQ(used.size(), 16U) << length;
  }
  EXPECT_LT(formats::staged_slot<double>(99) * sizeof(double), formats::staged_bytes<double>(100));
}

void expect_repeatable_product(const std::string& format, const Params& params, const HostCsr<double>& source,
                               const Device& device) {
  SCOPED_TRACE(format + " " + params.text() + " on " + std::string(name_of(device.backend)));
  const auto matrix = matrix_of(source);
  const auto view = data_of(matrix).on(device);
  const auto x = Array<double>::copy_of(make_x<double>(source.cols, Entries::finite, 3), device);
  const auto y0 = make_x<double>(source.rows, Entries::finite, 5);
  auto y = Array<double>::copy_of(y0, device);
  const auto reference = reference_product(view, 2.0, x.data(), -1.0, y.data(), device);
  const auto built = find_format<double>(format)->build(view, params, device);
  ASSERT_TRUE(built.admitted()) << built.reason();
  std::vector<double> first;
  for (int time = 0; time < 2; ++time) {
    y = Array<double>::copy_of(y0, device);
    (*built)->apply(2.0, x.data(), -1.0, y.data(), setup_stream(device));
    synchronize(device, setup_stream(device));
    const auto comparison = compare(reference, static_cast<const double*>(y.data()), device);
    EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows, the first " << comparison.first_wrong;
    if (time == 0) first = y.to_vector();
  }
  EXPECT_EQ(first, y.to_vector());
}

// Rows of several parts, one after another and at both ends of the matrix, and rows a warp must take.
TEST(RowBlocks, RowsOfEveryLengthAreSummedWhole) {
  const auto source = from_lengths<double>(3000, 200000, [](std::int64_t row) -> std::int64_t {
    if (row == 1234 || row == 1235 || row == 2999) return 50001 + row;
    if (row == 0) return 4096;
    return row % 100 == 7 ? 901 : row % 11 == 0 ? row % 611 : row % 5;
  });
  for (const auto& device : devices()) {
    const bool on_cuda = device.backend == Backend::cuda;
    for (const std::int64_t nonzeros : {256, 1024, 4096}) {
      for (const std::int64_t block : {128, 512}) {
        Params params{{"nonzeros", nonzeros}};
        if (on_cuda) {
          params.set("block", block);
          params.set("value_bits", 64);
        }
        expect_repeatable_product("csr_adaptive", params, source, device);
      }
    }
    for (const std::int64_t form : {0, 1, 2}) {
      if (!on_cuda && form > 0) continue;
      for (const std::int64_t size : {1024, 4096}) {
        Params params{{"SHARED_SIZE", size}};
        if (on_cuda) params.set("form", form);
        if (on_cuda) params.set("block", size == 1024 ? 128 : 512);
        expect_repeatable_product("ipcsr", params, source, device);
      }
    }
    expect_repeatable_product("pcsr", on_cuda ? Params{{"block", 128}, {"SHARED_SIZE", 512}} : Params{}, source,
                              device);
  }
}

// What trials do not offer, for the paper's form is there to be compared with.
TEST(RowBlocks, ThePapersFormMultipliesOnCuda) {
  const auto cuda = cuda_devices();
  if (cuda.empty()) GTEST_SKIP() << "no CUDA device";
  const auto& device = cuda.front();
  const auto size = formats::ipcsr::shared_size<double>(256, device);
  for (const auto* name : {"gen:fem:6:3", "gen:circuit:3000", "gen:rmat:10", "gen:dense:130", "gen:pde:20"}) {
    const Params params{{"form", formats::ipcsr::paper_form}, {"block", 256}, {"SHARED_SIZE", size}};
    expect_repeatable_product("ipcsr", params, generate<double>(name), device);
  }
}

TEST(RowBlocks, SharedSizeFollowsEquationThree) {
  Device device;
  device.backend = Backend::cuda;
  device.threads_of_multiprocessor = 2048;
  device.blocks_of_multiprocessor = 32;
  device.shared_bytes_of_multiprocessor = 228 << 10;
  device.shared_bytes_of_block = 227 << 10;
  device.memory_bytes = std::int64_t{1} << 36;
  for (const int threads : {128, 256, 512}) {
    const auto blocks = device.threads_of_multiprocessor / threads;
    const auto size = formats::ipcsr::shared_size<double>(threads, device);
    const auto bytes = device.shared_bytes_of_multiprocessor / blocks;
    EXPECT_LE(formats::staged_bytes<double>(size) + 1024, bytes) << threads;
    EXPECT_GE(size * 8, bytes * 3 / 4) << threads;
    const auto of_floats = static_cast<double>(formats::ipcsr::shared_size<float>(threads, device));
    EXPECT_NEAR(of_floats / static_cast<double>(size), 2, 0.1);
    const Params params{{"form", 1}, {"block", threads}, {"SHARED_SIZE", size}};
    Features features;
    features.rows = features.cols = 1000;
    EXPECT_TRUE(find_format<double>("ipcsr")->predict(features, params, device).admitted());
  }
  Features features;
  const Params too_large{{"form", 1}, {"block", 512}, {"SHARED_SIZE", device.shared_bytes_of_block / 8}};
  EXPECT_FALSE(find_format<double>("ipcsr")->predict(features, too_large, device).admitted());
}

TEST(RowBlocks, PredictedStorageIsNearWhatIsBuilt) {
  const auto device = host_device();
  for (const auto* name : {"gen:fem:12:3", "gen:circuit:60000", "gen:rmat:14", "gen:dense:300"}) {
    const auto matrix = matrix_of(generate<double>(name));
    const auto view = data_of(matrix).on(device);
    const auto features = extract_features(view, device);
    for (const auto* format_name : {"csr_adaptive", "ipcsr", "pcsr"}) {
      const auto* format = find_format<double>(format_name);
      for (const auto& params : format->params(features, device).combinations()) {
        SCOPED_TRACE(std::string(name) + " " + format_name + " " + params.text());
        const auto cost = format->predict(features, params, device);
        ASSERT_TRUE(cost.admitted()) << cost.reason();
        const auto built = format->build(view, params, device);
        ASSERT_TRUE(built.admitted()) << built.reason();
        EXPECT_NEAR(cost->storage_bytes / static_cast<double>((*built)->bytes()), 1, 0.25);
      }
    }
  }
}

}  // namespace
}  // namespace autospmv::testing
