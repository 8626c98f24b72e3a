// What the threads of a product walk on a GPU, from the features: how formats fill in Cost::walk. The lengths of rows
// come from the histogram, so that a few long rows count as what they are.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "features/features.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

/// Threads of a block at most.
inline constexpr double most_threads_of_row = 1024;

/// What of_row(length) of every row that is not empty adds up to.
template <class OfRow>
double sum_over_rows(const Features& features, const OfRow& of_row) {
  const int last =
      std::min(npr_bins - 1, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(features.npr_max))));
  const auto longest = static_cast<double>(features.npr_max);
  const auto rows_of = [&](int bin) {
    return static_cast<double>(features.npr_histogram[static_cast<std::size_t>(bin)]);
  };
  // A typical row of each bin; all of them together have as many nonzeros as the matrix.
  std::array<double, npr_bins> typical{};
  double entries = 0;
  for (int bin = 1; bin <= last; ++bin) {
    const auto at = static_cast<std::size_t>(bin);
    typical[at] = std::min(bin == 1 ? 1 : 1.45 * least_of_bin(bin), longest);
    entries += rows_of(bin) * typical[at];
  }
  if (entries == 0) return 0;
  const double scale = static_cast<double>(features.nnz) / entries;
  double sum = 0;
  for (int bin = 1; bin <= last; ++bin) {
    const double rows = rows_of(bin);
    if (rows == 0) continue;
    // Rows have whole lengths: where nearly all are of 4, a fiftieth more of them does not take the threads of 5.
    const double length = scale * typical[static_cast<std::size_t>(bin)];
    const double shorter = std::max(1.0, std::floor(length));
    const double longer = length - std::floor(length);
    sum += rows * ((1 - longer) * of_row(shorter) + longer * of_row(std::floor(length) + 1));
  }
  return sum;
}

/// T threads a row, each of them `at_once` entries a step. Threads of a warp wait for the longest of its rows, of which
/// the padding of slices tells, unless rows were sorted by their length.
inline Walk walk_of_rows(const Features& features, double threads, bool sorted = false, double at_once = 1) {
  constexpr double warp = 32;
  const auto rows = static_cast<double>(features.rows);
  if (rows == 0) return {};
  const double steps = sum_over_rows(features, [&](double length) { return std::ceil(length / threads / at_once); });
  double waiting = 1;
  if (!sorted && threads < warp) {
    const double rows_of_warp = warp / threads;
    waiting = std::pow(std::max(1.0, features.sliced_ell_padding[1]), std::log(rows_of_warp) / std::log(warp));
  }
  return {.threads = rows * threads,
          .steps = waiting * steps / rows,
          .longest = static_cast<double>(features.npr_max) / threads / at_once};
}

/// As many threads a row as leave each of them `entries` of it, and one at least; no more than a block has.
inline Walk walk_of_shared_rows(const Features& features, double entries) {
  const double threads =
      sum_over_rows(features, [&](double length) { return std::clamp(length / entries, 1.0, most_threads_of_row); });
  const double most = static_cast<double>(features.npr_max) / most_threads_of_row;
  return {.threads = threads,
          .steps = std::min(entries, std::max(1.0, features.npr_mean)),
          .longest = std::max(entries, most)};
}

/// Adds what it takes to sum up rows whose products several threads hold, in shared memory or from lane to lane: steps
/// of all threads, and a wait for the last of them.
inline void add_sums(Walk& walk) {
  walk.steps += 2;
  walk.longest += 10;
}

/// Nonzeros shared out evenly, whatever rows they belong to.
inline Walk walk_of_shares(double nonzeros, double steps) {
  Walk walk{.threads = nonzeros / steps, .steps = steps, .longest = steps};
  add_sums(walk);
  return walk;
}

/// Rows by so many stored diagonals, with a nonzero or without, so many rows a thread, in so many steps each: no
/// diagonal waits for a column before it reads x. What a thread takes by itself is more, as few diagonals are under way
/// together, but where threads fill a quarter of the device or more, they hide it for each other.
inline Walk walk_of_diagonals(const Features& features, double diagonals, std::int64_t rows_of_thread, double step,
                              const Device& device) {
  const auto rows = static_cast<double>(rows_of_thread);
  const double threads = static_cast<double>(features.rows) / rows;
  const double filled = threads / (static_cast<double>(device.multiprocessors) * device.threads_of_multiprocessor);
  return {.threads = threads,
          .steps = step * diagonals * rows,
          .longest = diagonals * (1 + rows) / 2 / (1 + 16 * filled * filled)};
}

}  // namespace autospmv::formats
