// Triplets: the row, the column and the value of every entry, in the order of rows, and their product by segmented
// reduction, whatever the lengths of rows.
//
//   a . b     rows     0 0 1 2 2
//   . c .     columns  0 2 1 0 1
//   d e .     values   a b c d e
//
// On CUDA a warp takes a share of the entries, 32 at a time, and sums those of each row by a segmented scan; a row that
// goes on in the next 32 is carried along, one that goes on in the next share is seen to by
// formats/common/kernels/equal_shares.hpp. On the host a share is walked row by row.
//
// Source: Bell, Garland, "Implementing sparse matrix-vector multiplication on throughput-oriented processors", 2009,
// 4.3.
#pragma once

#include <cstdint>

#include "formats/common/encoding/encoding.hpp"
#include "formats/common/kernels/equal_shares.hpp"

namespace autospmv::formats {

/// Triplets that somebody else owns.
template <class T>
struct Triplets {
  const std::int32_t* rows = nullptr;
  const std::int32_t* columns = nullptr;
  const T* values = nullptr;  ///< where they are not encoded
  const EncodedValues<T>* encoded = nullptr;
  std::int64_t entries = 0;
  CachePolicy policy{};  ///< CUDA
};

/// Calls body(reader) with the reader of their values.
template <class T, class Body>
void with_values(const Triplets<T>& triplets, const Body& body) {
  if (triplets.encoded->bits == full_value_bits<T>) return body(FullValues<T>{triplets.values});
  with_values(*triplets.encoded, body);
}

/// y = alpha A x + beta y for all rows, in so many equal shares, at most host::most_shares.
template <class T>
void multiply_triplets_host(const Triplets<T>& triplets, std::int64_t rows, int shares, T alpha, const T* x, T beta,
                            T* y);

/// The same in these shares of the entries; `block` threads a block.
template <class T>
void multiply_triplets_cuda(const Triplets<T>& triplets, const EqualShares<T>& shares, int block, T alpha, const T* x,
                            T beta, T* y, Stream stream);

}  // namespace autospmv::formats
