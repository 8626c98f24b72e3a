#include "formats/binned/suraa/segments.hpp"

#include <algorithm>
#include <cmath>

namespace autospmv::formats::suraa {

namespace {

// The shortest length that a bin of fine_floors() has: the only one below exact_lengths.
std::int64_t length_of(const std::vector<std::int64_t>& floors, std::size_t bin) { return floors[bin] + 1; }

std::int64_t length_at(const RowBins& rows, const std::vector<std::int64_t>& floors, std::int64_t position) {
  const auto after = std::upper_bound(rows.first.begin(), rows.first.end(), position);
  return length_of(floors, static_cast<std::size_t>(after - rows.first.begin()) - 1);
}

// Neighbouring bins with the same label, put together, for those bins whose length is in the given range.
struct Group {
  std::int64_t first;
  std::int64_t last;
  double nonzeros;

  [[nodiscard]] std::int64_t mean() const {
    return static_cast<std::int64_t>(nonzeros / static_cast<double>(std::max<std::int64_t>(1, last - first)));
  }
};

// Of the rows from position `from` on, at the beginning of a bin.
template <class Label>
std::vector<Group> group(const RowBins& rows, const std::vector<std::int64_t>& floors, std::int64_t from,
                         std::int64_t shortest, std::int64_t longest, const Label& label_of) {
  std::vector<Group> groups;
  std::int64_t label = -1;
  for (std::size_t bin = 0; bin < floors.size(); ++bin) {
    const auto length = length_of(floors, bin);
    const auto count = rows.first[bin + 1] - rows.first[bin];
    if (count == 0 || rows.first[bin] < from || length < shortest || length > longest) continue;
    if (groups.empty() || label_of(length) != label) groups.push_back({rows.first[bin], rows.first[bin], 0});
    label = label_of(length);
    groups.back().last += count;
    groups.back().nonzeros += static_cast<double>(count) * static_cast<double>(length);
  }
  return groups;
}

// By multiples of the width.
auto interval_of(double width) {
  return [width](std::int64_t length) { return static_cast<std::int64_t>(static_cast<double>(length) / width); };
}

RowBin bin_of_group(const Group& one, int log_threads) {
  return {.first = one.first, .last = one.last, .log_threads = log_threads};
}

}  // namespace

double interval_width(const RowBins& rows) {
  const auto count = rows.first.back();
  if (count == 0) return 1;
  const auto floors = fine_floors();
  const auto range = length_at(rows, floors, count / 4) - length_at(rows, floors, count * 3 / 4);
  return std::max(1.0, 2.0 * static_cast<double>(range) / std::cbrt(static_cast<double>(count)));
}

std::int64_t rows_of_children(const RowBins& rows, double width, std::int64_t most) {
  const auto floors = fine_floors();
  std::int64_t end = 0;
  for (const auto& one : group(rows, floors, 0, 0, floors.front() + 1, interval_of(width))) {
    if (one.last > most || one.mean() < warp_row) break;
    end = one.last;
  }
  return end;
}

std::vector<RowBin> segments_of(const RowBins& rows, const ThreadRule& rule, double width, std::int64_t children) {
  const auto floors = fine_floors();
  constexpr int log_warp = 5;
  constexpr int log_most_vector = 7;
  const auto longest = floors.front() + 1;
  std::vector<RowBin> bins;
  const auto threads_of = [&](std::int64_t length) { return rule.log_threads_of(length); };
  if (children > 0) {
    bins.push_back({.first = 0, .last = children, .log_threads = threads_of(length_at(rows, floors, children - 1))});
  }
  for (const auto& one : group(rows, floors, children, long_row + 1, longest, threads_of)) {
    bins.push_back(bin_of_group(one, threads_of(one.mean())));
  }
  const auto most = BinTable::most - bins.size();
  std::vector<Group> segments;
  for (;; width *= 2) {
    segments = group(rows, floors, children, 0, long_row, interval_of(width));
    if (segments.size() <= most) break;
  }
  for (const auto& one : segments) {
    const int log_vector = std::clamp(threads_of(one.mean()), log_warp, log_most_vector);
    bins.push_back(bin_of_group(one, one.mean() < warp_row ? 0 : log_vector));
  }
  return bins;
}

}  // namespace autospmv::formats::suraa
