// The arrays of a matrix, wherever they are needed, and who follows their values.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <utility>
#include <vector>

#include "autospmv/matrix.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/access.hpp"
#include "core/matrix/attachments.hpp"
#include "core/matrix/csr.hpp"
#include "core/matrix/fingerprint.hpp"
#include "core/matrix/values_observer.hpp"
#include "core/types.hpp"

namespace autospmv {

/// What a Matrix and its plans share. Its members may be called from many threads at once.
template <class T>
class MatrixData {
 public:
  /// As Matrix::from_csr.
  template <class Offset, class Column>
  MatrixData(std::int64_t rows, std::int64_t cols, std::span<const Offset> row_ptr, std::span<const Column> col_idx,
             std::span<const T> values, Ownership ownership, Stream stream);

  [[nodiscard]] std::int64_t rows() const { return arrays_.view.rows; }
  [[nodiscard]] std::int64_t cols() const { return arrays_.view.cols; }
  [[nodiscard]] std::int64_t nnz() const { return arrays_.view.nnz; }
  [[nodiscard]] Place home() const { return home_; }

  /// The matrix in the memory of `place`, copied there on the first call. Its pattern is valid as long as this; its
  /// values on the host until the next update.
  [[nodiscard]] CsrView<T> on(Place place) const;

  /// Computed on the first call.
  [[nodiscard]] const Fingerprint& fingerprint() const;

  /// While it is held, values stay as they are: for those who read them otherwise than by products.
  [[nodiscard]] std::shared_lock<std::shared_mutex> hold_values() const { return std::shared_lock(updating_); }

  /// To be told of updates from now on. Called with the values held that the observer was made from.
  void add_observer(std::weak_ptr<ValuesObserver<T>> observer) const;

  /// As Matrix::update_values.
  void update_values(std::span<const T> values, Stream stream);

 private:
  // A copy of the matrix in one memory, as far as this library owns it.
  struct Arrays {
    Array<std::int32_t> narrow_offsets;
    Array<std::int64_t> wide_offsets;
    Array<std::int32_t> col_idx;
    Array<T> values;
    Array<T> spare_values;  // host: where the next values go, while products read the present ones
    CsrView<T> view;        // into these arrays, or into the caller's
  };
  using Observers = std::vector<std::shared_ptr<ValuesObserver<T>>>;
  class Update;

  void keep_offsets(std::span<const std::int32_t> row_ptr);
  void keep_offsets(std::span<const std::int64_t> row_ptr);
  void keep_columns(std::span<const std::int32_t> col_idx);
  void keep_columns(std::span<const std::int64_t> col_idx);
  [[nodiscard]] static Arrays mirror(const CsrView<T>& source, Place place);
  [[nodiscard]] Observers living_observers() const;

  Place home_;
  Ownership ownership_ = Ownership::copy;

  mutable std::shared_mutex updating_;  // shared by readers of values; held alone by an update
  Arrays arrays_;

  mutable std::mutex mutex_;               // guards everything below
  mutable std::map<int, Arrays> on_cuda_;  // copies, by ordinal
  mutable std::optional<Arrays> on_host_;
  mutable std::optional<Fingerprint> fingerprint_;
  mutable std::vector<std::weak_ptr<ValuesObserver<T>>> observers_;
};

extern template class MatrixData<float>;
extern template class MatrixData<double>;

namespace detail {

template <class T>
struct MatrixState {
  std::shared_ptr<MatrixData<T>> data;
  /// Plans that the matrix keeps, each for a context.
  std::shared_ptr<Attachments> plans = std::make_shared<Attachments>();
};

}  // namespace detail

/// What a handle stands for.
template <Scalar T>
MatrixData<T>& data_of(const Matrix<T>& matrix) {
  return *detail::Access::state_of(matrix)->data;
}

}  // namespace autospmv
