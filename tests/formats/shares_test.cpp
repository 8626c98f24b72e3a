// Shares of equal nonzeros, what rows they cut, and the orders of nonzeros that formats convert by.

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/matrix/nonzeros.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/common/kernels/equal_shares.hpp"
#include "formats/csr/csr5/csr5.hpp"
#include "formats/format.hpp"
#include "tests/formats/scenarios.hpp"

namespace autospmv::testing {
namespace {

using namespace formats;

// Short rows, empty ones, and some far longer than a share.
HostCsr<double> uneven_matrix() {
  return from_lengths<double>(1997, 1500, [](std::int64_t row) -> std::int64_t {
    if (row % 331 == 330) return 900 + row;
    return row % 7 == 0 ? 0 : row % 40;
  });
}

std::vector<std::int32_t> rows_of(const HostCsr<double>& matrix) {
  std::vector<std::int32_t> row_of(matrix.col_idx.size());
  expand_rows(matrix.row_ptr.data(), matrix.rows, matrix.nnz(), row_of.data());
  return row_of;
}

TEST(Shares, RowsAreExpanded) {
  const auto matrix = uneven_matrix();
  const auto row_of = rows_of(matrix);
  for (std::size_t k = 0; k < row_of.size(); ++k) {
    const auto row = static_cast<std::size_t>(row_of[k]);
    EXPECT_LE(matrix.row_ptr[row], static_cast<std::int64_t>(k));
    EXPECT_GT(matrix.row_ptr[row + 1], static_cast<std::int64_t>(k));
  }
}

TEST(Shares, NonzerosAreSortedByColumnStably) {
  for (const std::int64_t cols : {1, 2, 2048, 2049, 70000000}) {
    std::vector<std::int32_t> columns(5000);
    for (std::size_t k = 0; k < columns.size(); ++k) {
      columns[k] = static_cast<std::int32_t>(static_cast<std::int64_t>(k) * k * 977 % cols);
    }
    columns[17] = static_cast<std::int32_t>(cols - 1);
    const std::int64_t first = 10;
    const std::int64_t last = 4990;
    std::vector<std::uint32_t> expected(static_cast<std::size_t>(last - first));
    std::iota(expected.begin(), expected.end(), static_cast<std::uint32_t>(first));
    std::stable_sort(expected.begin(), expected.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return columns[a] < columns[b]; });
    EXPECT_EQ(sort_by_column(columns.data(), first, last, cols), expected) << cols;
  }
}

// What a kernel takes for granted: shares follow each other and end at the last nonzero, and `continued` is the row
// that lies on both sides of a cut.
void expect_sound_shares(const HostCsr<double>& matrix, const formats::Cut& cut) {
  SCOPED_TRACE("share=" + std::to_string(cut.share) + (cut.at_row_ends ? " at row ends" : ""));
  const auto row_of = rows_of(matrix);
  const auto nnz = matrix.nnz();
  const auto count = (nnz + cut.share - 1) / cut.share;
  const auto start = [&](std::int64_t share) {
    return start_of_share(matrix.row_ptr.data(), matrix.rows, nnz, cut, share);
  };
  EXPECT_EQ(start(0).nonzero, 0);
  EXPECT_EQ(start(0).continued, -1);
  EXPECT_EQ(start(count).nonzero, nnz);
  EXPECT_EQ(start(count).continued, -1);
  for (std::int64_t share = 1; share < count; ++share) {
    const auto [nonzero, continued] = start(share);
    EXPECT_LE(start(share - 1).nonzero, nonzero);
    EXPECT_LE(nonzero - start(share - 1).nonzero, 2 * cut.share);
    if (!cut.at_row_ends) {
      EXPECT_EQ(nonzero, share * cut.share);
    }
    const bool cuts =
        nonzero < nnz && row_of[static_cast<std::size_t>(nonzero) - 1] == row_of[static_cast<std::size_t>(nonzero)];
    EXPECT_EQ(continued, cuts ? row_of[static_cast<std::size_t>(nonzero)] : -1);
    if (!cuts) continue;
    const auto row = static_cast<std::size_t>(continued);
    if (cut.at_row_ends) {
      EXPECT_GT(matrix.row_ptr[row + 1] - matrix.row_ptr[row], cut.share);
    }
    EXPECT_LT(nonzero, start(share + 1).nonzero) << "a share without entries has no carry";
  }
}

TEST(Shares, CutsLieWhereTheyAreSaidToLie) {
  const auto matrix = uneven_matrix();
  for (const std::int64_t share : {1, 3, 32, 64, 256, 5000, 1000000}) {
    expect_sound_shares(matrix, {.share = share, .at_row_ends = true});
    expect_sound_shares(matrix, {.share = share, .at_row_ends = false});
  }
}

// A row that is written to a share's carry begins in an earlier share, so nothing depends on how many threads there
// are.
TEST(Shares, AnyNumberOfThreadsGivesTheSameBits) {
  const int threads = omp_get_max_threads();
  const auto source = uneven_matrix();
  const auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
  auto device = host_device();
  device.multiprocessors = 13;
  const auto view = data_of(matrix).on(device);
  const auto x = make_x<double>(source.cols, Entries::finite, 3);
  for (const auto* name : {"coo", "coo_balanced", "csr5", "csc"}) {
    const auto* format = find_format<double>(name);
    for (const auto& params : format->params(extract_features(view, device), device).combinations()) {
      SCOPED_TRACE(std::string(name) + " " + params.text());
      const auto built = format->build(view, params, device);
      ASSERT_TRUE(built.admitted()) << built.reason();
      std::vector<double> first(static_cast<std::size_t>(source.rows), 1.0);
      auto second = first;
      (*built)->apply(2.0, x.data(), -1.0, first.data(), {});
      omp_set_num_threads(1);
      (*built)->apply(2.0, x.data(), -1.0, second.data(), {});
      omp_set_num_threads(threads);
      EXPECT_EQ(first, second);
      const std::vector<double> ones(static_cast<std::size_t>(source.rows), 1.0);
      const auto reference = reference_product(view, 2.0, x.data(), -1.0, ones.data(), device);
      EXPECT_TRUE(compare(reference, static_cast<const double*>(first.data()), device).passed());
    }
  }
}

TEST(Shares, PredictedStorageIsNearWhatIsBuilt) {
  auto device = host_device();
  device.multiprocessors = 4;
  for (const auto* name : {"gen:fem:12:3", "gen:circuit:60000", "gen:rmat:14", "gen:dense:300"}) {
    const auto source = generate<double>(name);
    const auto matrix =
        Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
    const auto view = data_of(matrix).on(device);
    const auto features = extract_features(view, device);
    for (const auto* format_name : {"coo", "coo_balanced", "csr5", "csc"}) {
      const auto* format = find_format<double>(format_name);
      for (const auto& params : format->params(features, device).combinations()) {
        SCOPED_TRACE(std::string(name) + " " + format_name + " " + params.text());
        const auto cost = format->predict(features, params, device);
        ASSERT_TRUE(cost.admitted()) << cost.reason();
        const auto built = format->build(view, params, device);
        ASSERT_TRUE(built.admitted()) << built.reason();
        // The features do not tell how many columns a panel of csc does without.
        const double tolerance = format->info().name == "csc" ? 0.4 : 0.05;
        EXPECT_NEAR(cost->storage_bytes / static_cast<double>((*built)->bytes()), 1, tolerance);
      }
    }
  }
}

// ---- The tiles of csr5

TEST(Csr5, EveryNonzeroHasASlotOfItsOwn) {
  for (const int sigma : {4, 12, 32}) {
    std::vector<bool> taken(static_cast<std::size_t>(3 * csr5::tile_size(sigma)));
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(taken.size()); ++k) {
      const auto slot = csr5::slot_of(k, sigma);
      EXPECT_FALSE(taken.at(static_cast<std::size_t>(slot)));
      taken[static_cast<std::size_t>(slot)] = true;
      // Lanes side by side, a lane's nonzeros one after another.
      EXPECT_EQ(slot % csr5::lanes, k / sigma % csr5::lanes);
    }
  }
}

