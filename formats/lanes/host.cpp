#include <algorithm>
#include <cstring>

#include "core/machine/parallel.hpp"
#include "formats/common/host/pack.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/lanes/convert.hpp"

namespace autospmv::formats::host {

namespace {

// The lanes [first, last) of a group that work for one row.
struct RowLanes {
  std::int32_t row;
  int first;
  int last;

  [[nodiscard]] int count() const { return last - first; }
};

AUTOSPMV_INLINE RowLanes row_lanes_from(const std::int32_t* rows, int lane) {
  RowLanes found{rows[lane], lane, lane + 1};
  while (found.last < group_lanes && rows[found.last] == found.row) ++found.last;
  return found;
}

// The chunks of a group.
template <class T>
struct Group {
  const T* values;
  const std::int32_t* columns;
  std::int64_t chunks;

  [[nodiscard]] AUTOSPMV_INLINE bool padded(std::int64_t chunk) const {
    std::int32_t signs = 0;
    for (int lane = 0; lane < group_lanes; ++lane) signs |= columns[chunk * group_lanes + lane];
    return signs < 0;
  }

  // Chunks without padding. They come first, and where rows are alike few others follow.
  [[nodiscard]] AUTOSPMV_INLINE std::int64_t full_chunks() const {
    std::int64_t full = chunks;
    while (full > 0 && padded(full - 1)) --full;
    return full;
  }

  AUTOSPMV_INLINE void add_full(std::int64_t full, const T* x, T* sum) const {
    constexpr int packs = group_lanes / Pack<T>::size;
    typename Pack<T>::Vector sums[packs] = {};
    for (std::int64_t chunk = 0; chunk < full; ++chunk) {
      for (int p = 0; p < packs; ++p) {
        const auto slot = chunk * group_lanes + p * Pack<T>::size;
        Pack<T> value;
        Pack<T> element;
        value.load(values + slot);
        element.gather(x, columns + slot);
        sums[p] += value.elements * element.elements;
      }
    }
    std::memcpy(sum, sums, sizeof sums);
  }

  AUTOSPMV_INLINE void add_padded(std::int64_t full, const T* x, T* sum) const {
    for (auto slot = full * group_lanes; slot < chunks * group_lanes; ++slot) {
      if (columns[slot] >= 0) sum[slot % group_lanes] += values[slot] * x[columns[slot]];
    }
  }
};

template <class T>
AUTOSPMV_INLINE void multiply_group(const WarpEll<T>& ell, std::int64_t group, T alpha, const T* x, T beta, T* y) {
  const std::int64_t start = ell.group_chunks[static_cast<std::size_t>(group)];
  const Group<T> of{ell.values.full.data() + start * group_lanes, ell.columns.full.data() + start * group_lanes,
                    ell.group_chunks[static_cast<std::size_t>(group) + 1] - start};
  T sum[group_lanes];
  const auto full = of.full_chunks();
  of.add_full(full, x, sum);
  of.add_padded(full, x, sum);
  const std::int32_t* rows = ell.row_of_lane.data() + group * group_lanes;
  for (int lane = 0; lane < group_lanes;) {
    const auto lanes = row_lanes_from(rows, lane);
    lane = lanes.last;
    if (lanes.row < 0) continue;
    T total = sum[lanes.first];
    for (int other = lanes.first + 1; other < lanes.last; ++other) total += sum[other];
    y[lanes.row] = beta == T{0} ? alpha * total : alpha * total + beta * y[lanes.row];
  }
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_VERSIONS(T)                                                                                         \
  AUTOSPMV_MULTIVERSION_SCALAR void groups_version(const WarpEll<T>& ell, Share groups, T alpha, const T* x, T beta, \
                                                   T* y) {                                                           \
    for (auto group = groups.first; group < groups.last; ++group) multiply_group(ell, group, alpha, x, beta, y);     \
  }
AUTOSPMV_VERSIONS(float)
AUTOSPMV_VERSIONS(double)
#undef AUTOSPMV_VERSIONS

template <class T, class Offset>
void fill_group(const CsrView<T>& matrix, const Offset* row_ptr, std::int64_t group, const WarpEll<T>& ell,
                Array<std::int32_t>& columns, Array<T>& values) {
  const std::int64_t start = ell.group_chunks[static_cast<std::size_t>(group)];
  const std::int64_t chunks = ell.group_chunks[static_cast<std::size_t>(group) + 1] - start;
  const std::int32_t* rows = ell.row_of_lane.data() + group * group_lanes;
  for (int lane = 0; lane < group_lanes;) {
    const auto lanes = row_lanes_from(rows, lane);
    lane = lanes.last;
    const std::int64_t first = lanes.row >= 0 ? static_cast<std::int64_t>(row_ptr[lanes.row]) : 0;
    const std::int64_t length = lanes.row >= 0 ? row_length(row_ptr, lanes.row) : 0;
    for (std::int64_t k = 0; k < chunks * lanes.count(); ++k) {
      const auto slot =
          static_cast<std::size_t>((start + k / lanes.count()) * group_lanes + lanes.first + k % lanes.count());
      if (!columns.empty()) columns[slot] = k < length ? matrix.col_idx[first + k] : -1;
      values[slot] = k < length ? matrix.values[first + k] : T{0};
    }
  }
}

}  // namespace

template <class T>
void find_classes(const CsrView<T>& matrix, const Array<std::int32_t>& order, ClassTable& table) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    const auto rows = order.span();
    const auto length_at = [&](std::int32_t row) { return row_length(row_ptr, row); };
    for (int at = 0; at < table.classes.count; ++at) {
      // Longer rows come first, and theirs are the classes before.
      const auto first = std::partition_point(
          rows.begin(), rows.end(), [&](std::int32_t row) { return table.classes.class_of(length_at(row)) < at; });
      table.first_row[at] = first - rows.begin();
    }
    table.first_row[table.classes.count] = matrix.rows;
    table.longest = rows.empty() ? 0 : length_at(rows.front());
  });
}

