// The bytes are the text of a generator.
#include <string_view>

#include "io/generators.hpp"
#include "io/twin.hpp"
#include "tests/fuzz/support.hpp"

namespace autospmv::fuzzing {
namespace {

constexpr std::int64_t most_bytes = 1 << 14;

template <class T>
std::int64_t bytes_of(const HostCsr<T>& matrix) {
  return matrix.rows * 8 + matrix.nnz() * static_cast<std::int64_t>(4 + sizeof(T));
}

template <class T>
bool make(std::string_view spec, HostCsr<T>& matrix) {
  if (!is_taken([&] { matrix = generate<T>(spec, most_bytes); })) return false;
  require_sound(matrix, Columns::distinct);
  // Random lengths of rows come out a little off.
  require(bytes_of(matrix) <= 2 * most_bytes, "no more is made than may be");
  return true;
}

// Whatever the features of a matrix are, it has a twin.
void require_twin(const HostCsr<float>& matrix) {
  const auto features = twin_features(matrix.cols, matrix.row_ptr, matrix.col_idx);
  for (const double feature : {features.npr_mean, features.npr_std, features.skew, features.bandwidth,
                               features.neighbours, features.similarity}) {
    require(std::isfinite(feature) && feature >= 0, "features are finite and not negative");
  }
  auto pattern = make_twin(matrix.rows, matrix.cols, features, 1);
  const auto nnz = static_cast<std::size_t>(pattern.row_ptr.back());
  require_sound(HostCsr<float>{matrix.rows, matrix.cols, std::move(pattern.row_ptr), std::move(pattern.col_idx),
                               std::vector<float>(nnz)},
                Columns::distinct);
}

void check(std::string_view spec) {
  HostCsr<float> matrix;
  HostCsr<double> in_double;
  if (!make(spec, matrix)) return;
  if (make(spec, in_double)) {
    require(in_double.row_ptr == matrix.row_ptr && in_double.col_idx == matrix.col_idx,
            "the same text gives the same matrix, in any type of value");
  }
  if (matrix.rows > 0) require_twin(matrix);
}

}  // namespace
}  // namespace autospmv::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  autospmv::fuzzing::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
