// Products of rows in bins that are several kernels: side by side, from threads at once, and in a captured graph, which
// takes none with child kernels.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "formats/format.hpp"
#include "tests/formats/scenarios.hpp"

namespace autospmv::testing {
namespace {

struct OwnStream {
  Stream stream;
  OwnStream() { cuda::check(cudaStreamCreateWithFlags(&stream.handle, cudaStreamNonBlocking)); }
  ~OwnStream() { cuda::ignore(cudaStreamDestroy(stream.handle)); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;
};

// One operator, and vectors of whoever multiplies with it.
struct Product {
  const CsrView<double>& view;
  const Operator<double>& op;
  Device device;
  Array<double> x = Array<double>::copy_of(make_x<double>(view.cols, Entries::finite, 3), device);
  Array<double> y = Array<double>::copy_of(make_x<double>(view.rows, Entries::finite, 5), device);

  void apply(Stream stream) { op.apply(1.5, x.data(), 0.0, y.data(), stream); }

  bool right() const {
    const auto reference = reference_product(view, 1.5, x.data(), 0.0, y.data(), device);
    return compare(reference, y.data(), device).passed();
  }
};

void replay_from_graph(Product& product, Stream stream) {
  cuda::check(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal));
  product.apply(stream);
  product.apply(stream);
  cudaGraph_t graph = nullptr;
  cuda::check(cudaStreamEndCapture(stream.handle, &graph));
  cudaGraphExec_t executable = nullptr;
  cuda::check(cudaGraphInstantiate(&executable, graph, 0));
  cuda::check(cudaGraphDestroy(graph));
  cuda::check(cudaMemsetAsync(product.y.data(), 0xff, static_cast<std::size_t>(product.y.bytes()), stream.handle));
  cuda::check(cudaGraphLaunch(executable, stream.handle));
  cuda::check(cudaStreamSynchronize(stream.handle));
  cuda::check(cudaGraphExecDestroy(executable));
}

Params suraa(std::int64_t children) {
  return {{"fused", 0},
          {"split", 0},
          {"block", 128},
          {"entries", 0},
          {"width", 100},
          {"value_bits", 64},
          {"max_child_threads", children}};
}

Params acsr(std::int64_t children) {
  return {{"fused", 0},   {"split", 0},       {"block", 128},
          {"entries", 2}, {"value_bits", 64}, {"max_child_threads", children}};
}

std::vector<std::pair<const char*, Params>> several_kernels() {
  const Params common{{"fused", 0}, {"split", 16}, {"block", 128}, {"entries", 2}, {"value_bits", 64}};
  const auto with = [&](const char* name, std::int64_t value) {
    auto params = common;
    params.set(name, value);
    return params;
  };
  auto segments = suraa(0);
  segments.set("split", 16);
  return {{"acsr", with("max_child_threads", 0)}, {"suraa", segments}, {"csr_binned", with("granularity", 8)}};
}

HostCsr<double> rows_of_many_lengths() {
  return from_lengths<double>(5000, 9000, [](std::int64_t row) -> std::int64_t {
    return row == 4000 ? 8999 : row % 100 == 7 ? 1500 : row % 11 == 0 ? row % 411 : row % 5;
  });
}

TEST(BinnedRowsOnCuda, AreMultipliedEagerlyAndFromGraphsAtOnce) {
  if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
  const auto device = cuda_devices().front();
  const auto source = rows_of_many_lengths();
  const auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
  const auto view = data_of(matrix).on(device);
  for (const auto& [format, params] : several_kernels()) {
    SCOPED_TRACE(std::string(format) + " " + params.text());
    const auto built = find_format<double>(format)->build(view, params, device);
    ASSERT_TRUE(built.admitted()) << built.reason();
    std::vector<char> right(4, 0);
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < right.size(); ++i) {
      threads.emplace_back([&, i] {
        const DeviceScope scope(device);
        const OwnStream own;
        Product product{view, **built, device};
        for (int round = 0; round < 20; ++round) {
          if (i % 2 == 0) {
            product.apply(own.stream);
          } else {
            replay_from_graph(product, own.stream);
          }
        }
        cuda::check(cudaStreamSynchronize(own.stream.handle));
        right[i] = product.right() ? 1 : 0;
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(right, std::vector<char>(right.size(), 1));
  }
}

// The pool of launches that wait is one for all: it grows while a product is under way, and no product takes it from
// another.
TEST(BinnedRowsOnCuda, OfTwoChildLimitsAreMultipliedAtOnce) {
  if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
  const auto device = cuda_devices().front();
  const DeviceScope scope(device);
  const auto source = rows_of_many_lengths();
  const auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
  const auto view = data_of(matrix).on(device);
  using Children = Params (*)(std::int64_t);
  for (const auto& [format, with_children] :
       {std::pair<const char*, Children>("suraa", suraa), std::pair<const char*, Children>("acsr", acsr)}) {
    SCOPED_TRACE(format);
    const auto* found = find_format<double>(format);
    const auto few = found->build(view, with_children(1024), device);
    ASSERT_TRUE(few.admitted()) << few.reason();
    const OwnStream first_stream;
    const OwnStream second_stream;
    Product first{view, **few, device};
    for (int i = 0; i < 10; ++i) first.apply(first_stream.stream);
    const auto many = found->build(view, with_children(8192), device);
    ASSERT_TRUE(many.admitted()) << many.reason();
    Product second{view, **many, device};
    for (int i = 0; i < 20; ++i) {
      first.apply(first_stream.stream);
      second.apply(second_stream.stream);
    }
    cuda::check(cudaStreamSynchronize(first_stream.stream.handle));
    cuda::check(cudaStreamSynchronize(second_stream.stream.handle));
    EXPECT_TRUE(first.right());
    EXPECT_TRUE(second.right());
  }
}

TEST(BinnedRowsOnCuda, WithChildrenRefuseToBeCaptured) {
  if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
  const auto device = cuda_devices().front();
  const DeviceScope scope(device);
  const auto source = rows_of_many_lengths();
  const auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
  const auto view = data_of(matrix).on(device);
  for (const auto& [format, params] : {std::pair{"suraa", suraa(2048)}, std::pair{"acsr", acsr(2048)}}) {
    SCOPED_TRACE(format);
    const auto* found = find_format<double>(format);
    EXPECT_FALSE(found->capturable(params, device));
    const auto built = found->build(view, params, device);
    ASSERT_TRUE(built.admitted()) << built.reason();
    Product product{view, **built, device};
    const OwnStream own;
    cuda::check(cudaStreamBeginCapture(own.stream.handle, cudaStreamCaptureModeThreadLocal));
    EXPECT_THROW(product.apply(own.stream), Unsupported);
    cudaGraph_t graph = nullptr;
    cuda::check(cudaStreamEndCapture(own.stream.handle, &graph));
    std::size_t nodes = 1;
    cuda::check(cudaGraphGetNodes(graph, nullptr, &nodes));
    EXPECT_EQ(nodes, 0U) << "a refused product leaves nothing in the graph";
    cuda::check(cudaGraphDestroy(graph));
    product.apply(own.stream);
    cuda::check(cudaStreamSynchronize(own.stream.handle));
    EXPECT_TRUE(product.right());
  }
}

}  // namespace
}  // namespace autospmv::testing
