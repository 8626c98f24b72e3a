// MKL's inspector-executor: told of many products to come, it may store the matrix as it likes.
#include <mkl_service.h>
#include <mkl_spblas.h>

#include <array>

#include "core/machine/array.hpp"
#include "tests/benchmark/peers/peer.hpp"

namespace autospmv::benchmark {

namespace {

static_assert(sizeof(MKL_INT) == sizeof(int), "the interface of 32-bit indices");

void check(sparse_status_t status, const char* call) {
  if (status != SPARSE_STATUS_SUCCESS) {
    throw Error(std::string("MKL: ") + call + " returns " + std::to_string(static_cast<int>(status)));
  }
}

sparse_status_t create(sparse_matrix_t* matrix, int rows, int cols, int* row_ptr, int* columns, float* values) {
  return mkl_sparse_s_create_csr(matrix, SPARSE_INDEX_BASE_ZERO, rows, cols, row_ptr, row_ptr + 1, columns, values);
}

sparse_status_t create(sparse_matrix_t* matrix, int rows, int cols, int* row_ptr, int* columns, double* values) {
  return mkl_sparse_d_create_csr(matrix, SPARSE_INDEX_BASE_ZERO, rows, cols, row_ptr, row_ptr + 1, columns, values);
}

sparse_status_t product(sparse_matrix_t matrix, const matrix_descr& description, const float* x, float* y) {
  return mkl_sparse_s_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1, matrix, description, x, 0, y);
}

sparse_status_t product(sparse_matrix_t matrix, const matrix_descr& description, const double* x, double* y) {
  return mkl_sparse_d_mv(SPARSE_OPERATION_NON_TRANSPOSE, 1, matrix, description, x, 0, y);
}

template <class T>
class MklProduct final : public PeerProduct<T> {
 public:
  explicit MklProduct(const HostCsr<T>& csr)
      : row_ptr_(Array<int>::copy_of(short_row_ptr(csr), {})),
        columns_(Array<int>::copy_of(csr.col_idx, {})),
        values_(Array<T>::copy_of(csr.values, {})) {
    check(create(&matrix_, static_cast<int>(csr.rows), static_cast<int>(csr.cols), row_ptr_.data(), columns_.data(),
                 values_.data()),
          "mkl_sparse_?_create_csr");
    check(mkl_sparse_set_mv_hint(matrix_, SPARSE_OPERATION_NON_TRANSPOSE, description_, expected_calls),
          "mkl_sparse_set_mv_hint");
    check(mkl_sparse_set_memory_hint(matrix_, SPARSE_MEMORY_AGGRESSIVE), "mkl_sparse_set_memory_hint");
    check(mkl_sparse_optimize(matrix_), "mkl_sparse_optimize");
  }
  ~MklProduct() override { (void)mkl_sparse_destroy(matrix_); }
  MklProduct(const MklProduct&) = delete;
  MklProduct& operator=(const MklProduct&) = delete;

  void multiply(const T* x, T* y) override { check(product(matrix_, description_, x, y), "mkl_sparse_?_mv"); }

 private:
  // Aligned as MKL advises; it refers to them as long as its matrix lives.
  Array<int> row_ptr_;
  Array<int> columns_;
  Array<T> values_;
  sparse_matrix_t matrix_ = nullptr;
  matrix_descr description_{SPARSE_MATRIX_TYPE_GENERAL, SPARSE_FILL_MODE_FULL, SPARSE_DIAG_NON_UNIT};
};

}  // namespace

// Of MKL's threading layers the GNU one: its threads are those of our parallel regions, which are the ones that are
// pinned and watched. Intel's would bring a second set, which waits for work on the same processors; beside gcc's
// OpenMP runtime it has even given wrong products.
Peer mkl() {
  if (mkl_set_interface_layer(MKL_INTERFACE_LP64) != MKL_INTERFACE_LP64) throw Error("MKL: no 32-bit interface");
  if (mkl_set_threading_layer(MKL_THREADING_GNU) != MKL_THREADING_GNU) throw Error("MKL: no GNU threading layer");
  mkl_set_dynamic(0);
  mkl_set_num_threads(omp_get_max_threads());
  if (mkl_get_max_threads() != omp_get_max_threads()) throw Error("MKL does not take the number of threads");
  std::array<char, 256> version{};
  mkl_get_version_string(version.data(), static_cast<int>(version.size()) - 1);
  std::string text(version.data());
  text.resize(text.find_last_not_of(' ') + 1);
  return make_peer<MklProduct>("MKL", text);
}

}  // namespace autospmv::benchmark