TEST(Csr5, SegmentsEndWithTheLaneInWhichTheNextRowBegins) {
  EXPECT_EQ(csr5::seg_offset(0, 0), 31);
  EXPECT_EQ(csr5::seg_offset(1, 0), 31);
  EXPECT_EQ(csr5::seg_offset(0xffffffffU, 5), 1);
  EXPECT_EQ(csr5::seg_offset(0x80000000U, 5), 26);
  EXPECT_EQ(csr5::seg_offset(0x00000100U, 3), 5);
  EXPECT_EQ(csr5::seg_offset(0xffffffffU, 31), 0);
}

// The kernel's way through a tile, lane by lane, with shuffles spelled out as reads of the lanes' array: the rows' sums
// where they are kept and the carry of every tile.
std::vector<double> sums_as_on_the_device(const HostCsr<double>& matrix, int sigma) {
  std::vector<std::int32_t> row_ids;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (matrix.row_ptr[at + 1] > matrix.row_ptr[at]) row_ids.push_back(static_cast<std::int32_t>(row));
  }
  const csr5::FilledRows filled{matrix.row_ptr.data(), row_ids.data(), static_cast<std::int64_t>(row_ids.size())};
  const formats::Cut cut{.share = csr5::tile_size(sigma)};
  std::vector<double> y(static_cast<std::size_t>(matrix.rows));
  for (std::int64_t tile = 0; tile * cut.share < matrix.nnz(); ++tile) {
    const auto tile_ptr = filled.beginning_from(tile * cut.share);
    double head[csr5::lanes] = {};
    double open[csr5::lanes] = {};
    std::int64_t row_of_lane[csr5::lanes] = {};
    std::uint32_t flagged = 0;
    for (int lane = 0; lane < csr5::lanes; ++lane) {
      const auto nonzero = tile * cut.share + lane * sigma;
      auto row = filled.beginning_from(nonzero);
      EXPECT_GE(row, tile_ptr);
      const auto flags = csr5::flags_of_lane(filled, row, nonzero, sigma);
      double sum = 0;
      bool begun = false;
      for (int step = 0; step < sigma; ++step) {
        if ((flags >> step & 1U) != 0) {
          if (begun) {
            y[static_cast<std::size_t>(row_ids[static_cast<std::size_t>(row++)])] = sum;
          } else {
            head[lane] = sum;
          }
          begun = true;
          sum = 0;
        }
        if (nonzero + step < matrix.nnz()) sum += matrix.values[static_cast<std::size_t>(nonzero + step)];
      }
      (begun ? open[lane] : head[lane]) = sum;
      row_of_lane[lane] = row;
      if (begun) flagged |= std::uint32_t{1} << lane;
    }
    double heads[csr5::lanes];
    for (int lane = 0; lane < csr5::lanes; ++lane) {
      const bool is_first = lane == 0 || (flagged >> (lane - 1) & 1U) != 0;
      heads[lane] = head[lane] + (is_first ? 0 : heads[lane - 1]);
    }
    for (int lane = 0; lane < csr5::lanes; ++lane) {
      if ((flagged >> lane & 1U) == 0) continue;
      const int to_last = csr5::seg_offset(flagged, lane);
      const auto row = static_cast<std::size_t>(row_ids[static_cast<std::size_t>(row_of_lane[lane])]);
      y[row] = open[lane] + (to_last > 0 ? heads[lane + to_last] : 0);
    }
    const int first_flagged = flagged != 0 ? std::countr_zero(flagged) : csr5::lanes - 1;
    const auto before = start_of_share(matrix.row_ptr.data(), matrix.rows, matrix.nnz(), cut, tile).continued;
    if (before >= 0) y[static_cast<std::size_t>(before)] += heads[first_flagged];
  }
  return y;
}

TEST(Csr5, TheLanesOfATileSumEveryRow) {
  auto matrix = uneven_matrix();
  for (std::size_t k = 0; k < matrix.values.size(); ++k) matrix.values[k] = static_cast<double>(k % 101);
  for (const int sigma : {4, 8, 12, 16, 24, 32}) {
    const auto y = sums_as_on_the_device(matrix, sigma);
    for (std::size_t row = 0; row < y.size(); ++row) {
      const auto sum = std::accumulate(matrix.values.begin() + matrix.row_ptr[row],
                                       matrix.values.begin() + matrix.row_ptr[row + 1], 0.0);
      EXPECT_EQ(y[row], sum) << "row " << row << " sigma " << sigma;
    }
  }
}

}  // namespace
}  // namespace autospmv::testing
