// Products that walk the CSR arrays as they are, a fixed number of threads a row. csr_scalar and csr_vector are this
// with one thread and with several.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "core/array.hpp"
#include "core/csr.hpp"
#include "formats/common/encoding.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

struct CsrRows {
  int threads = 1;  ///< a row: a power of two up to 512; above a warp, the threads of a row share a block
  int block = 256;  ///< threads a block, at least `threads`
  /// CUDA: rows of more than so many entries a thread are left to the whole block, when it is done with the others;
  /// 0: every row is walked by its own threads, however long.
  int share_above = 0;
  /// The row of y that each row of the matrix belongs to, in the memory of the matrix; nullptr: its own. For matrices
  /// that hold a few rows of a larger one.
  const std::int32_t* row_ids = nullptr;
};

/// Columns and values of CSR in fewer bits, on CUDA: where `bits` are those of CSR, its own arrays are read.
template <class T>
struct CsrEncoding {
  EncodedColumns columns;  ///< the units are rows
  EncodedValues<T> values;

  [[nodiscard]] std::int64_t bytes() const { return columns.bytes() + values.bytes(); }
};

/// On the host: rows in shares of equal nonzeros, each row summed in `threads` interleaved partial sums.
template <class T>
void multiply_csr_rows_host(const CsrView<T>& matrix, const CsrRows& shape, T alpha, const T* x, T beta, T* y);

template <class T>
void multiply_csr_rows_cuda(const CsrView<T>& matrix, const CsrEncoding<T>& encoding, const CsrRows& shape, T alpha,
                            const T* x, T beta, T* y, Stream stream);

/// Refers to the arrays it was built from, and owns those that it encodes.
template <class T>
class CsrRowsOperator final : public Operator<T> {
 public:
  CsrRowsOperator(const CsrView<T>& matrix, const CsrRows& shape, Place place)
      : matrix_(matrix), shape_(shape), place_(place) {}

  /// Encodes; false where columns or values need more bits. Waits for the stream where there is something to encode.
  bool encode(int column_bits, int value_bits, Stream stream) {
    return encode_columns(column_bits, stream) &&
           encode_values_of(matrix_, encoding_.values, value_bits, place_, stream);
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) {
        multiply_csr_rows_cuda(matrix_, encoding_, shape_, alpha, x, beta, y, stream);
        return;
      }
    }
    multiply_csr_rows_host(matrix_, shape_, alpha, x, beta, y);
  }

  bool update_values(const CsrView<T>& matrix, Stream stream) override {
    matrix_ = matrix;
    return replace_values_of(matrix_, encoding_.values, place_, stream);
  }

  [[nodiscard]] bool takes_any_values() const override { return encoding_.values.in_full(); }

  [[nodiscard]] std::int64_t bytes() const override { return encoding_.bytes(); }

 private:
  bool encode_columns(int bits, Stream stream) {
    if (bits == 32) return true;
    const auto* row_ptr = std::get_if<const std::int32_t*>(&matrix_.row_ptr);
    if (row_ptr == nullptr) return false;
    auto columns = Array<std::int32_t>(static_cast<std::size_t>(matrix_.nnz), place_);
    copy_bytes(columns.data(), matrix_.col_idx, static_cast<std::size_t>(columns.bytes()), place_, stream);
    const bool fits = formats::encode(encoding_.columns, std::move(columns), bits, {*row_ptr, matrix_.rows, 1}, stream);
    if (!fits) encoding_.columns = {};
    return fits;
  }

  CsrView<T> matrix_;
  CsrRows shape_;
  Place place_;
  CsrEncoding<T> encoding_;
};

}  // namespace autospmv::formats
