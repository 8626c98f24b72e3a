#include "io/twin/calibration.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "io/twin/bisect.hpp"
#include "io/twin/tally.hpp"

namespace autospmv::twin {

namespace {

/// A share that gave `got` and should give `wanted`, by its odds: it never leaves [0, 1], and a small one is corrected
/// by the same factor as its distance from 1 is where it is large.
double corrected(double share, double wanted, double got) {
  if (wanted <= 0) return 0;
  if (wanted >= 1) return 1;
  const auto odds = [](double x) {
    constexpr double least = 1e-9;
    const double inside = std::clamp(x, least, 1 - least);
    return inside / (1 - inside);
  };
  const double result = odds(share) * odds(wanted) / odds(got);
  return result / (1 + result);
}

/// Draws the rows of a few blocks again and again, until their features are as wanted.
class Calibration {
 public:
  Calibration(std::int64_t cols, std::span<const std::int64_t> row_ptr, std::uint64_t seed)
      : cols_(cols), row_ptr_(row_ptr), seed_(seed), blocks_(row_ptr) {
    constexpr std::int64_t most_blocks = 32;
    constexpr std::int64_t most_nnz = std::int64_t{1} << 22;
    const std::int64_t wanted = std::min(most_blocks, blocks_.count);
    for (std::int64_t i = 0; i < wanted; ++i) {
      const auto share = blocks_.of(blocks_.count * i / wanted);
      if (row_ptr[share.last] - row_ptr[share.first] <= most_nnz) sample_.push_back(share);
    }
  }

  /// From the shape that were right if no row took anything over from the previous one.
  [[nodiscard]] Shape shape(const Shape& design, double similarity) const {
    double design_runs = 0;
    double design_span = 0;
    std::int64_t rows = 0;
    for (const auto& share : sample_) {
      for (std::int64_t r = share.first; r < share.last; ++r) {
        const std::int64_t n = row_ptr_[r + 1] - row_ptr_[r];
        if (n == 0) continue;
        ++rows;
        design_runs += mean_runs(n, cols_, design.run) - 1;
        design_span += mean_span(n, cols_, design);
      }
    }
    Shape shape = design;
    if (rows == 0) return shape;
    const double bound = static_cast<double>(rows) * static_cast<double>(std::max<std::int64_t>(1, cols_ - 1));
    constexpr int rounds = 10;
    for (int round = 0; round < rounds; ++round) {
      const Tally tally = measure(shape);
      const auto more_nnz = static_cast<double>(tally.nnz - tally.rows);
      const auto more_runs = static_cast<double>(tally.runs - tally.rows);
      shape.run = corrected(shape.run, ratio(design_runs, more_nnz), ratio(more_runs, more_nnz));
      shape.span = corrected(shape.span, design_span / bound, static_cast<double>(tally.spans) / bound);
      shape.copy = corrected(shape.copy, similarity, ratio(tally.similarities, static_cast<double>(tally.pairs)));
    }
    return shape;
  }

 private:
  [[nodiscard]] Tally measure(const Shape& shape) const {
    std::vector<Tally> tallies(sample_.size());
    for_each_block(std::ssize(sample_), [&](std::int64_t i) {
      const auto share = sample_[static_cast<std::size_t>(i)];
      std::vector<std::int32_t> col_idx(row_ptr_[share.last] - row_ptr_[share.first]);
      make_rows(row_ptr_, cols_, shape, seed_, share, col_idx.data());
      tallies[static_cast<std::size_t>(i)] = tally_rows(row_ptr_, col_idx.data(), share.first, share, share.last);
    });
    return std::accumulate(tallies.begin(), tallies.end(), Tally{});
  }

  std::int64_t cols_;
  std::span<const std::int64_t> row_ptr_;
  std::uint64_t seed_;
  Blocks blocks_;
  std::vector<Share> sample_;
};

/// The shape that gives the bandwidth and the neighbours where no row takes anything over from the previous one.
Shape design(std::int64_t cols, std::span<const NprClass> classes, const TwinFeatures& features) {
  double rows = 0;
  double nnz = 0;
  for (const auto& one : classes) {
    if (one.npr > 0) rows += static_cast<double>(one.count);
    nnz += static_cast<double>(one.npr * one.count);
  }
  const auto sum = [&](const auto& of_row) {
    double result = 0;
    for (const auto& one : classes) {
      if (one.npr > 0) result += static_cast<double>(one.count) * of_row(one.npr);
    }
    return result;
  };
  const double runs = nnz * (1 - features.neighbours / 2);
  const double spans = features.bandwidth * static_cast<double>(cols) * rows;
  constexpr int steps = 50;
  Shape shape{.run = 0, .span = 0, .copy = features.similarity};
  shape.run = bisect(0, 1, steps,
                     [&](double run) { return sum([&](std::int64_t n) { return mean_runs(n, cols, run); }) < runs; });
  shape.span = bisect(0, 1, steps, [&](double span) {
    return sum([&](std::int64_t n) { return mean_span(n, cols, {shape.run, span, 0}); }) < spans;
  });
  return shape;
}

}  // namespace

Shape shape_for(std::int64_t cols, std::span<const NprClass> classes, std::span<const std::int64_t> row_ptr,
                const TwinFeatures& features, std::uint64_t seed) {
  return Calibration(cols, row_ptr, seed).shape(design(cols, classes, features), features.similarity);
}

}  // namespace autospmv::twin
