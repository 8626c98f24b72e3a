// Online tuning on streams of the caller's, with and without captures.
#ifdef AUTOSPMV_CUDA

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/cuda/check.hpp"
#include "core/machine/array.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

class OnlineOnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto gpu = testing::last_gpu();
    if (!gpu) GTEST_SKIP() << "no CUDA device";
    auto options = testing::host_options();
    device_ = *gpu;
    options.device = Place(device_);
    options.effort = Effort::online;
    context_ = std::make_unique<Context>(options);
    use("gen:circuit:3000");
  }

  void use(const char* spec) {
    matrix_ = std::make_unique<Matrix<double>>(testing::make_matrix<double>(spec));
    std::vector<double> x(static_cast<std::size_t>(matrix_->cols()));
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
    x_ = Array<double>::copy_of(x, device_);
    values_changed();
  }

  void values_changed() {
    reference_ = reference_product<double>(data_of(*matrix_).on(device_), 1.0, x_.data(), 0.0, nullptr, device_);
  }

  [[nodiscard]] Array<double> vector() const {
    return Array<double>(static_cast<std::size_t>(matrix_->rows()), device_);
  }

  void multiply(Array<double>& y, cudaStream_t stream) const {
    auto_spmv(*matrix_, x_.span(), y.span(), {.stream = {stream}, .context = context_.get()});
  }

  /// Of what the stream has done, which it waits for.
  [[nodiscard]] bool is_right(const Array<double>& y, cudaStream_t stream) const {
    cuda::check(cudaStreamSynchronize(stream));
    return compare(reference_, y.data(), device_).passed();
  }

  [[nodiscard]] bool settled() const { return plan_for(*matrix_, *context_)->settled(); }

  Device device_;
  std::unique_ptr<Context> context_;
  std::unique_ptr<Matrix<double>> matrix_;
  Array<double> x_;
  Reference reference_;
};

const auto patience = std::chrono::minutes(5);

// A stream that stands still until it is told to go on, though not for good: a kernel that is launched for the first
// time may have to be loaded, which may wait for all streams, and some tools wait for every launch. To be told, and its
// stream waited for, before it goes.
class StandingStill {
 public:
  explicit StandingStill(cudaStream_t stream) { cuda::check(cudaLaunchHostFunc(stream, stand, this)); }
  void go_on() { over_ = true; }

 private:
  static void stand(void* of) {
    const auto& one = *static_cast<StandingStill*>(of);
    while (!one.over_.load() && std::chrono::steady_clock::now() < one.end_) std::this_thread::yield();
  }

  std::chrono::steady_clock::time_point end_ = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  std::atomic<bool> over_{false};
};

