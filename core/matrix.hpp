// The handle through which callers hand over a matrix, and everything that was ever derived from it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "core/csr.hpp"
#include "core/device.hpp"
#include "core/fingerprint.hpp"
#include "core/stream.hpp"
#include "core/types.hpp"

namespace autospmv {

/// Whether a Matrix keeps its own copy of the caller's arrays or relies on them staying where and as they are.
enum class Ownership : std::uint8_t { copy, borrow };

/// Something a higher layer derived from a matrix and keeps with it, such as a plan.
template <class T>
class Attachment {
 public:
  Attachment() = default;
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;
  virtual ~Attachment() = default;

  /// Called before the values are overwritten. An attachment that reads the matrix in a thread of its own does so only
  /// while it holds this mutex itself, and the lock is kept until values_changed() has returned.
  [[nodiscard]] virtual std::unique_lock<std::mutex> hold_values() { return {}; }

  /// Called once for every update of the values, with the matrix in the memory of the attachment's place.
  virtual void values_changed(const CsrView<T>& matrix, Stream stream) = 0;
  [[nodiscard]] virtual Place place() const = 0;
};

/// A sparse matrix with a fixed pattern. Copies of the handle share one matrix; its const members may be called from
/// many threads at once.
template <Scalar T>
class Matrix {
 public:
  /// Takes rows + 1 row offsets, and nnz columns and values, all in host memory or all on one CUDA device, and checks
  /// them once: offsets that start at 0, never decrease and end at nnz, columns in [0, cols), sizes that agree.
  /// Columns may come in any order and more than once. Device arrays are read in the order of `stream`.
  /// Throws InvalidArgument naming the first offence. A borrowing Matrix needs the arrays to outlive it.
  static Matrix from_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int32_t> row_ptr,
                         std::span<const std::int32_t> col_idx, std::span<const T> values,
                         Ownership ownership = Ownership::copy, Stream stream = {});
  static Matrix from_csr(std::int64_t rows, std::int64_t cols, std::span<const std::int64_t> row_ptr,
                         std::span<const std::int32_t> col_idx, std::span<const T> values,
                         Ownership ownership = Ownership::copy, Stream stream = {});

  [[nodiscard]] std::int64_t rows() const;
  [[nodiscard]] std::int64_t cols() const;
  [[nodiscard]] std::int64_t nnz() const;

  /// Where the arrays it was made from live.
  [[nodiscard]] Place home() const;

  /// The matrix in the memory of `place`, copied there on the first call. Valid as long as this matrix.
  [[nodiscard]] CsrView<T> on(Place place) const;

  /// Computed on the first call.
  [[nodiscard]] const Fingerprint& fingerprint() const;

  /// New values for the same pattern, nnz of them, in host or device memory; a borrowing Matrix refers to them from
  /// now on. Every copy and every plan is refreshed, in the order of `stream`, without tuning again. Products that
  /// run at the same time on other streams see old or new values.
  void update_values(std::span<const T> values, Stream stream = {});

  /// What a higher layer attached under this key, or nullptr.
  [[nodiscard]] std::shared_ptr<Attachment<T>> attachment(std::uint64_t key) const;
  void attach(std::uint64_t key, std::shared_ptr<Attachment<T>> attachment) const;
  void detach(std::uint64_t key) const;

 private:
  struct State;
  explicit Matrix(std::shared_ptr<State> state) : state_(std::move(state)) {}

  std::shared_ptr<State> state_;
};

extern template class Matrix<float>;
extern template class Matrix<double>;

}  // namespace autospmv
