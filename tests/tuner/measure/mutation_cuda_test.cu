// Verification on a CUDA device finds what it finds on the host: see mutation_test.cpp.

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/matrix/matrix_data.hpp"
#include "tests/formats/support.hpp"
#include "tests/tuner/measure/mutant.hpp"

namespace autospmv::testing {
namespace {

// A block a row.
template <class T, class Offset>
__global__ void multiply_kernel(CsrView<T> matrix, const Offset* row_ptr, Mutant mutant, T alpha, const T* x, T beta,
                                T* y) {
  __shared__ T sums[cuda::default_block];
  const std::int64_t row = blockIdx.x;
  T sum = 0;
  for (std::int64_t k = row_ptr[row] + threadIdx.x; k < row_ptr[row + 1]; k += blockDim.x) {
    const auto factors = mutant.factors(matrix, x, k);
    sum += factors.a * factors.b;
  }
  sums[threadIdx.x] = sum;
  for (unsigned threads = blockDim.x / 2; threads > 0; threads /= 2) {
    __syncthreads();
    if (threadIdx.x < threads) sums[threadIdx.x] += sums[threadIdx.x + threads];
  }
  if (threadIdx.x == 0) mutant.store(alpha, sums[0] + mutant.stray(matrix, x, row), beta, y, row);
}

template <class T>
__global__ void touch_kernel(Mutant mutant, const T* x, T* y) {
  mutant.touch(x, y);
}

template <class T>
class MutantOperator final : public Operator<T> {
 public:
  MutantOperator(const CsrView<T>& matrix, const Mutant& mutant) : matrix_(matrix), mutant_(mutant) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    std::visit(
        [&](const auto* row_ptr) {
          multiply_kernel<<<static_cast<unsigned>(matrix_.rows), cuda::default_block, 0, stream.handle>>>(
              matrix_, row_ptr, mutant_, alpha, x, beta, y);
        },
        matrix_.row_ptr);
    touch_kernel<<<1, 1, 0, stream.handle>>>(mutant_, x, y);
    cuda::check_launch();
  }
  [[nodiscard]] bool update_values(const CsrView<T>& /*matrix*/, Stream /*stream*/) override { return false; }
  [[nodiscard]] std::int64_t bytes() const override { return 0; }

 private:
  CsrView<T> matrix_;
  Mutant mutant_;
};

class MutationCuda : public ::testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
  }

  template <class T>
  void expect_teeth(const HostCsr<T>& source) {
    const auto device = cuda_devices().front();
    const DeviceScope scope(device);
    const auto matrix = matrix_of(source);
    const auto view = data_of(matrix).on(device);
    Verifier<T> verifier(view, device, 1);
    auto mutants = mutants_of_a_nonzero(source, 1);
    const auto others = other_mutants(source);
    mutants.insert(mutants.end(), others.begin(), others.end());
    for (const auto& mutant : mutants) EXPECT_FALSE(passes(verifier, MutantOperator<T>(view, mutant))) << mutant;
    Measurement measurement;
    verifier.verify(MutantOperator<T>(view, {}), measurement);
    EXPECT_EQ(measurement.outcome, Outcome::passed) << measurement.detail << ", " << measurement.worst_error;
  }

  template <class T>
  void expect_teeth(std::int64_t npr) {
    for (const auto values : {Values::random, Values::equal, Values::few}) {
      SCOPED_TRACE("values " + std::to_string(static_cast<int>(values)));
      auto source = matrix_of_rows<T>(npr, values);
      expect_teeth(source);
      const auto first = source.col_idx.begin() + source.row_ptr[1];
      std::rotate(first, first + npr / 3, first + npr);
      expect_teeth(source);
      for (auto& value : source.values) value *= std::numeric_limits<T>::max();
      expect_teeth(source);
    }
  }
};

TEST_P(MutationCuda, IsFoundInFloat) { expect_teeth<float>(GetParam()); }
TEST_P(MutationCuda, IsFoundInDouble) { expect_teeth<double>(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Npr, MutationCuda, ::testing::Values(1, 2, 3, 10, 31, 100, 1000, 10'000, 100'000, 1'000'000));

}  // namespace
}  // namespace autospmv::testing
