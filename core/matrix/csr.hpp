// Compressed sparse rows, as seen by whoever reads a matrix.
#pragma once

#include <cstdint>
#include <limits>
#include <variant>

namespace autospmv {

/// rows + 1 offsets into col_idx and values; 64-bit ones are for matrices of 2^31 nonzeros and more.
using RowOffsets = std::variant<const std::int32_t*, const std::int64_t*>;

/// Calls body(offsets) with the pointer to them, of whichever width.
template <class Body>
decltype(auto) with_offsets(const RowOffsets& row_ptr, const Body& body) {
  return std::visit(body, row_ptr);
}

/// The largest number of nonzeros that 32-bit row offsets can count.
inline constexpr std::int64_t max_narrow_nnz = std::numeric_limits<std::int32_t>::max();

/// A matrix somebody else owns, all three arrays in the same memory. The row offsets start at 0, never decrease and
/// end at nnz; columns lie in [0, cols), in any order within a row, repeated ones adding up.
template <class T>
struct CsrView {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  RowOffsets row_ptr = static_cast<const std::int32_t*>(nullptr);
  const std::int32_t* col_idx = nullptr;
  const T* values = nullptr;

  [[nodiscard]] bool wide() const { return row_ptr.index() == 1; }

  /// Bytes of the three arrays: what a product by plain CSR reads of the matrix.
  [[nodiscard]] std::int64_t bytes() const {
    const std::int64_t offset_bytes = wide() ? 8 : 4;
    return (rows + 1) * offset_bytes + nnz * static_cast<std::int64_t>(sizeof(std::int32_t) + sizeof(T));
  }
};

}  // namespace autospmv
