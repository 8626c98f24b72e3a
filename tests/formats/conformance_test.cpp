// Every format, with every choice of its parameters, on every scenario and every backend there is: the product passes
// the verification that every candidate passes before it can win, special values in x come out as in the reference,
// nothing of the matrix is changed, and what is declared deterministic is.

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/equal.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/format.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"
#include "tuner/measure/verifier.hpp"

namespace autospmv::testing {
namespace {

// y between two guards whose every byte is known.
template <class T>
class GuardedVector {
 public:
  GuardedVector(std::vector<T> start, Place place) : size_(start.size()), place_(place) {
    const T guard = static_cast<T>(guard_value);
    start.insert(start.begin(), guard_size, guard);
    start.insert(start.end(), guard_size, guard);
    storage_ = Array<T>::copy_of(start, place);
  }

  T* data() { return storage_.data() + guard_size; }

  std::vector<T> values() const {
    const auto all = storage_.to_vector();
    return {all.begin() + guard_size, all.begin() + guard_size + static_cast<std::ptrdiff_t>(size_)};
  }

  bool guards_intact() const {
    const auto all = storage_.to_vector();
    for (std::size_t i = 0; i < guard_size; ++i) {
      if (all[i] != static_cast<T>(guard_value) || all[all.size() - 1 - i] != static_cast<T>(guard_value)) return false;
    }
    return true;
  }

 private:
  static constexpr std::size_t guard_size = 256;
  static constexpr double guard_value = -12345;
  std::size_t size_;
  Place place_;
  Array<T> storage_;
};

// One scenario on one device: what all formats share.
template <class T>
struct Case {
  Case(const Scenario<T>& scenario, const Device& on, Operation op = Operation::plain) : device(on) {
    const auto source = scenario.make();
    matrix = std::make_unique<Matrix<T>>(
        Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values));
    operand = detail::Access::state_of(*matrix)->data;
    if (op == Operation::transposed) operand = MatrixData<T>::transposed(operand, device);
    view = operand->on(device);
    x = Array<T>::copy_of(make_x<T>(view.cols, scenario.x, 3), device);
    x_copy = Array<T>::copy_of(make_x<T>(view.cols, scenario.x, 3), device);
    y0 = make_x<T>(view.rows, Entries::finite, 5);
    features = extract_features(view, device);
    special_x = scenario.x != Entries::finite;
  }

