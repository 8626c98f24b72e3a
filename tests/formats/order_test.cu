// The order of a stream: products by every format with every choice of its parameters wait for what comes before them,
// and let nothing that comes after them begin before that is done, though they may begin early themselves.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/cuda/early.cuh"
#include "core/cuda/threads.cuh"
#include "core/machine/array.hpp"
#include "core/verify/reference.hpp"
#include "io/generators.hpp"
#include "tests/formats/cuda_operators.hpp"

namespace autospmv::testing {
namespace {

struct Late {
  const double* from;
  double* to;
  std::int64_t size;
};

constexpr int lates = 3;
struct AllLate {
  Late all[lates];
};

// Reads what it will overwrite, so that the caches of every multiprocessor hold what is about to change, lets the next
// kernel begin, takes its time, and only then writes.
__global__ void write_late_kernel(AllLate late, long long clocks, int* written) {
  double seen = 0;
  for (const auto& one : late.all) {
    for (std::int64_t i = threadIdx.x; i < one.size; i += blockDim.x) seen += one.to[i];
  }
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
  for (const auto start = clock64(); clock64() - start < clocks;) {
  }
  for (const auto& one : late.all) {
    for (auto i = cuda::global_thread(); i < one.size; i += cuda::thread_count()) one.to[i] = one.from[i];
  }
  if (cuda::global_thread() == 0) *written = 1;
  if (seen == 1) *written = 2;  // never: what it reads is no number
}

// Looks at once, against all rules.
__global__ void look_kernel(const int* written, int* seen) {
  *seen = *static_cast<const volatile int*>(written);
  cuda::await_before();
}

class OrderOfStreams : public CudaOperators {
 protected:
  void expect_order(const HostCsr<double>& source) {
    const DeviceScope scope(device_);
    set_matrix(source);
    const auto view = data_of(*matrix_).on(device_);
    const auto x = random_x(5);
    const auto y = Array<double>::copy_of(make_x<double>(matrix_->rows(), Entries::finite, 6), device_);
    auto values = Array<double>(static_cast<std::size_t>(view.nnz), device_);
    copy_bytes(values.data(), view.values, static_cast<std::size_t>(values.bytes()), device_, setup_stream(device_));
    const auto reference = reference_product<double>(view, 2, x.data(), 1, y.data(), device_);
    Array<double> late_x(x.size(), device_);
    Array<double> late_y(y.size(), device_);
    auto flags = Array<int>::copy_of(std::vector<int>{0, 0}, device_);
    const auto late_of = [](const Array<double>& from, double* to) {
      return Late{from.data(), to, static_cast<std::int64_t>(from.size())};
    };
    // A product reads the values of the matrix itself, or a copy of its own: of what they were when it was built.
    const AllLate late{late_of(x, late_x.data()), late_of(y, late_y.data()),
                       late_of(values, const_cast<double*>(view.values))};
    const OwnStream stream;
    for_each_built([&](Operator<double>& op, bool /*capturable*/) {
      for (const auto& one : late.all) {
        fill_bytes(one.to, 0xff, static_cast<std::size_t>(one.size) * sizeof(double), device_, stream.get());
      }
      fill_bytes(flags.data(), 0, static_cast<std::size_t>(flags.bytes()), device_, stream.get());
      stream.wait();
      constexpr long long clocks = 100'000;  // some 50 us: longer than any of these products
      write_late_kernel<<<static_cast<unsigned>(device_.multiprocessors), 128, 0, stream.get().handle>>>(late, clocks,
                                                                                                         flags.data());
      cuda::check_launch();
      op.apply(2, late_x.data(), 1, late_y.data(), stream.get());
      cuda::launch_early(look_kernel, 1, 1, 0, stream.get(), flags.data(), flags.data() + 1);
      stream.wait();
      const auto comparison = compare(reference, late_y.data(), device_);
      EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows";
      EXPECT_EQ(flags.to_vector()[1], 1) << "what follows the product looked before what comes before it had written";
    });
  }
};

TEST_F(OrderOfStreams, OfAGraphWithEmptyRows) { expect_order(generate<double>("gen:rmat:10")); }

TEST_F(OrderOfStreams, OfBlocks) { expect_order(generate<double>("gen:fem:6:3")); }

TEST_F(OrderOfStreams, OfDiagonals) { expect_order(generate<double>("gen:grid2d:40")); }

TEST_F(OrderOfStreams, OfADenseRow) {
  auto source = generate<double>("gen:uniform:500:5000:4");
  HostCsr<double> with_dense{source.rows + 1, source.cols, {0, 5000}, {}, {}};
  for (std::int32_t j = 0; j < 5000; ++j) with_dense.col_idx.push_back(j);
  for (std::size_t i = 1; i < source.row_ptr.size(); ++i) with_dense.row_ptr.push_back(5000 + source.row_ptr[i]);
  with_dense.col_idx.insert(with_dense.col_idx.end(), source.col_idx.begin(), source.col_idx.end());
  for (std::size_t k = 0; k < with_dense.col_idx.size(); ++k) with_dense.values.push_back(random_value(3, k));
  expect_order(with_dense);
}

}  // namespace
}  // namespace autospmv::testing
