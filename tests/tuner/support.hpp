// Small matrices, contexts on the host, and places for databases.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <unistd.h>

#include "core/matrix/matrix_data.hpp"
#include "core/verify/reference.hpp"
#include "io/generators.hpp"
#include "tuner/context/service.hpp"
#include "tuner/predict/predictor.hpp"

namespace autospmv::testing {

template <class T>
Matrix<T> make_matrix(const std::string& spec) {
  const auto source = generate<T>(spec);
  return Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values);
}

/// 1, 1/2, 1/3, ...
inline std::vector<double> ramp(std::int64_t size) {
  std::vector<double> x(static_cast<std::size_t>(size));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 1.0 / static_cast<double>(i + 1);
  return x;
}

/// A context on the host that logs nothing; in memory unless a file is given.
ContextOptions host_options(const std::filesystem::path& database = {});

/// The last GPU: where there are several it is not the current one, and what forgets to enter it fails.
inline std::optional<Device> last_gpu() {
  const auto all = cuda_devices();
  return all.empty() ? std::nullopt : std::optional(all.back());
}

/// A folder that is removed with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "autospmv-XXXXXX").string();
    path_ = mkdtemp(name.data());
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// Whether y = alpha A x + beta y0 on the host, within the bound.
template <class T>
bool is_product(const Matrix<T>& matrix, T alpha, const std::vector<T>& x, T beta, const std::vector<T>& y0,
                const std::vector<T>& y) {
  const auto view = data_of(matrix).on({});
  const auto reference = reference_product(view, alpha, x.data(), beta, y0.data(), Place{});
  return compare(reference, y.data(), Place{}).passed();
}

}  // namespace autospmv::testing
