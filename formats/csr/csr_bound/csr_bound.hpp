// csr_bound: CSR cut into fragments of equally many nonzeros, a block of threads each, whatever the rows. Bound holds
// the first and the last row of every fragment. A block multiplies its nonzeros into shared memory and then adds up the
// products of each row.
//
//   fragment = 4     row_ptr  0 3 3 6 7      Bound  (0, 2)      row 2 goes on from fragment 0 into fragment 1
//   (512 to 4096)    a b c d | e f g                (2, 3)
//                    0 0 0 2 | 2 2 3
//
// Empty rows belong to the fragment whose nonzeros they stand among, so that the fragments share out all rows. Of a row
// that goes on into other fragments,
//   merge = 1   each block leaves its part in scratch memory, and a second kernel adds them up: the paper's way;
//   merge = 0   the block in whose fragment it begins adds up all of it, and the others leave it out: one kernel and no
//               scratch, for rows that are not much longer than a fragment. So does the host.
// T = 16 threads add up a row in the paper; with T = 0 each block chooses, by how many rows it has.
// Source: Yin, Zhang, Xu, Hu, He, "Optimizing sparse matrix-vector multiplication based on GPU", 2012, 5.2 and tables V
// and VI: CSR-B, with fragments of 1024. There the sums of the first and the last row of a fragment always go through
// the second kernel, here only those of rows that lie in several fragments.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/machine/array.hpp"
#include "core/machine/device.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "core/search.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::csr_bound {

struct alignas(8) Bound {
  std::int32_t first = 0;
  std::int32_t last = 0;
};

/// At least one, so that there is one to write empty rows.
inline std::int64_t count_fragments(std::int64_t nnz, std::int64_t length) {
  return std::max<std::int64_t>(1, (nnz + length - 1) / length);
}

/// The rows of a fragment of a matrix that has rows.
template <class Offset>
AUTOSPMV_HD Bound bound_of(const Offset* row_ptr, std::int64_t rows, std::int64_t fragments, std::int64_t length,
                           std::int64_t fragment) {
  // The first row that begins in the fragment or after it.
  const auto first_from = [&](std::int64_t at) {
    if (at == 0) return std::int64_t{0};
    if (at == fragments) return rows;
    return partition_point(std::int64_t{0}, rows, [&](std::int64_t row) { return row_ptr[row] < at * length; });
  };
  const std::int64_t first = first_from(fragment);
  const bool begun = row_ptr[first] > fragment * length;
  return {static_cast<std::int32_t>(begun ? first - 1 : first),
          static_cast<std::int32_t>(first_from(fragment + 1) - 1)};
}

/// Bound as the products read it.
struct Bounds {
  const Bound* rows = nullptr;
  std::int64_t fragments = 1;
  int length = 1024;  ///< nonzeros a fragment

  /// The first row of the fragment began in one before it.
  [[nodiscard]] AUTOSPMV_HD bool begun_before(std::int64_t fragment) const {
    return fragment > 0 && rows[fragment - 1].last == rows[fragment].first;
  }
  /// The last row of the fragment goes on into the next.
  [[nodiscard]] AUTOSPMV_HD bool goes_on(std::int64_t fragment) const {
    return fragment + 1 < fragments && rows[fragment].last == rows[fragment + 1].first;
  }
};

struct Shape {
  int length = 1024;   ///< nonzeros a fragment
  bool merge = false;  ///< CUDA: rows in several fragments are added up by a second kernel
  int threads = 0;     ///< CUDA: that add up a row, a power of two up to 32; 0: by the number of rows
  int block = 256;     ///< CUDA: threads a fragment
};

namespace device {
/// An operator that refers to the arrays of the matrix and owns Bound. Waits for nothing.
template <class T>
std::unique_ptr<Operator<T>> make_operator(const CsrView<T>& matrix, const Shape& shape, Place place, Stream stream);
}  // namespace device

}  // namespace autospmv::formats::csr_bound