  Device device;
  std::unique_ptr<Matrix<T>> matrix;
  std::shared_ptr<const MatrixData<T>> operand;
  CsrView<T> view;
  Array<T> x;
  Array<T> x_copy;
  std::vector<T> y0;
  Features features;
  bool special_x;
};

template <class T>
void expect_product(const Case<T>& on, const Operator<T>& op, T alpha, T beta) {
  SCOPED_TRACE("alpha=" + std::to_string(alpha) + " beta=" + std::to_string(beta));
  const auto y0 = Array<T>::copy_of(on.y0, on.device);
  const auto reference = reference_product(on.view, alpha, on.x.data(), beta, y0.data(), on.device);
  // With beta = 0, y may hold anything and must not be read.
  auto start = on.y0;
  if (beta == T{0}) start.assign(start.size(), std::numeric_limits<T>::quiet_NaN());
  GuardedVector<T> y(start, on.device);
  const auto stream = setup_stream(on.device);
  op.apply(alpha, on.x.data(), beta, y.data(), stream);
  synchronize(on.device, stream);
  const auto comparison = compare(reference, static_cast<const T*>(y.data()), on.device);
  EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows, the first of them "
                                   << comparison.first_wrong << ", worst error " << comparison.worst_error;
  EXPECT_TRUE(y.guards_intact());
  EXPECT_TRUE(equal_bytes(on.x.data(), on.x_copy.data(), static_cast<std::size_t>(on.x.bytes()), on.device));
}

template <class T>
void expect_verified(Verifier<T>& verifier, const Operator<T>& op) {
  Measurement measurement;
  verifier.verify(op, measurement);
  EXPECT_EQ(measurement.outcome, Outcome::passed) << measurement.detail << ", worst error " << measurement.worst_error;
}

template <class T>
std::vector<T> product(const Case<T>& on, const Operator<T>& op) {
  GuardedVector<T> y(on.y0, on.device);
  op.apply(T{1}, on.x.data(), T{0}, y.data(), setup_stream(on.device));
  return y.values();
}

template <class T>
void expect_determinism(const Case<T>& on, const Operator<T>& op) {
  const auto first = product(on, op);
  const auto second = product(on, op);
  EXPECT_EQ(first.empty() ? 0 : std::memcmp(first.data(), second.data(), first.size() * sizeof(T)), 0);
}

// What the process holds on its heap; always 0 where sanitizers replace that.
std::int64_t heap_bytes() {
  const auto heap = mallinfo2();
  return static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
}

// What it says that it allocated is what it holds on the heap, but for what aligning its arrays takes: those of 2 MiB
// and more are whole pages of that size, and one more to begin with. A device's memory is pooled, and cannot be asked.
void expect_bytes(std::int64_t bytes, std::int64_t held, const Cost& predicted, const Device& device) {
  const std::int64_t slack = 32'768 * std::max(1, device.multiprocessors);
  if (device.backend == Backend::host && heap_bytes() > 0) {
    EXPECT_GE(held + slack, bytes);
    constexpr std::int64_t page = std::int64_t{2} << 20;
    const std::int64_t aligning = bytes < page ? bytes / 4 : std::max(bytes / 2, 2 * page);
    EXPECT_LE(held, bytes + aligning + slack);
  } else if (predicted.storage_bytes > 1e6) {
    EXPECT_GT(10 * static_cast<double>(bytes), predicted.storage_bytes);
  }
}

template <class T>
void expect_conformance(const Format<T>& format, const Case<T>& on, const Params& params, Verifier<T>& verifier) {
  SCOPED_TRACE(format.info().name + " " + params.text());
  const auto cost = format.predict(on.features, params, on.device);
  if (!cost) {
    EXPECT_FALSE(cost.reason().empty());
    return;
  }
  const auto before = fingerprint_of(on.view, on.device);
  const auto heap_before = heap_bytes();
  auto built = format.build(on.view, params, on.device);
  if (!built) {
    EXPECT_FALSE(built.reason().empty());
    return;
  }
  expect_bytes((*built)->bytes(), heap_bytes() - heap_before, *cost, on.device);
  expect_verified(verifier, **built);
  if (on.special_x) {
    expect_product<T>(on, **built, 1, 0);
    expect_product<T>(on, **built, static_cast<T>(-1.5), static_cast<T>(0.75));
  }
  if (format.deterministic(params, on.device)) expect_determinism(on, **built);
  EXPECT_EQ(before, fingerprint_of(on.view, on.device));
}

template <class T>
void expect_conformance(const std::string& format_name, const std::string& scenario_name,
                        Operation op = Operation::plain) {
  const auto* format = find_format<T>(format_name);
  ASSERT_NE(format, nullptr);
  for (const auto& scenario : scenarios<T>()) {
    if (scenario.name != scenario_name) continue;
    for (const auto& device : devices()) {
      SCOPED_TRACE(std::string(name_of(device.backend)) + " " + std::string(value_type_name<T>()));
      if (!format->info().runs_on(device.backend)) continue;
      const Case<T> on(scenario, device, op);
      Verifier<T> verifier(on.view, device, 7);
      for (const auto& params : format->params(on.features, device).combinations()) {
        expect_conformance(*format, on, params, verifier);
      }
    }
  }
}

class Conformance : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(Conformance, Float) { expect_conformance<float>(std::get<0>(GetParam()), std::get<1>(GetParam())); }
TEST_P(Conformance, Double) { expect_conformance<double>(std::get<0>(GetParam()), std::get<1>(GetParam())); }
TEST_P(Conformance, Transposed) {
  expect_conformance<double>(std::get<0>(GetParam()), std::get<1>(GetParam()), Operation::transposed);
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto* format : all_formats<double>()) names.push_back(format->info().name);
  return names;
}

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const auto& scenario : scenarios<double>()) names.push_back(scenario.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(All, Conformance,
                         ::testing::Combine(::testing::ValuesIn(format_names()), ::testing::ValuesIn(scenario_names())),
                         [](const auto& test) { return std::get<0>(test.param) + "_" + std::get<1>(test.param); });

// Whether one of its candidates gives the right product.
bool multiplies(const Format<double>& format, const Case<double>& on, Verifier<double>& verifier) {
  for (const auto& params : format.params(on.features, on.device).combinations()) {
    const auto built = format.build(on.view, params, on.device);
    if (!built) continue;
    Measurement measurement;
    verifier.verify(**built, measurement);
    if (measurement.outcome == Outcome::passed) return true;
  }
  return false;
}

// A suite in which everything is refused would pass without having multiplied anything.
TEST(ConformanceSuite, EveryFormatMultipliesSomething) {
  for (const auto& device : devices()) {
    std::set<std::string> multiplied;
    for (const auto& scenario : scenarios<double>()) {
      constexpr std::array some{"grid", "circuit", "blocks", "even_rows"};
      if (std::find(some.begin(), some.end(), scenario.name) == some.end()) continue;
      const Case<double> on(scenario, device);
      Verifier<double> verifier(on.view, device, 7);
      for (const auto* format : all_formats<double>()) {
        if (!format->info().runs_on(device.backend) || multiplied.contains(format->info().name)) continue;
        if (multiplies(*format, on, verifier)) multiplied.insert(format->info().name);
      }
    }
    for (const auto* format : all_formats<double>()) {
      if (!format->info().runs_on(device.backend)) continue;
      EXPECT_TRUE(multiplied.contains(format->info().name)) << format->info().name << " on " << name_of(device.backend);
    }
  }
}

TEST(ConformanceSuite, RunsOnCuda) {
  if (!built_with_cuda) GTEST_SKIP() << "built without CUDA: conformance was tested on the host only";
  if (cuda_devices().empty()) GTEST_SKIP() << "no CUDA device: conformance was tested on the host only";
  EXPECT_EQ(devices().size(), 2U);
}

// ---- Parameters that are refused.

// As parameters, whatever else speaks against the matrix: who names a candidate is told what there is.
void expect_refused_as_params(const Refusal& refusal, const std::string& reason) {
  EXPECT_TRUE(refusal.of_params) << refusal.reason;
  EXPECT_NE(refusal.reason.find(reason), std::string::npos) << refusal.reason;
}

// By the prediction, and where there is the device by the conversion too.
void expect_refused_as_params(const Format<double>& format, const Case<double>& on, const Device& device,
                              const Params& params, const std::string& reason) {
  SCOPED_TRACE(format.info().name + " " + params.text() + " on " + std::string(name_of(device.backend)));
  const auto cost = format.predict(on.features, params, device);
  ASSERT_FALSE(cost.admitted());
  expect_refused_as_params(cost.refusal(), reason);
  if (device.backend != on.device.backend) return;
  const auto built = format.build(on.view, params, device);
  ASSERT_FALSE(built.admitted());
  expect_refused_as_params(built.refusal(), reason);
}

Params without(const Params& params, std::string_view name) {
  Params fewer;
  for (const auto& one : params.values()) {
    if (one.name != name) fewer.set(one.name, one.value);
  }
  return fewer;
}

// Each of them; their number.
int expect_params_refused(const Format<double>& format, const Case<double>& on, const Device& device,
                          const Params& params) {
  const auto refused = [&](const Params& wrong, const std::string& reason) {
    expect_refused_as_params(format, on, device, wrong, reason);
  };
  auto unknown = params;
  unknown.set("no_such_parameter", 1);
  refused(unknown, "there is no 'no_such_parameter'");
  for (const auto& [name, value] : params.values()) {
    const std::string text(name);
    refused(unknown, text);
    auto wrong = params;
    wrong.set(name, -7);
    refused(wrong, text + "=-7 is not ");
    const auto fewer = without(params, name);
    EXPECT_EQ(fewer.values().size() + 1, params.values().size());
    refused(fewer, "'" + text + "' is missing");
  }
  return static_cast<int>(params.values().size());
}

// The parameters of a GPU are refused by predictions without one too.
TEST(ConformanceSuite, UnknownAndMissingParametersAreRefused) {
  std::vector<Device> asked = devices();
  if (asked.size() == 1) asked.push_back(described_gpu());
  for (const auto& device : asked) {
    const auto matrices_at = device.backend == Backend::cuda && cuda_devices().empty() ? host_device() : device;
    const Case<double> on({"grid", [] { return generate<double>("gen:pde:6"); }}, matrices_at);
    const Case<double> elsewhere({"circuit", [] { return generate<double>("gen:circuit:2000"); }}, matrices_at);
    std::set<std::string> with_params;
    for (const auto* format : all_formats<double>()) {
      if (!format->info().runs_on(device.backend)) continue;
      const auto params = format->params(on.features, device).combinations().front();
      const auto cost = format->predict(on.features, params, device);
      EXPECT_TRUE(cost.admitted() || !cost.refusal().of_params) << format->info().name << ": " << cost.reason();
      if (matrices_at.backend == device.backend) {
        const auto built = format->build(on.view, params, device);
        EXPECT_TRUE(built.admitted() || !built.refusal().of_params) << format->info().name << ": " << built.reason();
        EXPECT_TRUE(built.admitted() || device.backend == Backend::cuda) << format->info().name;
      }
      for (const auto* matrix : {&on, &elsewhere}) {
        if (expect_params_refused(*format, *matrix, device, params) > 0) with_params.insert(format->info().name);
      }
    }
    for (const auto* name : {"csr_vector", "hyb", "sell_p"}) EXPECT_TRUE(with_params.contains(name)) << name;
  }
}

TEST(Allowed, HoldsAndNamesItsValues) {
  const formats::Allowed listed{"T", {1, 2, 4}};
  EXPECT_TRUE(listed.holds(4));
  EXPECT_FALSE(listed.holds(3));
  EXPECT_EQ(listed.text(), "1, 2 or 4");
  EXPECT_EQ((formats::Allowed{"T", {8}}).text(), "8");
  const formats::Allowed any{"K", {0, std::numeric_limits<std::int64_t>::max()}, 1};
  EXPECT_TRUE(any.holds(0));
  EXPECT_TRUE(any.holds(std::numeric_limits<std::int64_t>::max()));
  EXPECT_FALSE(any.holds(std::numeric_limits<std::int64_t>::min()));
  EXPECT_EQ(any.text(), "0 or more");
  const formats::Allowed stepped{"hack", {32, 1024}, 32};
  EXPECT_TRUE(stepped.holds(96));
  EXPECT_FALSE(stepped.holds(97));
  EXPECT_FALSE(stepped.holds(1056));
  EXPECT_FALSE(stepped.holds(0));
  EXPECT_EQ(stepped.text(), "32 to 1024 by 32");
}

// ---- New values.

// A matrix, and values of the same kind for it: as few distinct ones, as exact in float, as symmetric.
template <class T>
struct Renewal {
  HostCsr<T> source;
  std::vector<T> values;
  bool equal_still;  ///< those that were equal
};

template <class T>
std::vector<Renewal<T>> renewals() {
  const auto few = [](const HostCsr<T>& pattern) {
    return Renewal<T>{with_few_values(pattern, 9), with_few_values(pattern, 200).values, false};
  };
  // Twice the value has the same digits.
  const auto twice = [](const HostCsr<T>& source) {
    auto values = source.values;
    for (auto& value : values) value *= 2;
    return Renewal<T>{source, values, true};
  };
  return {twice(with_few_values(generate<T>("gen:pde:9"), 1)), few(generate<T>("gen:circuit:1000")),
          few(generate<T>("gen:fem:6:3")), twice(with_float_values(generate<T>("gen:fem:5:3"))),
          twice(generate<T>("gen:circuit:2000"))};
}

// What fits nowhere but in full.
template <class T>
std::vector<T> any_values(std::size_t size) {
  std::vector<T> values(size);
  for (std::size_t k = 0; k < size; ++k) values[k] = static_cast<T>(random_value(29, k));
  return values;
}

template <class T>
bool update(Case<T>& on, Operator<T>& op, const std::vector<T>& values) {
  on.matrix->update_values(values);
  synchronize(on.device);
  on.view = data_of(*on.matrix).on(on.device);
  const bool taken = op.update_values(on.view, setup_stream(on.device));
  if (taken) expect_product<T>(on, op, 1, 0);
  return taken;
}

// Whether the format took the matrix.
template <class T>
bool expect_new_values(const Format<T>& format, const Params& params, const Renewal<T>& renewal, const Device& device) {
  SCOPED_TRACE(format.info().name + " " + params.text());
  Case<T> on({"", [&] { return renewal.source; }}, device);
  auto built = format.build(on.view, params, device);
  if (!built) return false;
  const bool taken = update(on, **built, renewal.values);
  EXPECT_TRUE(taken || (params.find("constants") == 1 && !renewal.equal_still)) << "values of the same kind";
  EXPECT_EQ(update(on, **built, any_values<T>(renewal.values.size())), (*built)->takes_any_values());
  const auto any = format.build(on.view, format.for_any_values(params), device);
  if (any) {
    EXPECT_TRUE((*any)->takes_any_values());
    expect_product<T>(on, **any, 1, 0);
  } else {
    EXPECT_EQ(any.reason().rfind("padding: ", 0), 0U) << any.reason();
  }
  EXPECT_TRUE(update(on, **built, renewal.source.values)) << "the first values again";
  return true;
}

template <class T>
void expect_new_values_reach_every_format() {
  for (const auto& device : devices()) {
    std::set<std::string> renewed;
    for (const auto& renewal : renewals<T>()) {
      const auto features = extract_features(renewal.source.view(), host_device());
      for (const auto* format : all_formats<T>()) {
        if (!format->info().runs_on(device.backend)) continue;
        for (const auto& params : format->params(features, device).combinations()) {
          if (expect_new_values(*format, params, renewal, device)) renewed.insert(format->info().name);
        }
      }
    }
    for (const auto* format : all_formats<T>()) {
      if (!format->info().runs_on(device.backend)) continue;
      EXPECT_TRUE(renewed.contains(format->info().name)) << format->info().name;
    }
  }
}

TEST(ConformanceSuite, NewValuesReachEveryFormatInFloat) { expect_new_values_reach_every_format<float>(); }
TEST(ConformanceSuite, NewValuesReachEveryFormatInDouble) { expect_new_values_reach_every_format<double>(); }

TEST(ConformanceSuite, AMatrixWithOneDenseRowIsRefusedByEllpackAtOnce) {
  Features features;
  features.rows = features.cols = 10'000'000;
  features.nnz = 40'000'000;
  features.npr_mean = 4;
  features.npr_max = 10'000'000;
  const auto* ellr_t = find_format<double>("ellr_t");
  const auto device = host_device();
  const auto cost = ellr_t->predict(features, ellr_t->params(features, device).combinations().front(), device);
  ASSERT_FALSE(cost.admitted());
  EXPECT_NE(cost.reason().find("padding"), std::string::npos) << cost.reason();
}

}  // namespace
}  // namespace autospmv::testing
