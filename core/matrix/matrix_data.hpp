// The arrays of a matrix, wherever they are needed, and who follows their values.
#pragma once

#include <atomic>
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
#include "autospmv/options.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/access.hpp"
#include "core/matrix/attachments.hpp"
#include "core/matrix/csr.hpp"
#include "core/matrix/fingerprint.hpp"
#include "core/matrix/values_observer.hpp"
#include "core/types.hpp"

namespace autospmv {

/// Where a matrix lies whose arrays are such: managed memory on the device that it was allocated for.
Place place_of(const void* data);

/// What a Matrix and its plans share. Its members may be called from many threads at once.
template <class T>
class MatrixData {
 public:
  /// As Matrix::from_csr.
  template <class Offset, class Column>
  MatrixData(std::int64_t rows, std::int64_t cols, std::span<const Offset> row_ptr, std::span<const Column> col_idx,
             std::span<const T> values, Ownership ownership, Stream stream);

  /// Whether the process has made any of this type so far.
  [[nodiscard]] static bool exists() { return made_.load(std::memory_order_relaxed); }

  /// The matrix transposed, in the memory of `place`, where it is made of the matrix's copy by the first call. It has
  /// values of its own, which follow every update; the pattern is the matrix's where that is symmetric. Lives as long
  /// as somebody keeps it, and is no matrix to transpose or to update again. Throws Unsupported for 2^32 nonzeros and
  /// more.
  [[nodiscard]] static std::shared_ptr<const MatrixData> transposed(const std::shared_ptr<const MatrixData>& matrix,
                                                                    Place place);
  /// That of `matrix`, whose values are held meanwhile: see transposed().
  MatrixData(std::shared_ptr<const MatrixData> matrix, Place place);
  /// What became of the caller's matrix here.
  [[nodiscard]] Operation operation() const { return original_ ? Operation::transposed : Operation::plain; }
  [[nodiscard]] const MatrixData& original() const { return original_ ? *original_ : *this; }
  /// Whether it is another pattern than the caller's.
  [[nodiscard]] bool has_own_pattern() const { return !original_ || arrays_.owns_offsets(); }

  [[nodiscard]] std::int64_t rows() const { return arrays_.view.rows; }
  [[nodiscard]] std::int64_t cols() const { return arrays_.view.cols; }
  [[nodiscard]] std::int64_t nnz() const { return arrays_.view.nnz; }
  [[nodiscard]] Place home() const { return home_; }
  /// The nonzeros of the longest row, where the check of the pattern has seen them: not of a transposed matrix.
  [[nodiscard]] std::optional<std::int64_t> longest_row() const { return longest_row_; }

  /// The matrix in the memory of `place`, copied there on the first call. Its pattern is valid as long as this; its
  /// values on the host until the next update.
  [[nodiscard]] CsrView<T> on(Place place) const;

  /// Computed on the first call.
  [[nodiscard]] const Fingerprint& fingerprint() const;

  /// While it is held, values stay as they are: for those who read them otherwise than by products.
  [[nodiscard]] std::shared_lock<std::shared_mutex> hold_values() const { return std::shared_lock(updating_); }

  /// To be told of updates from now on. Called with the values held that the observer was made from.
  void add_observer(std::weak_ptr<ValuesObserver<T>> observer) const;

  /// As Matrix::update_values. Transposed matrices follow.
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

    [[nodiscard]] bool owns_offsets() const { return !narrow_offsets.empty() || !wide_offsets.empty(); }
  };
  using Observers = std::vector<std::shared_ptr<ValuesObserver<T>>>;
  class Update;
  struct TransposedUpdate;

  void keep_offsets(std::span<const std::int32_t> row_ptr);
  void keep_offsets(std::span<const std::int64_t> row_ptr);
  void keep_columns(std::span<const std::int32_t> col_idx);
  void keep_columns(std::span<const std::int64_t> col_idx);
  [[nodiscard]] static Arrays mirror(const CsrView<T>& source, Place place);
  [[nodiscard]] Observers living_observers() const;
  [[nodiscard]] std::vector<std::shared_ptr<MatrixData>> living_transposed() const;
  [[nodiscard]] std::shared_ptr<MatrixData> find_transposed(Place place) const;

  Place home_;
  Ownership ownership_ = Ownership::copy;
  std::optional<std::int64_t> longest_row_;
  inline static std::atomic<bool> made_ = false;
  std::shared_ptr<const MatrixData> original_;  // of a transposed matrix
  Array<std::uint32_t> source_;                 // of a transposed matrix: its values among those of the original

  mutable std::shared_mutex updating_;  // shared by readers of values; held alone by an update
  Arrays arrays_;

  mutable std::mutex mutex_;               // guards everything below
  mutable std::map<int, Arrays> on_cuda_;  // copies, by ordinal
  mutable std::optional<Arrays> on_host_;
  mutable std::optional<Fingerprint> fingerprint_;
  mutable std::vector<std::weak_ptr<ValuesObserver<T>>> observers_;
  mutable std::vector<std::weak_ptr<MatrixData>> transposed_;  // one a place
};

extern template class MatrixData<float>;
extern template class MatrixData<double>;

namespace detail {

template <class T>
struct MatrixState {
  std::shared_ptr<MatrixData<T>> data;
  /// Plans that the matrix keeps, each for a context; see kept_plans().
  std::shared_ptr<Attachments> plans = std::make_shared<Attachments>();
  std::shared_ptr<Attachments> transposed_plans = std::make_shared<Attachments>();

  [[nodiscard]] const std::shared_ptr<Attachments>& kept_plans(Operation op) const {
    return op == Operation::plain ? plans : transposed_plans;
  }
};

}  // namespace detail

/// What a handle stands for.
template <Scalar T>
MatrixData<T>& data_of(const Matrix<T>& matrix) {
  return *detail::Access::state_of(matrix)->data;
}

}  // namespace autospmv
