// What the conformance suite does not reach of csr_merge: rows that cross many blocks, wide row offsets, every choice
// of parameters whatever the matrix, products that share scratch, and predictions that are near what is built.

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

std::vector<Params> every_choice(Backend backend, int full_value_bits) {
  const ParamSpace host{{"hub", {0, 1}}, {"T", {2, 4}}};
  const ParamSpace cuda{{"hub", {0, 1}},
                        {"fixup", {0, 1}},
                        {"items", {3, 7, 11, 15}},
                        {"block", {128, 256}},
                        {"value_bits", {full_value_bits}}};
  return (backend == Backend::host ? host : cuda).combinations();
}

// One dense row amid short ones, one that ends where blocks do or nearly so, and a long stretch of empty rows.
template <class T>
HostCsr<T> irregular() {
  return from_lengths<T>(9000, 40000, [](std::int64_t row) -> std::int64_t {
    if (row == 1234) return 150001;
    if (row == 1300) return 2815 * 3;
    if (row > 3000 && row < 8000) return 0;
    return row % 100 == 7 ? 601 : row % 4;
  });
}

template <class T>
struct Problem {
  explicit Problem(const HostCsr<T>& source, const Device& on)
      : device(on),
        matrix(Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values)),
        view(data_of(matrix).on(device)),
        x(Array<T>::copy_of(make_x<T>(source.cols, Entries::finite, 3), device)),
        y0(make_x<T>(source.rows, Entries::finite, 5)),
        reference(reference_product(view, T{2}, x.data(), T{-1}, Array<T>::copy_of(y0, device).data(), device)) {}

  std::unique_ptr<Operator<T>> build(const Params& params) const {
    auto built = find_format<T>("csr_merge")->build(view, params, device);
    EXPECT_TRUE(built.admitted()) << built.reason();
    return built ? std::move(*built) : nullptr;
  }

  void expect_right(const Array<T>& y) const {
    const auto comparison = compare(reference, y.data(), device);
    EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows, the first " << comparison.first_wrong;
  }

  Device device;
  Matrix<T> matrix;
  CsrView<T> view;
  Array<T> x;
  std::vector<T> y0;
  Reference reference;
};

template <class T>
void expect_right_products(const Problem<T>& problem, const Params& params) {
  SCOPED_TRACE(params.text() + " on " + std::string(name_of(problem.device.backend)));
  const auto op = problem.build(params);
  ASSERT_NE(op, nullptr);
  const auto stream = setup_stream(problem.device);
  std::vector<T> first;
  for (int product = 0; product < 2; ++product) {
    auto y = Array<T>::copy_of(problem.y0, problem.device);
    op->apply(T{2}, problem.x.data(), T{-1}, y.data(), stream);
    synchronize(problem.device, stream);
    problem.expect_right(y);
    if (product == 0) first = y.to_vector();
    EXPECT_EQ(std::memcmp(first.data(), y.to_vector().data(), first.size() * sizeof(T)), 0);
  }
}

template <class T>
void expect_right_with_every_choice(int full_value_bits) {
  for (const auto& device : devices()) {
    for (const auto& source : {irregular<T>(), generate<T>("gen:rmat:12"),
                               from_lengths<T>(1, 300000, [](auto) { return std::int64_t{300000}; })}) {
      const Problem<T> problem(source, device);
      for (const auto& params : every_choice(device.backend, full_value_bits)) expect_right_products(problem, params);
    }
  }
}

TEST(CsrMerge, EveryChoiceIsRightAndTheSameTwiceFloat) { expect_right_with_every_choice<float>(32); }
TEST(CsrMerge, EveryChoiceIsRightAndTheSameTwiceDouble) { expect_right_with_every_choice<double>(64); }

TEST(CsrMerge, WideOffsetsGiveTheSameProduct) {
  const auto source = irregular<double>();
  for (const auto& device : devices()) {
    const Problem<double> problem(source, device);
    const auto wide = Array<std::int64_t>::copy_of(source.row_ptr, device);
    auto view = problem.view;
    view.row_ptr = wide.data();
    ASSERT_TRUE(view.wide());
    for (const auto& params : every_choice(device.backend, 64)) {
      SCOPED_TRACE(params.text() + " on " + std::string(name_of(device.backend)));
      const auto built = find_format<double>("csr_merge")->build(view, params, device);
      ASSERT_TRUE(built.admitted()) << built.reason();
      auto y = Array<double>::copy_of(problem.y0, device);
      (*built)->apply(2, problem.x.data(), -1, y.data(), setup_stream(device));
      synchronize(device, setup_stream(device));
      problem.expect_right(y);
    }
  }
}

