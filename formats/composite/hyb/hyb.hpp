// hyb: the first K entries of every row in ELLPACK, the rest in coordinates. Typical rows pay no padding for the few
// long ones, and the long ones are spread over the whole device by a segmented sum.
//
//   K = 2    a b          ELL: a d e | b . f        COO: (2, 2, g)
//            d
//            e f g
//
// The regular part is the sliced core with a single slice cut off at K. It writes every row of y; the rest, the
// triplets of formats/triplets/storage.hpp, adds to it. Source: Bell, Garland, "Implementing sparse matrix-vector
// multiplication on throughput-oriented processors", 2009, 3.4 and 4.4.
#pragma once

#include <cstdint>

#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/kernels/equal_shares.hpp"
#include "formats/sliced/storage.hpp"
#include "formats/triplets/storage.hpp"

namespace autospmv::formats::hyb {

/// The entries past the first K of their rows, sorted by row; on CUDA also their shares.
template <class T>
struct CooRest {
  Array<std::int64_t> first_of_row;  ///< rows + 1 offsets into the entries; only conversion reads it
  Array<std::int32_t> rows;
  Array<std::int32_t> columns;
  EncodedValues<T> values;
  EqualShares<T> shares;

  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(columns.size()); }
  [[nodiscard]] Triplets<T> triplets() const {
    return {rows.data(), columns.data(), values.full.data(), &values, entries()};
  }
  [[nodiscard]] std::int64_t bytes() const {
    return first_of_row.bytes() + rows.bytes() + columns.bytes() + values.bytes() + shares.bytes();
  }
};

namespace host {
/// Sets first_of_row and returns the number of entries.
template <class T>
std::int64_t count(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest);
/// Writes rows, columns and values, not encoded.
template <class T>
void fill(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest, Array<T>& values);
}  // namespace host

namespace device {
template <class T>
std::int64_t count(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest, Place place, Stream stream);
template <class T>
void fill(const CsrView<T>& matrix, std::int64_t width, CooRest<T>& rest, Array<T>& values, Stream stream);
}  // namespace device

}  // namespace autospmv::formats::hyb
