// The handle through which callers hand over a matrix.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "autospmv/export.h"
#include "autospmv/stream.hpp"
#include "autospmv/types.hpp"

namespace autospmv {

namespace detail {
template <class T>
struct MatrixState;
struct Access;
}  // namespace detail

/// Whether a Matrix keeps its own copy of the caller's arrays or relies on them staying where and as they are.
enum class Ownership : std::uint8_t { copy, borrow };

/// A sparse matrix with a fixed pattern, rows x cols with nnz stored entries, of T = float or double. A handle: copies
/// share one matrix, which may be used from many threads at once.
template <Scalar T>
class AUTOSPMV_API Matrix {
 public:
  /// Takes rows + 1 row offsets, and nnz columns and values, all in host memory or all on one CUDA device, and checks
  /// them once: offsets that start at 0, never decrease and end at nnz, columns in [0, cols), sizes that agree.
  /// Columns may come in any order and more than once; repeated ones add up. rows and cols are at most 2^31 - 1, nnz
  /// may be more. Device arrays are read in the order of `stream`. Throws InvalidArgument naming the first offence, and
  /// OutOfMemory.
  ///
  /// A borrowing Matrix needs the arrays until it and all of its plans are gone. 64-bit offsets and columns are
  /// narrowed where they can be, and then copied even so.
  static Matrix from_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int32_t> row_ptr,
                         std::span<const std::int32_t> col_idx, std::span<const T> values,
                         Ownership ownership = Ownership::copy, Stream stream = {});
  static Matrix from_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_ptr,
                         std::span<const std::int32_t> col_idx, std::span<const T> values,
                         Ownership ownership = Ownership::copy, Stream stream = {});
  static Matrix from_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_ptr,
                         std::span<const std::int64_t> col_idx, std::span<const T> values,
                         Ownership ownership = Ownership::copy, Stream stream = {});
  static Matrix from_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int32_t> row_ptr,
                         std::span<const std::int64_t> col_idx, std::span<const T> values,
                         Ownership ownership = Ownership::copy, Stream stream = {});

  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] std::int64_t cols() const;
  [[nodiscard]] std::int64_t nnz() const;

  /// Where the arrays it was made from live.
  [[nodiscard]] Place home() const;

  /// New values for the same pattern, nnz of them in the order of the CSR arrays, in host or device memory. Every copy
  /// of this handle and every plan has them, without tuning again; plans that are just being made are waited for. An
  /// update that throws leaves the old values everywhere.
  ///
  /// On the host a product sees the old values or the new ones, whole, whichever thread it runs on; one that starts
  /// after this has returned sees the new ones. On a device the update is work in the order of `stream`, in place, and
  /// what other streams do meanwhile is for the caller to order. Graphs that were captured before replay with the new
  /// values.
  ///
  /// Values that no longer fit how a plan stores them (in fewer bits, as one of two symmetric halves) move the plan to
  /// storage that takes them; where products on a device were captured, which would not follow, that is refused.
  ///
  /// A borrowing Matrix refers to `values` from now on. On the host nothing reads the former array any more when this
  /// returns; on a device the array must be the one that it borrows already.
  ///
  /// Throws InvalidArgument for a wrong number of values and for what is refused, OutOfMemory, DeviceError.
  void update_values(std::span<const T> values, Stream stream = {});

 private:
  friend detail::Access;
  explicit Matrix(std::shared_ptr<detail::MatrixState<T>> state) : state_(std::move(state)) {}

  std::shared_ptr<detail::MatrixState<T>> state_;
};

extern template class AUTOSPMV_API Matrix<float>;
extern template class AUTOSPMV_API Matrix<double>;

}  // namespace autospmv
