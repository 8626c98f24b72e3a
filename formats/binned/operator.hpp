// What operators on the host and on CUDA have in common.
#pragma once

#include <memory>
#include <utility>
#include <variant>

#include "core/machine/array.hpp"
#include "formats/binned/storage.hpp"
#include "formats/common/encoding/encoding.hpp"

namespace autospmv::formats {

/// What a product reads of the structure, by value. `row_ptr` and `columns` are the matrix's or those stored again.
template <class Offset>
struct BinnedView {
  const Offset* row_ptr;
  const std::int32_t* columns;
  const std::int32_t* order;
  std::int64_t rows;
  int log_granularity;
  bool stored;

  /// The row of y at a position; `rows` or more past the end of the last virtual row.
  [[nodiscard]] AUTOSPMV_HD std::int64_t row_at(std::int64_t position) const {
    const std::int64_t in_item = position & ((std::int64_t{1} << log_granularity) - 1);
    return (static_cast<std::int64_t>(order[position >> log_granularity]) << log_granularity) + in_item;
  }
  [[nodiscard]] AUTOSPMV_HD std::int64_t first_entry(std::int64_t position, std::int64_t row) const {
    return row_ptr[stored ? position : row];
  }
  [[nodiscard]] AUTOSPMV_HD std::int64_t last_entry(std::int64_t position, std::int64_t row) const {
    return row_ptr[(stored ? position : row) + 1];
  }
};

/// Rows in bins, in the memory of `place`. How they are stored again and multiplied is left to the backend.
template <class T>
class BinnedRowsOperator : public Operator<T> {
 public:
  bool update_values(const CsrView<T>& matrix, Stream stream) final {
    matrix_ = matrix;
    if (!shape_.stored) return replace_values_of(matrix_, values_, place_, stream);
    return refill_values(values_, static_cast<std::size_t>(matrix_.nnz), nullptr, place_, stream,
                         [&](Array<T>& values, Stream on) { store_values(values.data(), on); });
  }

  [[nodiscard]] bool takes_any_values() const final { return values_.in_full(); }

  [[nodiscard]] std::int64_t bytes() const final {
    const auto offset_bytes = std::visit([](const auto& offsets) { return offsets.bytes(); }, row_ptr_);
    return order_.bytes() + offset_bytes + columns_.bytes() + values_.bytes();
  }

  /// False where the values need more bits than the shape has for them. Complete when it returns.
  bool complete() {
    const auto stream = setup_stream(place_);
    if (shape_.stored) store_rows(stream);
    const bool fits = encode_values(stream);
    synchronize(place_, stream);
    return fits;
  }

 protected:
  BinnedRowsOperator(const CsrView<T>& matrix, RowBins rows, BinnedShape shape, Place place)
      : matrix_(matrix), shape_(std::move(shape)), place_(place), order_(std::move(rows.order)) {
    if (!shape_.stored) return;
    const auto offsets = static_cast<std::size_t>(matrix.rows) + 1;
    if (matrix.wide()) {
      row_ptr_ = Array<std::int64_t>(offsets, place);
    } else {
      row_ptr_ = Array<std::int32_t>(offsets, place);
    }
    columns_ = Array<std::int32_t>(static_cast<std::size_t>(matrix.nnz), place);
  }

  /// Writes row_ptr_ and columns_.
  virtual void store_rows(Stream stream) = 0;
  /// Writes the values of matrix_ in the order of the bins.
  virtual void store_values(T* values, Stream stream) const = 0;

  /// Calls body(view, values) with what the product reads.
  template <class Body>
  void with_view(const Body& body) const {
    with_offsets(matrix_.row_ptr, [&]<class Offset>(const Offset* row_ptr) {
      const auto* stored_ptr = std::get_if<Array<Offset>>(&row_ptr_);
      const BinnedView<Offset> view{shape_.stored ? stored_ptr->data() : row_ptr,
                                    shape_.stored ? columns_.data() : matrix_.col_idx,
                                    order_.data(),
                                    matrix_.rows,
                                    shape_.log_granularity,
                                    shape_.stored};
      const auto with_reader = [&](const auto& values) { body(view, values); };
      if (!shape_.stored) return with_values_of(matrix_, values_, with_reader);
      with_values(values_, with_reader);
    });
  }

  CsrView<T> matrix_;
  BinnedShape shape_;
  Place place_;
  Array<std::int32_t> order_;
  std::variant<Array<std::int32_t>, Array<std::int64_t>> row_ptr_;
  Array<std::int32_t> columns_;

 private:
  bool encode_values(Stream stream) {
    const int bits = std::min(shape_.value_bits, full_value_bits<T>);
    if (!shape_.stored) return encode_values_of(matrix_, values_, bits, place_, stream);
    Array<T> values(static_cast<std::size_t>(matrix_.nnz), place_);
    store_values(values.data(), stream);
    return encode(values_, std::move(values), bits, nullptr, stream);
  }

  EncodedValues<T> values_;
};

namespace host {
template <class T>
std::unique_ptr<BinnedRowsOperator<T>> make_binned_rows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape);
}  // namespace host

namespace cuda_steps {
template <class T>
std::unique_ptr<BinnedRowsOperator<T>> make_binned_rows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape,
                                                        Place place);
}  // namespace cuda_steps

}  // namespace autospmv::formats
