// What the conformance suite does not reach of the vendor's formats: what they say without a GPU, and one operator that
// many threads and streams use at once, or that is captured into a graph.

#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "formats/vendor/cusparse_functions.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

std::vector<std::string> find_vendor_formats() {
  std::vector<std::string> names;
  for (const auto* format : all_formats<double>()) {
    if (format->info().vendor) names.push_back(format->info().name);
  }
  return names;
}

const std::vector<std::string> vendor_formats = find_vendor_formats();

TEST(Cusparse, EveryFormatOfItIsAVendors) {
  for (const auto* format : all_formats<double>()) {
    EXPECT_EQ(format->info().vendor, format->info().name.rfind("cusparse_", 0) == 0) << format->info().name;
  }
  EXPECT_GE(vendor_formats.size(), 5U);
}

TEST(Cusparse, FindsItsFunctionsWhenTheyAreCalled) {
  namespace cusparse = formats::cusparse;
  EXPECT_TRUE(cusparse::loaded::cusparseSpMV.is_there());
  const cusparse::loaded::Function<cusparseStatus_t()> unknown("cusparseUnknown");
  EXPECT_FALSE(unknown.is_there());
  EXPECT_THROW((void)unknown(), Unsupported);
}

Features features_of(const std::string& spec) { return extract_features(generate<double>(spec).view(), host_device()); }

Result<Cost> first_prediction(const std::string& format, const Features& features, const Device& device) {
  const auto* found = find_format<double>(format);
  return found->predict(features, found->params(features, device).combinations().front(), device);
}

// One that none of them refuses: full blocks, and rows of one length.
constexpr const char* for_all = "gen:dense:64";

TEST(Cusparse, PredictsWhereThereIsAGpuAndRefusesTheHost) {
  const auto features = features_of(for_all);
  for (const auto& format : vendor_formats) {
    const auto cost = first_prediction(format, features, described_gpu());
    ASSERT_TRUE(cost.admitted()) << format << ": " << cost.reason();
    EXPECT_GT(cost->bytes, 8.0 * static_cast<double>(features.nnz)) << format;
    EXPECT_FALSE(first_prediction(format, features, host_device()).admitted()) << format;
  }
}

[[noreturn]] void predict_all_and_look_for_the_library() {
  const auto features = features_of(for_all);
  bool all_admitted = true;
  for (const auto& format : vendor_formats) {
    all_admitted = all_admitted && first_prediction(format, features, described_gpu()).admitted();
  }
  const auto soname = "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR);
  const bool is_loaded = dlopen(soname.c_str(), RTLD_LAZY | RTLD_NOLOAD) != nullptr;
  std::exit(all_admitted && !is_loaded ? 0 : 1);
}

// It takes as long as a search for the best format.
TEST(Cusparse, IsNotLoadedByAPrediction) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(predict_all_and_look_for_the_library(), ::testing::ExitedWithCode(0), "");
}

TEST(Cusparse, RefusesWhatTheLibraryDoesNotTake) {
  const auto features = features_of(for_all);
  for (const auto& format : vendor_formats) {
    auto large = features;
    large.nnz = max_narrow_nnz + 1;
    const auto cost = first_prediction(format, large, described_gpu());
    ASSERT_FALSE(cost.admitted()) << format;
    EXPECT_EQ(cost.reason().rfind("size:", 0), 0U) << cost.reason();
    auto crowded = features;
    crowded.rows = crowded.cols = 1;
    EXPECT_FALSE(first_prediction(format, crowded, described_gpu()).admitted()) << format;
  }
}

TEST(Cusparse, RefusesBlocksThatAreNotFullOrDoNotFit) {
  const auto* bsr = find_format<double>("cusparse_bsr");
  EXPECT_FALSE(bsr->predict(features_of("gen:pde:9"), {{"b", 3}}, described_gpu()).admitted());
  const auto full = features_of("gen:dense:20");
  EXPECT_TRUE(bsr->predict(full, {{"b", 4}}, described_gpu()).admitted());
  const auto cut = bsr->predict(full, {{"b", 3}}, described_gpu());
  ASSERT_FALSE(cut.admitted());
  EXPECT_EQ(cut.reason().rfind("size:", 0), 0U) << cut.reason();
}

class CusparseOnDevice : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    const auto found = cuda_devices();
    if (found.empty()) GTEST_SKIP() << "no CUDA device";
    device = found.front();
    const auto source = generate<double>(for_all);
    matrix = std::make_unique<Matrix<double>>(
        Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values));
    const auto view = data_of(*matrix).on(device);
    const auto* format = find_format<double>(GetParam());
    const auto params = format->params(extract_features(view, device), device).combinations();
    auto built = format->build(view, params.back(), device);
    ASSERT_TRUE(built.admitted()) << built.reason();
    product = std::move(*built);
  }

  [[nodiscard]] Array<double> random_x(std::uint64_t seed) const {
    return Array<double>::copy_of(make_x<double>(matrix->cols(), Entries::finite, seed), device);
  }

  void expect_right(const Array<double>& x, const Array<double>& y) const {
    const auto view = data_of(*matrix).on(device);
    const auto reference = reference_product<double>(view, 1, x.data(), 0, nullptr, device);
    EXPECT_TRUE(compare(reference, y.data(), device).passed());
  }

  Device device;
  std::unique_ptr<Matrix<double>> matrix;
  std::unique_ptr<Operator<double>> product;
};

TEST_P(CusparseOnDevice, OneOperatorServesManyThreadsAndStreams) {
  constexpr int workers = 4;
  std::vector<Array<double>> x;
  std::vector<Array<double>> y;
  for (int i = 0; i < workers; ++i) {
    x.push_back(random_x(static_cast<std::uint64_t>(i)));
    y.emplace_back(static_cast<std::size_t>(matrix->rows()), device);
  }
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < workers; ++i) {
    threads.emplace_back([&, i] {
      const DeviceScope scope(device);
      cudaStream_t stream = nullptr;
      cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      for (int round = 0; round < 50; ++round) product->apply(1, x[i].data(), 0, y[i].data(), {stream});
      cuda::check(cudaStreamSynchronize(stream));
      cuda::check(cudaStreamDestroy(stream));
    });
  }
  threads.clear();
  for (std::size_t i = 0; i < workers; ++i) expect_right(x[i], y[i]);
}

TEST_P(CusparseOnDevice, NewValuesReachACapturedProduct) {
  const DeviceScope scope(device);
  const auto x = random_x(7);
  Array<double> y(static_cast<std::size_t>(matrix->rows()), device);
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  product->apply(1, x.data(), 0, y.data(), {stream});
  cuda::check(cudaStreamEndCapture(stream, &graph));
  cuda::check(cudaGraphInstantiate(&replay, graph, 0));
  std::vector<double> values(static_cast<std::size_t>(matrix->nnz()));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = random_value(23, k);
  matrix->update_values(values, setup_stream(device));
  EXPECT_TRUE(product->update_values(data_of(*matrix).on(device), setup_stream(device)));
  synchronize(device);
  cuda::check(cudaGraphLaunch(replay, stream));
  cuda::check(cudaStreamSynchronize(stream));
  expect_right(x, y);
  cuda::check(cudaGraphExecDestroy(replay));
  cuda::check(cudaGraphDestroy(graph));
  cuda::check(cudaStreamDestroy(stream));
}

INSTANTIATE_TEST_SUITE_P(All, CusparseOnDevice, ::testing::ValuesIn(vendor_formats),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace autospmv::testing
