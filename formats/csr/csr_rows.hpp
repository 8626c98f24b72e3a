// Products that walk the CSR arrays as they are, a fixed number of threads a row. csr_scalar and csr_vector are this
// with one thread and with several.
#pragma once

#include <cstdint>
#include <utility>
#include <variant>

#include "core/machine/array.hpp"
#include "core/machine/on_backend.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/operators.hpp"

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

/// On the host, what stands for a processor's gathers.
inline constexpr int gathering_threads = 32;

/// On the host: rows in shares of equal nonzeros. `threads` is how many products of a row are added up side by side: 2,
/// in scalars; 4, by what lengths the rows have, in registers of 4 to 8 values; 8, all in registers of 32 bytes; 16,
/// two of these; gathering_threads, in registers of 64 bytes that the processor gathers, where it can.
template <class T>
void multiply_csr_rows_host(const CsrView<T>& matrix, const CsrRows& shape, T alpha, const T* x, T beta, T* y);

/// Where `bits` of columns, whose units are rows, or values are those of CSR, its own arrays are read.
template <class T>
void multiply_csr_rows_cuda(const CsrView<T>& matrix, const EncodedColumns& columns, const EncodedValues<T>& values,
                            const CsrRows& shape, T alpha, const T* x, T beta, T* y, Stream stream);

/// Owns the columns too where they are in fewer bits.
template <class T>
class CsrRowsOperator final : public CsrOperator<T> {
 public:
  CsrRowsOperator(const CsrView<T>& matrix, const CsrRows& shape, Place place)
      : CsrOperator<T>(matrix, place), shape_(shape) {}

  /// Encodes; false where columns or values need more bits. Waits for the stream where there is something to encode.
  bool encode(int column_bits, int value_bits, Stream stream) {
    return encode_columns(column_bits, stream) && CsrOperator<T>::encode(value_bits, stream);
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    on_backend(
        this->place_, [&] { multiply_csr_rows_host(this->matrix_, shape_, alpha, x, beta, y); },
        [&] { multiply_csr_rows_cuda(this->matrix_, columns_, this->values_, shape_, alpha, x, beta, y, stream); });
  }

  [[nodiscard]] std::int64_t bytes() const override { return columns_.bytes() + this->values_.bytes(); }

 private:
  bool encode_columns(int bits, Stream stream) {
    if (bits == 32) return true;
    const auto* row_ptr = std::get_if<const std::int32_t*>(&this->matrix_.row_ptr);
    if (row_ptr == nullptr) return false;
    auto columns = Array<std::int32_t>(static_cast<std::size_t>(this->matrix_.nnz), this->place_);
    copy_bytes(columns.data(), this->matrix_.col_idx, static_cast<std::size_t>(columns.bytes()), this->place_, stream);
    const bool fits = formats::encode(columns_, std::move(columns), bits, {*row_ptr, this->matrix_.rows, 1}, stream);
    if (!fits) columns_ = {};
    return fits;
  }

  CsrRows shape_;
  EncodedColumns columns_;
};

}  // namespace autospmv::formats
