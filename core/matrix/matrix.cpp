#include "autospmv/matrix.hpp"

#include "core/matrix/matrix_data.hpp"

namespace autospmv {

namespace {

template <class T, class Offset, class Column>
std::shared_ptr<detail::MatrixState<T>> make_state(std::int64_t rows, std::int64_t cols,
                                                   std::span<const Offset> row_ptr, std::span<const Column> col_idx,
                                                   std::span<const T> values, Ownership ownership, Stream stream) {
  auto state = std::make_shared<detail::MatrixState<T>>();
  state->data = std::make_shared<MatrixData<T>>(rows, cols, row_ptr, col_idx, values, ownership, stream);
  return state;
}

}  // namespace

// The four differ in the widths of their indices alone.
#define AUTOSPMV_FROM_CSR(Offset, Column)                                                                        \
  template <Scalar T>                                                                                            \
  Matrix<T> Matrix<T>::from_csr(std::int64_t rows, std::int64_t cols, std::span<const Offset> row_ptr,           \
                                std::span<const Column> col_idx, std::span<const T> values, Ownership ownership, \
                                Stream stream) {                                                                 \
    return Matrix(make_state<T>(rows, cols, row_ptr, col_idx, values, ownership, stream));                       \
  }
AUTOSPMV_FROM_CSR(std::int32_t, std::int32_t)
AUTOSPMV_FROM_CSR(std::int64_t, std::int32_t)
AUTOSPMV_FROM_CSR(std::int64_t, std::int64_t)
AUTOSPMV_FROM_CSR(std::int32_t, std::int64_t)
#undef AUTOSPMV_FROM_CSR

template <Scalar T>
std::int64_t Matrix<T>::rows() const {
  return state_->data->rows();
}

template <Scalar T>
std::int64_t Matrix<T>::cols() const {
  return state_->data->cols();
}

template <Scalar T>
std::int64_t Matrix<T>::nnz() const {
  return state_->data->nnz();
}

template <Scalar T>
Place Matrix<T>::home() const {
  return state_->data->home();
}

template <Scalar T>
void Matrix<T>::update_values(std::span<const T> values, Stream stream) {
  state_->data->update_values(values, stream);
}

template class Matrix<float>;
template class Matrix<double>;

}  // namespace autospmv
