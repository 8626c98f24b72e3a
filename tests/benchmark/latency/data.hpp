// What the kernels of the ladder read.
#pragma once

#include <vector_types.h>

#include <algorithm>
#include <span>
#include <vector>

#include "core/machine/array.hpp"
#include "core/machine/device.hpp"
#include "core/verify/random.hpp"

namespace autospmv::latency {

inline constexpr int most_threads = 2112 * 256;

/// Columns and values wrap round, and so are few enough for the L2 whatever the shape.
inline constexpr int slots = 1 << 19;
inline constexpr int cols = 1 << 17;

/// The entries of row r are at [offsets[r], offsets[r + 1]).
struct View {
  int rows;
  const int* offsets;
  const int4* records;   // at p, of row row_ids[p]: {start, length, row, 0}
  const int* row_ids;    // neighbours change places
  const int4* bins;      // of each block: {first block, first position, 0, 0}
  const int* columns;    // neighbours for neighbouring entries
  const int* scattered;  // anywhere
  const double* values;
  const double* x;
  double* y;
  double* partial;
  unsigned* done;
  int no_index;  // what no index and no value is: the compiler cannot know, so it loads what is compared with them
  double no_value;
};

/// Rows of T * `entries` entries, `entries` a thread; a row at which the slots begin anew has none.
class Data {
 public:
  Data(int T, int entries, Place place) : length_(T * entries) {
    const int rows = most_threads / T;
    offsets_.resize(rows + 1);
    for (int row = 0; row <= rows; ++row) offsets_[row] = row % (slots / length_ + 1) * length_;
    std::vector<int> row_ids(rows);
    std::vector<int4> records(rows);
    for (int p = 0; p < rows; ++p) {
      const int row = p ^ 1;
      row_ids[p] = row;
      records[p] = {offsets_[row], std::max(0, offsets_[row + 1] - offsets_[row]), row, 0};
    }
    columns_.resize(slots);
    scattered_.resize(slots);
    values_.resize(slots);
    x_.resize(cols);
    for (int i = 0; i < slots; ++i) {
      constexpr int width = 8;
      columns_[i] = static_cast<int>((i / length_ + random_bits(1, i) % width) % cols);
      scattered_[i] = static_cast<int>(random_bits(2, i) % cols);
      values_[i] = static_cast<double>(random_bits(3, i) % 8) + 1;
    }
    for (int i = 0; i < cols; ++i) x_[i] = static_cast<double>(random_bits(4, i) % 8) + 1;
    device_offsets_ = upload(offsets_, place);
    device_records_ = upload(records, place);
    device_row_ids_ = upload(row_ids, place);
    device_columns_ = upload(columns_, place);
    device_scattered_ = upload(scattered_, place);
    device_values_ = upload(values_, place);
    device_x_ = upload(x_, place);
  }

  [[nodiscard]] View view() const {
    View view{};
    view.offsets = device_offsets_.data();
    view.records = device_records_.data();
    view.row_ids = device_row_ids_.data();
    view.columns = device_columns_.data();
    view.scattered = device_scattered_.data();
    view.values = device_values_.data();
    view.x = device_x_.data();
    view.no_index = -1;
    view.no_value = -1;
    return view;
  }

  /// The sums of the first rows, exact: all are small integers.
  [[nodiscard]] std::vector<double> sums(int rows) const {
    std::vector<double> sums(rows);
    for (int row = 0; row < rows; ++row) {
      for (int k = offsets_[row]; k < offsets_[row + 1]; ++k) sums[row] += values_[k] * x_[columns_[k]];
    }
    return sums;
  }

 private:
  template <class V>
  static Array<V> upload(const std::vector<V>& from, Place place) {
    return Array<V>::copy_of(std::span<const V>(from), place);
  }

  int length_;
  std::vector<int> offsets_;
  std::vector<int> columns_;
  std::vector<int> scattered_;
  std::vector<double> values_;
  std::vector<double> x_;
  Array<int> device_offsets_;
  Array<int4> device_records_;
  Array<int> device_row_ids_;
  Array<int> device_columns_;
  Array<int> device_scattered_;
  Array<double> device_values_;
  Array<double> device_x_;
};

}  // namespace autospmv::latency