// Far ahead of the device, as an iterative solver would be.
TEST_F(OnlineOnDevice, IsRightInManyStreams) {
  const DeviceScope scope(device_);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4, 0);
  for (auto& count : wrong) {
    threads.emplace_back([&] {
      const DeviceScope of_thread(device_);
      cudaStream_t stream = nullptr;
      cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
      const auto deadline = std::chrono::steady_clock::now() + patience;
      for (int round = 0; (round < 50 || !settled()) && std::chrono::steady_clock::now() < deadline; ++round) {
        std::vector<Array<double>> all;
        for (int i = 0; i < 20; ++i) all.push_back(vector());
        synchronize(device_, setup_stream(device_));  // they are made in its order
        for (auto& y : all) multiply(y, stream);
        for (const auto& y : all) count += is_right(y, stream) ? 0 : 1;
      }
      cuda::check(cudaStreamDestroy(stream));
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong, std::vector<int>(4, 0));
  EXPECT_TRUE(settled());
  EXPECT_EQ(plan_for(*matrix_, *context_)->choice().measurement.outcome, Outcome::passed);
}

// Who orders ahead is kept near the device, but what it waits for may come after he has returned.
TEST_F(OnlineOnDevice, WaitsOnceForAStreamThatStandsStill) {
  const DeviceScope scope(device_);
  auto y = vector();
  synchronize(device_, setup_stream(device_));
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  multiply(y, stream);
  cuda::check(cudaStreamSynchronize(stream));
  StandingStill standing(stream);
  constexpr int products = 100;  // as many as a stream takes that stands still
  int long_waits = 0;
  for (int i = 0; i < products; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    multiply(y, stream);
    if (std::chrono::steady_clock::now() - begun > std::chrono::milliseconds(40)) ++long_waits;
  }
  standing.go_on();
  EXPECT_TRUE(is_right(y, stream));
  EXPECT_LT(long_waits, products / 10);
  cuda::check(cudaStreamDestroy(stream));
}

// Nothing else is ever given to its stream: what it multiplies by must stay as long as it has not run, whatever becomes
// of the search. Skewed rows, for which plain CSR stores something.
TEST_F(OnlineOnDevice, ItsFirstProductMayRunLast) {
  const DeviceScope scope(device_);
  use("gen:rmat:12");
  auto first = vector();
  auto y = vector();
  synchronize(device_, setup_stream(device_));
  cudaStream_t late = nullptr;
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&late, cudaStreamNonBlocking));
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  StandingStill standing(late);
  multiply(first, late);
  const auto plan = plan_for(*matrix_, *context_);
  EXPECT_GT(plan->bytes(), 0);
  const auto deadline = std::chrono::steady_clock::now() + patience;
  int wrong = 0;
  for (int i = 0; !plan->settled() && std::chrono::steady_clock::now() < deadline; ++i) {
    multiply(y, stream);
    if (i % 16 == 0) wrong += is_right(y, stream) ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(plan->settled());
  standing.go_on();
  EXPECT_TRUE(is_right(first, late));
  EXPECT_TRUE(is_right(y, stream));
  cuda::check(cudaStreamDestroy(late));
  cuda::check(cudaStreamDestroy(stream));
}

// A graph that was captured in the middle of the search goes on with its operator, and gets new values too.
TEST_F(OnlineOnDevice, KeepsWhatWasCaptured) {
  const DeviceScope scope(device_);
  cudaStream_t stream = nullptr;
  cuda::check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  auto y = vector();
  multiply(y, stream);
  EXPECT_TRUE(is_right(y, stream));
  std::vector<cudaGraphExec_t> replays;
  const auto deadline = std::chrono::steady_clock::now() + patience;
  for (int i = 0; !settled() && std::chrono::steady_clock::now() < deadline; ++i) {
    if (i % 40 == 7) {
      cudaGraph_t graph = nullptr;
      // Global: what the background thread does must not break it.
      cuda::check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
      multiply(y, stream);
      cuda::check(cudaStreamEndCapture(stream, &graph));
      cuda::check(cudaGraphInstantiate(&replays.emplace_back(), graph, 0));
      cuda::check(cudaGraphDestroy(graph));
    }
    multiply(y, stream);
    ASSERT_TRUE(is_right(y, stream)) << "product " << i;
  }
  EXPECT_TRUE(settled());
  std::vector<double> values(static_cast<std::size_t>(matrix_->nnz()));
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = 1 + 1.0 / static_cast<double>(k + 3);
  matrix_->update_values(values, {stream});
  cuda::check(cudaStreamSynchronize(stream));
  values_changed();
  for (auto* replay : replays) {
    fill_bytes(y.data(), 0xff, static_cast<std::size_t>(y.bytes()), device_, {stream});
    cuda::check(cudaGraphLaunch(replay, stream));
    EXPECT_TRUE(is_right(y, stream));
    cuda::check(cudaGraphExecDestroy(replay));
  }
  EXPECT_FALSE(replays.empty());
  cuda::check(cudaStreamDestroy(stream));
}

}  // namespace
}  // namespace autospmv

#endif
