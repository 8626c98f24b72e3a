// Every operator of a matrix on a CUDA device, for tests of what they do to streams.
#pragma once

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {

class OwnStream {
 public:
  OwnStream() { cuda::check(cudaStreamCreateWithFlags(&stream_.handle, cudaStreamNonBlocking)); }
  ~OwnStream() { cuda::ignore(cudaStreamDestroy(stream_.handle)); }
  OwnStream(const OwnStream&) = delete;
  OwnStream& operator=(const OwnStream&) = delete;

  [[nodiscard]] Stream get() const { return stream_; }
  void wait() const { cuda::check(cudaStreamSynchronize(stream_.handle)); }

 private:
  Stream stream_;
};

class CudaOperators : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto found = cuda_devices();
    if (found.empty()) GTEST_SKIP() << "no CUDA device";
    device_ = found.front();
  }

  void set_matrix(const HostCsr<double>& source) {
    matrix_ = std::make_unique<Matrix<double>>(matrix_of(source));
    features_ = extract_features(data_of(*matrix_).on(device_), device_);
  }

  /// Calls body(operator, whether its products can be captured) for every choice of parameters of every format that
  /// takes the matrix as it is now.
  void for_each_built(const std::function<void(Operator<double>&, bool)>& body) {
    int built_of_all = 0;
    for (const auto* format : all_formats<double>()) {
      if (!format->info().runs_on(Backend::cuda)) continue;
      for (const auto& params : format->params(features_, device_).combinations()) {
        SCOPED_TRACE(format->info().name + " " + params.text());
        auto built = format->build(data_of(*matrix_).on(device_), params, device_);
        if (!built) continue;
        ++built_of_all;
        body(**built, format->capturable(params, device_));
        synchronize(device_);
      }
    }
    EXPECT_GT(built_of_all, 0);
  }

  [[nodiscard]] Array<double> random_x(std::uint64_t seed) const {
    return Array<double>::copy_of(make_x<double>(matrix_->cols(), Entries::finite, seed), device_);
  }
  [[nodiscard]] Array<double> empty_y() const {
    Array<double> y(static_cast<std::size_t>(matrix_->rows()), device_);
    synchronize(device_, setup_stream(device_));
    return y;
  }
  void clear(Array<double>& y, Stream stream) const {
    fill_bytes(y.data(), 0xff, static_cast<std::size_t>(y.bytes()), device_, stream);
  }
  void set_values(const std::vector<double>& values, const OwnStream& stream) {
    matrix_->update_values(values, stream.get());
    stream.wait();
  }
  void expect_right(const Array<double>& x, const Array<double>& y) const {
    const auto view = data_of(*matrix_).on(device_);
    const auto reference = reference_product<double>(view, 1, x.data(), 0, nullptr, device_);
    const auto comparison = compare(reference, y.data(), device_);
    EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows, the first of them "
                                     << comparison.first_wrong;
  }

  Device device_;
  std::unique_ptr<Matrix<double>> matrix_;
  Features features_;
};

}  // namespace autospmv::testing