// On CUDA the threads work on two streams, on the host each for itself; they share what the operator keeps for a
// product.
TEST(CsrMerge, ProductsThatShareScratchDoNotMixTheirVectors) {
  for (const auto& device : devices()) {
    const Problem<double> problem(irregular<double>(), device);
    const auto negative = [&] {
      auto x = problem.x.to_vector();
      for (auto& element : x) element = -element;
      return Array<double>::copy_of(x, device);
    }();
    for (const auto& params : every_choice(device.backend, 64)) {
      SCOPED_TRACE(params.text() + " on " + std::string(name_of(device.backend)));
      const auto op = problem.build(params);
      ASSERT_NE(op, nullptr);
      auto y = Array<double>::copy_of(problem.y0, device);
      auto other_y = Array<double>::copy_of(problem.y0, device);
      const auto multiply = [&](double alpha, const Array<double>& x, Array<double>& to, Stream stream) {
        const DeviceScope scope(device);
        for (int product = 0; product < 20; ++product) op->apply(alpha, x.data(), 0, to.data(), stream);
        synchronize(device, stream);
      };
      std::thread other([&] { multiply(-2, negative, other_y, setup_stream(device)); });
      multiply(2, problem.x, y, Stream{});
      other.join();
      EXPECT_EQ(y.to_vector(), other_y.to_vector());  // both signs are turned
    }
  }
}

TEST(CsrMerge, PredictedStorageIsNearWhatIsBuilt) {
  for (const auto& device : devices()) {
    for (const auto* name : {"gen:circuit:60000", "gen:rmat:16", "gen:dense:300"}) {
      const Problem<double> problem(generate<double>(name), device);
      const auto features = extract_features(problem.view, device);
      for (const auto& params : every_choice(device.backend, 64)) {
        SCOPED_TRACE(std::string(name) + " " + params.text());
        const auto cost = find_format<double>("csr_merge")->predict(features, params, device);
        ASSERT_TRUE(cost.admitted()) << cost.reason();
        const auto op = problem.build(params);
        ASSERT_NE(op, nullptr);
        const auto bytes = static_cast<double>(op->bytes());
        EXPECT_NEAR(cost->storage_bytes, bytes, 0.2 * bytes + 64);
      }
    }
  }
}

TEST(CsrMerge, HubColumnsAreTriedOnPowerLawGraphsOnly) {
  const auto device = host_device();
  const auto* format = find_format<double>("csr_merge");
  const auto tries_hub = [&](const std::string& spec) {
    const Problem<double> problem(generate<double>(spec), device);
    const auto space = format->params(extract_features(problem.view, device), device);
    return space.combinations().front()["hub"] == 1;
  };
  EXPECT_TRUE(tries_hub("gen:rmat:17"));
  EXPECT_FALSE(tries_hub("gen:rmat:10"));  // all of x is near
  EXPECT_FALSE(tries_hub("gen:pde:40"));
  EXPECT_FALSE(tries_hub("gen:circuit:60000"));
}

TEST(CsrMerge, MoreRowsThanTilesCountAreRefused) {
  Features features;
  features.rows = features.cols = std::int64_t{1} << 31;
  features.nnz = 10;
  Device device;
  device.backend = Backend::cuda;
  device.memory_bytes = std::int64_t{1} << 50;
  const auto* format = find_format<double>("csr_merge");
  for (const auto& params : every_choice(Backend::cuda, 64)) {
    EXPECT_FALSE(format->predict(features, params, device).admitted());
  }
  features.rows = features.cols = 1000;
  features.nnz = std::int64_t{1} << 40;
  EXPECT_FALSE(format->predict(features, every_choice(Backend::cuda, 64).front(), device).admitted());
}

}  // namespace
}  // namespace autospmv::testing
