// Columns renumbered by how often they occur, for graphs in which a few columns have most of the nonzeros. The elements
// of x that are read most then lie together: each line of a cache that holds one of them holds others, and they stay.
// Columns that never occur get no number.
//
//   occurrences  a 1  b 5  c 0  d 1  e 3        order  b e a d        x' = x_b x_e x_a x_d
//
// A product brings x into that order first, in a kernel of its own, and reads x' by the new columns. x' is scratch
// (scratch.hpp). Any format over the nonzeros of CSR, in whatever order, can take the columns in place of its own.
#pragma once

#include <cstdint>

#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "features/features.hpp"

namespace autospmv::formats {

template <class T>
class HubColumns {
 public:
  HubColumns() = default;

  /// Renumbers. Works on the stream, and waits for it.
  HubColumns(const CsrView<T>& matrix, Place place, Stream stream);

  /// The new columns of the matrix's nonzeros.
  [[nodiscard]] const std::int32_t* columns() const { return columns_.data(); }

  /// Room for x'.
  [[nodiscard]] Array<T> make_x() const { return Array<T>(order_.size(), order_.place()); }

  /// Writes x', in the order of the stream.
  void reorder(const T* x, Array<T>& reordered, Stream stream) const;

  /// The old number of each new column.
  [[nodiscard]] const Array<std::int32_t>& order() const { return order_; }

  [[nodiscard]] std::int64_t bytes() const { return columns_.bytes() + order_.bytes(); }

 private:
  Array<std::int32_t> columns_;
  Array<std::int32_t> order_;
};

/// What they allocate at most.
template <class T>
double hub_storage_bytes(const Features& features) {
  return static_cast<double>(features.nnz) * 4 + static_cast<double>(features.cols) * (4 + sizeof(T));
}

/// What bringing x into order moves at most, beside x itself.
template <class T>
double hub_traffic_bytes(const Features& features) {
  return static_cast<double>(features.cols) * (4 + sizeof(T));
}

/// Whether they are worth trying. Of columns the features say little: where rows have a long tail, more than a few of
/// them, and no group of rows keeps to its part of the columns, as in power-law graphs, columns are taken to be like
/// the rows.
template <class T>
bool hub_columns_may_pay(const Features& features) {
  static_assert(npr_percentiles.back() == 99);
  constexpr double near_cache_bytes = 256 << 10;  // the first level of a multiprocessor, about the second of a core
  const auto cols = static_cast<double>(features.cols);
  const bool skewed = static_cast<double>(features.npr_percentile.back()) > 4 * features.npr_mean;
  const bool scattered = features.slice_span_mean > cols / 8;
  return skewed && scattered && cols * sizeof(T) > near_cache_bytes;
}

namespace host {
/// The columns that occur, the most frequent first; those that occur alike keep their order.
Array<std::int32_t> columns_by_count(const std::int32_t* columns, std::int64_t nnz, std::int64_t cols);
/// Every column's place in that order.
Array<std::int32_t> renumber(const std::int32_t* columns, std::int64_t nnz, std::int64_t cols,
                             const Array<std::int32_t>& order);
}  // namespace host

namespace device {
/// The same; columns that occur 2^16 - 1 times or more are taken to occur alike. Waits for the stream.
Array<std::int32_t> columns_by_count(const std::int32_t* columns, std::int64_t nnz, std::int64_t cols, Place place,
                                     Stream stream);
Array<std::int32_t> renumber(const std::int32_t* columns, std::int64_t nnz, std::int64_t cols,
                             const Array<std::int32_t>& order, Stream stream);
}  // namespace device

}  // namespace autospmv::formats