template <class T>
void assign_lanes(const CsrView<T>& matrix, const Array<std::int32_t>& order, const ClassTable& table,
                  WarpEll<T>& ell) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_for(
        ell.groups,
        [&](std::int64_t group) {
          std::int32_t* rows = ell.row_of_lane.data() + group * group_lanes;
          for (int lane = 0; lane < group_lanes; ++lane) {
            const auto position = table.position_of(group, lane);
            rows[lane] = position >= 0 ? order[static_cast<std::size_t>(position)] : -1;
          }
          // The first row of a group is its longest.
          const std::int64_t lanes = table.classes.lanes[table.class_of_group(group)];
          ell.group_chunks[static_cast<std::size_t>(group)] =
              static_cast<std::int32_t>((row_length(row_ptr, rows[0]) + lanes - 1) / lanes);
        },
        group_lanes);
  });
}

template <class T>
void fill(const CsrView<T>& matrix, const WarpEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for_each_share(
        ell.group_chunks.data(), ell.groups,
        [&](Share groups) {
          for (auto group = groups.first; group < groups.last; ++group) {
            fill_group(matrix, row_ptr, group, ell, columns, values);
          }
        },
        group_lanes);
  });
}

template <class T>
void multiply(const WarpEll<T>& ell, T alpha, const T* x, T beta, T* y) {
  for_each_share(
      ell.group_chunks.data(), ell.groups, [&](Share groups) { groups_version(ell, groups, alpha, x, beta, y); },
      group_lanes);
}

#define AUTOSPMV_WARP_ELL(T)                                                                                 \
  template void find_classes(const CsrView<T>&, const Array<std::int32_t>&, ClassTable&);                    \
  template void assign_lanes(const CsrView<T>&, const Array<std::int32_t>&, const ClassTable&, WarpEll<T>&); \
  template void fill(const CsrView<T>&, const WarpEll<T>&, Array<std::int32_t>&, Array<T>&);                 \
  template void multiply(const WarpEll<T>&, T, const T*, T, T*);
AUTOSPMV_WARP_ELL(float)
AUTOSPMV_WARP_ELL(double)
#undef AUTOSPMV_WARP_ELL

}  // namespace autospmv::formats::host
