// The bytes are two lines: the text of a generator, and a candidate, FORMAT NAME=VALUE ... What is refused is refused
// with a reason; what is built gives the right product.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "core/trial.hpp"
#include "formats/format.hpp"
#include "io/generators.hpp"
#include "tests/fuzz/support.hpp"

namespace autospmv::fuzzing {
namespace {

constexpr std::int64_t most_bytes = 1 << 14;

// Formats may pad small matrices as they like, but not by more than that.
constexpr std::int64_t most_storage = 64 << 20;

template <class T>
void require_product(const Operator<T>& op, const HostCsr<T>& matrix) {
  const auto x = ramp<T>(matrix.cols);
  std::vector<T> y(static_cast<std::size_t>(matrix.rows), std::numeric_limits<T>::quiet_NaN());
  op.apply(T{1}, x.data(), T{0}, y.data(), {});
  const auto sum = direct_sum(matrix, x);
  require(sum.is_like(y), "y = A x");
  const auto first = y;
  op.apply(T{1}, x.data(), T{0}, y.data(), {});
  require(first == y, "the same bits again, on one thread");
  op.apply(T{-1}, x.data(), T{1}, y.data(), {});
  DirectSum nothing = sum;
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    nothing.add(r, static_cast<double>(-first[static_cast<std::size_t>(r)]), 1);
  }
  for (auto& value : y) value = -value;
  require(nothing.is_like(std::vector<T>(y)), "y - A x = 0");
}

template <class T>
void build(const HostCsr<T>& matrix, const Candidate& candidate) {
  static const auto device = host_device();
  const auto* const format = find_format<T>(candidate.format);
  if (format == nullptr) return;
  const auto features = extract_features(matrix.view(), device);
  const auto cost = format->predict(features, candidate.params, device);
  if (cost) {
    require(std::isfinite(cost->bytes) && cost->bytes >= 0, "a product moves some bytes");
    require(std::isfinite(cost->storage_bytes) && cost->storage_bytes >= 0, "storage has a size");
    require(cost->imbalance >= 1 && cost->launches >= 0, "a cost is one");
  } else {
    require(!cost.reason().empty(), "a refusal has a reason");
  }
  const auto view = matrix.view();
  auto built = format->build(view, candidate.params, device);
  if (!built) {
    require(!built.reason().empty(), "a refusal has a reason");
    return;
  }
  require((*built)->bytes() >= 0 && (*built)->bytes() <= most_storage, "storage has a sensible size");
  require_product(**built, matrix);
  // Other values need not fit where few bits were enough.
  auto other = matrix;
  for (std::size_t k = 0; k < other.values.size(); ++k) other.values[k] += static_cast<T>(k % 7);
  if ((*built)->update_values(other.view(), {})) {
    require_product(**built, other);
  } else {
    require(!(*built)->takes_any_values(), "whoever takes any values takes these");
  }
  const auto wide = format->build(other.view(), format->for_any_values(candidate.params), device);
  if (wide) require_product(**wide, other);
}

template <class T>
void check(std::string_view spec, const Candidate& candidate) {
  HostCsr<T> matrix;
  if (is_taken([&] { matrix = generate<T>(spec, most_bytes); }) && matrix.cols <= most_bytes) build(matrix, candidate);
}

void check(std::string_view text) {
  const auto line = text.find('\n');
  if (line == std::string_view::npos) return;
  const auto words = text.substr(line + 1);
  const auto name = words.substr(0, words.find(' '));
  const auto params = Params::parse(words.substr(std::min(words.size(), name.size() + 1)));
  if (!params) return;
  const Candidate candidate{std::string(name), *params};
  check<double>(text.substr(0, line), candidate);
  check<float>(text.substr(0, line), candidate);
}

}  // namespace
}  // namespace autospmv::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  autospmv::fuzzing::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
