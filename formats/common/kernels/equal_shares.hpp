// Nonzeros cut in shares of about equal size, whatever rows they belong to, and what becomes of rows that several
// shares have a part of, or none.
//
//   rows         0 0 1 1 1 1 1 1 1 3 3 3        share = 4
//   shares       0 0 1 1|1 1 1 1|1 3 3 3        continued   -1 1 1 -1
//
// A share stores the sums of rows that begin in it. Row 1 goes on in shares 1 and 2 (`continued`), whose parts of it
// are carries; row 2 is empty and belongs to no share, so it is listed. Carries are added by atomics, to rows that were
// multiplied by beta before; or they are written down, one a share, and added in their order when all are there: the
// same bits every time.
//
// Where the order of nonzeros allows it, a share ends with the row that it would cut in two, unless that row is longer
// than a share: then only long rows have carries, and where there are none a product is one kernel.
#pragma once

#include <cstdint>
#include <memory>

#include "core/machine/array.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "core/search.hpp"
#include "formats/common/streams/scratch.hpp"

namespace autospmv::formats {

/// How carries reach y. The values are those of the parameter "fixup".
enum class Fixup {
  atomics = 1,     ///< not deterministic; two kernels unless beta is 1
  kernel = 2,      ///< by a second kernel
  last_block = 3,  ///< by that block of the one kernel which is done last
};

struct Cut {
  std::int64_t share = 0;  ///< nonzeros
  bool at_row_ends = false;
  bool all_rows = true;  ///< of y are written; otherwise it is added to those that have nonzeros, and beta is 1
  Fixup fixup = Fixup::atomics;
};

/// Where a share begins, and the row that goes on there; -1 where one begins.
struct ShareStart {
  std::int64_t nonzero = 0;
  std::int32_t continued = -1;
};

/// Of share `index`; past the last of them, where it ends.
template <class Offset>
AUTOSPMV_HD inline ShareStart start_of_share(const Offset* row_ptr, std::int64_t rows, std::int64_t nnz, const Cut& cut,
                                             std::int64_t index) {
  const std::int64_t nonzero = index * cut.share;
  if (nonzero >= nnz) return {nnz, -1};
  const std::int64_t row = part_of(row_ptr, rows, nonzero);
  const auto first = static_cast<std::int64_t>(row_ptr[row]);
  const auto last = static_cast<std::int64_t>(row_ptr[row + 1]);
  if (first == nonzero) return {nonzero, -1};
  if (cut.at_row_ends && last - first <= cut.share) return {last, -1};
  return {nonzero, static_cast<std::int32_t>(row)};
}

/// CUDA: the carries of a product, where they are written down.
template <class T>
struct Carries {
  Array<T> sums;                     ///< one a share
  Array<std::uint32_t> blocks_done;  ///< one counter, 0 between products

  [[nodiscard]] std::int64_t bytes() const { return sums.bytes() + blocks_done.bytes(); }
};

/// CUDA: the shares of a matrix, and room for their carries.
template <class T>
struct EqualShares {
  Cut cut;
  std::int64_t count = 0;
  Array<std::int64_t> starts;     ///< count + 1 nonzeros, where shares end with rows
  Array<std::int32_t> continued;  ///< count + 1: the row that goes on where a share begins, or -1
  Array<std::int32_t> crossing;   ///< for every row that is continued, the first share it goes on in
  Array<std::int32_t> empty_rows;
  std::unique_ptr<Scratch<Carries<T>>> carries;  ///< none where they are added by atomics, or there are none

  [[nodiscard]] std::int64_t bytes() const {
    return starts.bytes() + continued.bytes() + crossing.bytes() + empty_rows.bytes() +
           (carries ? carries->bytes() : 0);
  }
};

/// What `bytes` of it will be, empty rows not among them.
template <class T>
double equal_shares_bytes(const Cut& cut, std::int64_t nnz) {
  const double shares = static_cast<double>(nnz) / static_cast<double>(cut.share) + 1;
  return shares * (4.0 + (cut.at_row_ends ? 8 : 0) + (cut.fixup == Fixup::atomics ? 0 : sizeof(T)));
}

namespace device {

/// Cuts the nonzeros of these rows. Waits for the stream.
template <class T>
EqualShares<T> cut_equally(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, const Cut& cut, Place place,
                           Stream stream);

/// The rows without entries, or those with some, in order. Waits for the stream.
Array<std::int32_t> find_rows(RowOffsets row_ptr, std::int64_t rows, bool empty, Place place, Stream stream);

}  // namespace device

}  // namespace autospmv::formats
