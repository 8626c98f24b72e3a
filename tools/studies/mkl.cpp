// The library is looked for when it is wanted: no build depends on it.

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>

#include "core/verify/random.hpp"
#include "tools/studies/contenders.hpp"
#include "tools/studies/elsewhere.hpp"
#include "tuner/measure/clock.hpp"

namespace autospmv::tools {

namespace {

// As mkl_spblas.h and mkl_service.h have them.
constexpr int success = 0;
constexpr int zero_based = 0;
constexpr int no_transpose = 10;
constexpr int general = 20;
constexpr int interface_32_bit = 0;
constexpr int sequential = 1;

struct Description {
  int type = general;
  int mode = 0;
  int diagonal = 0;
};

using Handle = void*;
template <class T>
using Create = int (*)(Handle*, int, int, int, int*, int*, int*, T*);
template <class T>
using Multiply = int (*)(int, T, Handle, Description, const T*, T, T*);
using Hint = int (*)(Handle, int, Description, int);
using OfHandle = int (*)(Handle);
using SetLayer = int (*)(int);

template <class Function>
Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

void* load_library() {
  for (const auto* name : {"libmkl_rt.so", "libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so.1"}) {
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) return library;
  }
  return nullptr;
}

// One core, and columns in 32 bits: both are to be chosen before anything else is called.
void* open_library() {
  static void* const library = [] {
    void* loaded = load_library();
    if (loaded == nullptr) return loaded;
    if (const auto set = symbol<SetLayer>(loaded, "MKL_Set_Interface_Layer")) set(interface_32_bit);
    if (const auto set = symbol<SetLayer>(loaded, "MKL_Set_Threading_Layer")) set(sequential);
    return loaded;
  }();
  return library;
}

template <class T>
class MklMatrix {
 public:
  MklMatrix(void* library, const HostCsr<T>& matrix)
      : row_ptr_(matrix.row_ptr.begin(), matrix.row_ptr.end()), columns_(matrix.col_idx), values_(matrix.values) {
    constexpr bool single = sizeof(T) == sizeof(float);
    const auto create = symbol<Create<T>>(library, single ? "mkl_sparse_s_create_csr" : "mkl_sparse_d_create_csr");
    const auto hint = symbol<Hint>(library, "mkl_sparse_set_mv_hint");
    const auto optimize = symbol<OfHandle>(library, "mkl_sparse_optimize");
    multiply_ = symbol<Multiply<T>>(library, single ? "mkl_sparse_s_mv" : "mkl_sparse_d_mv");
    destroy_ = symbol<OfHandle>(library, "mkl_sparse_destroy");
    if (create == nullptr || hint == nullptr || optimize == nullptr || multiply_ == nullptr || destroy_ == nullptr) {
      return;
    }
    constexpr int expected_calls = 1000;
    const auto start = Clock::now();
    made_ = create(&handle_, zero_based, static_cast<int>(matrix.rows), static_cast<int>(matrix.cols), row_ptr_.data(),
                   row_ptr_.data() + 1, columns_.data(), values_.data()) == success;
    made_ = made_ && hint(handle_, no_transpose, {}, expected_calls) == success && optimize(handle_) == success;
    setup_seconds_ = seconds_since(start);
  }
  ~MklMatrix() {
    if (handle_ != nullptr) destroy_(handle_);
  }
  MklMatrix(const MklMatrix&) = delete;
  MklMatrix& operator=(const MklMatrix&) = delete;

  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] double setup_seconds() const { return setup_seconds_; }
  bool apply(const std::vector<T>& x, std::vector<T>& y) const {
    return multiply_(no_transpose, T{1}, handle_, {}, x.data(), T{0}, y.data()) == success;
  }

 private:
  std::vector<int> row_ptr_;
  std::vector<int> columns_;
  std::vector<T> values_;
  Handle handle_ = nullptr;
  Multiply<T> multiply_ = nullptr;
  OfHandle destroy_ = nullptr;
  bool made_ = false;
  double setup_seconds_ = 0;
};

template <class T>
bool is_product(const HostCsr<T>& matrix, const std::vector<T>& x, const std::vector<T>& y) {
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    double sum = 0;
    double size = 0;
    for (auto k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      const double term = static_cast<double>(matrix.values[k]) * x[matrix.col_idx[k]];
      sum += term;
      size += std::abs(term);
    }
    const auto terms = static_cast<double>(matrix.row_ptr[row + 1] - matrix.row_ptr[row] + 2);
    if (!(std::abs(y[row] - sum) <= std::numeric_limits<T>::epsilon() * terms * size)) return false;
  }
  return true;
}

template <class T>
Timing time_of(const MklMatrix<T>& product, const std::vector<T>& x, std::vector<T>& y) {
  constexpr int samples = 7;
  constexpr double least_seconds = 5e-3;
  std::array<double, samples> seconds{};
  for (auto& one : seconds) {
    int repetitions = 0;
    const auto start = Clock::now();
    do {
      product.apply(x, y);
      ++repetitions;
      one = seconds_since(start);
    } while (one < least_seconds);
    one /= repetitions;
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[samples / 2], seconds[samples / 4], seconds[samples - 1 - samples / 4], samples};
}

template <class T>
Measurement measure(void* library, const HostCsr<T>& matrix) {
  Measurement measurement;
  std::vector<T> x(static_cast<std::size_t>(matrix.cols));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(random_value(1, i));
  std::vector<T> y(static_cast<std::size_t>(matrix.rows));
  const MklMatrix<T> product(library, matrix);
  if (!product.made() || !product.apply(x, y)) {
    measurement.detail = "MKL does not take this matrix";
    return measurement;
  }
  measurement.outcome = is_product(matrix, x, y) ? Outcome::passed : Outcome::wrong_answer;
  measurement.setup_seconds = product.setup_seconds();
  if (measurement.outcome == Outcome::passed) measurement.warm = time_of(product, x, y);
  return measurement;
}

}  // namespace

template <Scalar T>
std::vector<TrialRecord> mkl_trials(const HostCsr<T>& matrix) {
  TrialRecord trial;
  trial.candidate.format = mkl_product;
  void* const library = open_library();
  trial.measurement.outcome = Outcome::refused;
  trial.measurement.detail = "libmkl_rt is not on this machine: left out";
  constexpr std::int64_t most = std::numeric_limits<int>::max();
  if (library != nullptr && matrix.nnz() <= most && matrix.rows <= most && matrix.cols <= most) {
    trial.measurement = measure(library, matrix);
  }
  return {trial};
}

template std::vector<TrialRecord> mkl_trials(const HostCsr<float>&);
template std::vector<TrialRecord> mkl_trials(const HostCsr<double>&);

}  // namespace autospmv::tools
