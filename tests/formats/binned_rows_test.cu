// Products of rows in bins that are several kernels: side by side, from threads at once, and in a captured graph.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/array.hpp"
#include "core/cuda/check.hpp"
#include "core/matrix_data.hpp"
#include "core/reference.hpp"
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

std::vector<std::pair<const char*, Params>> several_kernels() {
  const Params common{{"fused", 0}, {"split", 16}, {"block", 128}, {"entries", 2}, {"value_bits", 64}};
  const auto with = [&](const char* name, std::int64_t value) {
    auto params = common;
    params.set(name, value);
    return params;
  };
  return {{"acsr", with("tail", 0)},
          {"acsr", with("tail", 512)},
          {"suraa", with("max_child_threads", 0)},
          {"suraa", with("max_child_threads", 1024)},
          {"csr_binned", with("granularity", 8)}};
}

TEST(BinnedRowsOnCuda, AreMultipliedEagerlyAndFromGraphsAtOnce) {
  if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device";
  const auto device = cuda_devices().front();
  const auto source = from_lengths<double>(5000, 9000, [](std::int64_t row) -> std::int64_t {
    return row == 4000 ? 8999 : row % 100 == 7 ? 1500 : row % 11 == 0 ? row % 411 : row % 5;
  });
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

}  // namespace
}  // namespace autospmv::testing
