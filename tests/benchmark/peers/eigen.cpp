// Eigen's row-major product, in as many OpenMP threads as ours.
#include <Eigen/SparseCore>

#include "tests/benchmark/peers/peer.hpp"

namespace autospmv::benchmark {

namespace {

template <class T>
class EigenProduct final : public PeerProduct<T> {
 public:
  // Eigen keeps one entry a place, and so do matrices that are read or generated.
  explicit EigenProduct(const HostCsr<T>& csr) {
    const auto row_ptr = short_row_ptr(csr);
    matrix_ =
        Eigen::Map<const Sparse>(csr.rows, csr.cols, csr.nnz(), row_ptr.data(), csr.col_idx.data(), csr.values.data());
  }

  void multiply(const T* x, T* y) override {
    Eigen::Map<Vector>(y, matrix_.rows()).noalias() = matrix_ * Eigen::Map<const Vector>(x, matrix_.cols());
  }

 private:
  using Sparse = Eigen::SparseMatrix<T, Eigen::RowMajor, int>;
  using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

  Sparse matrix_;
};

}  // namespace

Peer eigen() {
  return make_peer<EigenProduct>("Eigen", std::to_string(EIGEN_WORLD_VERSION) + "." +
                                              std::to_string(EIGEN_MAJOR_VERSION) + "." +
                                              std::to_string(EIGEN_MINOR_VERSION));
}

}  // namespace autospmv::benchmark
