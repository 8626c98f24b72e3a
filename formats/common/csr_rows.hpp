// Products that walk the CSR arrays as they are, a fixed number of threads a row. csr_scalar and csr_vector are this
// with one thread and with several.
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

/// Threads a row that kernels are compiled for. Above a warp, the threads of a row share a block.
#define AUTOSPMV_CSR_THREADS 1, 2, 4, 8, 16, 32, 64, 128, 256, 512
/// And those, with the block sizes, whose long rows a block may share.
#define AUTOSPMV_CSR_SHARE_LEAST 2
#define AUTOSPMV_CSR_SHARE_MOST 32
#define AUTOSPMV_CSR_SHARE_BLOCKS 256, 512

struct CsrRows {
  int threads = 1;  ///< a row: one of AUTOSPMV_CSR_THREADS
  int block = 256;  ///< threads a block, at least `threads`
  /// CUDA: rows of more than so many entries a thread are left to the whole block, when it is done with the others;
  /// 0: every row is walked by its own threads, however long.
  int share_above = 0;
  /// The row of y that each row of the matrix belongs to, in the memory of the matrix; nullptr: its own. For matrices
  /// that hold a few rows of a larger one.
  const std::int32_t* row_ids = nullptr;
};

/// On the host: rows in shares of equal nonzeros, each row summed in `threads` interleaved partial sums.
template <class T>
void multiply_csr_rows_host(const CsrView<T>& matrix, const CsrRows& shape, T alpha, const T* x, T beta, T* y);

template <class T>
void multiply_csr_rows_cuda(const CsrView<T>& matrix, const CsrRows& shape, T alpha, const T* x, T beta, T* y,
                            Stream stream);

/// Refers to the arrays it was built from and allocates nothing.
template <class T>
class CsrRowsOperator final : public Operator<T> {
 public:
  CsrRowsOperator(const CsrView<T>& matrix, const CsrRows& shape, Backend backend)
      : matrix_(matrix), shape_(shape), backend_(backend) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if constexpr (built_with_cuda) {
      if (backend_ == Backend::cuda) {
        multiply_csr_rows_cuda(matrix_, shape_, alpha, x, beta, y, stream);
        return;
      }
    }
    multiply_csr_rows_host(matrix_, shape_, alpha, x, beta, y);
  }

  void update_values(const CsrView<T>& matrix, Stream /*stream*/) override { matrix_ = matrix; }

  [[nodiscard]] std::int64_t bytes() const override { return 0; }

 private:
  CsrView<T> matrix_;
  CsrRows shape_;
  Backend backend_;
};

}  // namespace autospmv::formats
