// librsb's recursive blocks, after its own tuning of blocks and threads.
#include <rsb.h>

#include <array>
#include <utility>

#include "tests/benchmark/peers/peer.hpp"

namespace autospmv::benchmark {

namespace {

void check(rsb_err_t code, const char* call) {
  if (code == RSB_ERR_NO_ERROR) return;
  std::array<char, 256> text{};
  (void)rsb_strerror_r(code, text.data(), text.size());
  throw Error(std::string("librsb: ") + call + ": " + text.data());
}

void set_threads(rsb_int_t threads) {
  check(rsb_lib_set_opt(RSB_IO_WANT_EXECUTING_THREADS, &threads), "rsb_lib_set_opt");
}

template <class T>
class RsbProduct final : public PeerProduct<T> {
 public:
  explicit RsbProduct(const HostCsr<T>& csr) {
    const auto row_ptr = short_row_ptr(csr);
    constexpr rsb_type_t type = sizeof(T) == sizeof(float) ? RSB_NUMERICAL_TYPE_FLOAT : RSB_NUMERICAL_TYPE_DOUBLE;
    set_threads(threads_);
    rsb_err_t code = RSB_ERR_NO_ERROR;
    matrix_ = rsb_mtx_alloc_from_csr_const(
        csr.values.data(), row_ptr.data(), csr.col_idx.data(), static_cast<rsb_nnz_idx_t>(csr.nnz()), type,
        static_cast<rsb_coo_idx_t>(csr.rows), static_cast<rsb_coo_idx_t>(csr.cols), 0, 0, RSB_FLAG_NOFLAGS, &code);
    check(code, "rsb_mtx_alloc_from_csr_const");
    tune();
  }
  ~RsbProduct() override { (void)rsb_mtx_free(matrix_); }
  RsbProduct(const RsbProduct&) = delete;
  RsbProduct& operator=(const RsbProduct&) = delete;

  void multiply(const T* x, T* y) override {
    check(rsb_spmv(RSB_TRANSPOSITION_N, &one_, matrix_, x, 1, &zero_, y, 1), "rsb_spmv");
  }
  [[nodiscard]] int threads() const override { return threads_; }

 private:
  // With the vectors, the rounds and the seconds of each that the library finds right.
  void tune() {
    rsb_real_t gain = 1;
    const auto code = rsb_tune_spmm(&matrix_, &gain, &threads_, 0, 0, RSB_TRANSPOSITION_N, &one_, nullptr, 1,
                                    RSB_FLAG_WANT_COLUMN_MAJOR_ORDER, nullptr, 0, &zero_, nullptr, 0);
    if (code != RSB_ERR_NO_ERROR) (void)rsb_mtx_free(std::exchange(matrix_, nullptr));
    check(code, "rsb_tune_spmm");
    threads_ = std::clamp(threads_, 1, omp_get_max_threads());
    set_threads(threads_);
  }

  rsb_mtx_t* matrix_ = nullptr;
  rsb_int_t threads_ = omp_get_max_threads();
  T one_ = 1;
  T zero_ = 0;
};

}  // namespace

// It is never told to exit: the process is about to.
Peer librsb() {
  check(rsb_lib_init(RSB_NULL_INIT_OPTIONS), "rsb_lib_init");
  return make_peer<RsbProduct>("librsb", RSB_LIBRSB_VER_STRING);
}

}  // namespace autospmv::benchmark
