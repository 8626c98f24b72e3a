// What the fuzz targets share. A target is a function of bytes: whatever they are, it returns, or ends the process,
// which is a finding.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/types.hpp"
#include "io/host_csr.hpp"

/// Each target defines it; libFuzzer calls it, and so does replay.cpp.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
/// libFuzzer calls it first, where a target defines it: what takes long once in a process shall not be taken for slow.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);

namespace autospmv::fuzzing {

inline void require(bool holds, std::string_view what) {
  if (holds) return;
  std::fprintf(stderr, "not so: %.*s\n", static_cast<int>(what.size()), what.data());
  std::abort();
}

/// Whether body() went through. An Error of the library, of one line, is what bad input is refused with; whatever else
/// is thrown is a finding.
template <class Body>
bool is_taken(const Body& body) {
  try {
    body();
    return true;
  } catch (const Error& error) {
    require(std::string_view(error.what()).find('\n') == std::string_view::npos, "an error is one line");
    return false;
  }
}

enum class Columns : std::uint8_t { sorted, distinct };

/// What every reader and generator promises.
template <class T>
void require_sound(const HostCsr<T>& matrix, Columns columns) {
  require(matrix.rows >= 0 && matrix.cols >= 0, "sizes are not negative");
  require(std::ssize(matrix.row_ptr) == matrix.rows + 1, "there are rows + 1 offsets");
  require(matrix.row_ptr.front() == 0, "offsets begin at 0");
  require(std::ssize(matrix.col_idx) == matrix.nnz() && std::ssize(matrix.values) == matrix.nnz(),
          "offsets end at the nonzeros");
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    const auto first = matrix.row_ptr[static_cast<std::size_t>(r)];
    const auto last = matrix.row_ptr[static_cast<std::size_t>(r) + 1];
    require(first <= last && last <= matrix.nnz(), "offsets never decrease");
    std::int64_t least = 0;
    for (std::int64_t k = first; k < last; ++k) {
      const auto col = matrix.col_idx[static_cast<std::size_t>(k)];
      require(col >= least && col < matrix.cols, "columns ascend, in range");
      least = col + (columns == Columns::distinct ? 1 : 0);
    }
  }
}

/// 1, -1/2, 1/3, ...
template <class T>
std::vector<T> ramp(std::int64_t size) {
  std::vector<T> x(static_cast<std::size_t>(size));
  T sign{1};
  for (std::size_t i = 0; i < x.size(); ++i, sign = -sign) x[i] = sign / static_cast<T>(i + 1);
  return x;
}

/// Sums of a product, of rows whose terms come in any order.
class DirectSum {
 public:
  explicit DirectSum(std::int64_t rows) : rows_(static_cast<std::size_t>(rows)) {}

  void add(std::int64_t row, double value, double x) {
    auto& sum = rows_[static_cast<std::size_t>(row)];
    sum.product += static_cast<long double>(value) * x;
    sum.scale += std::abs(static_cast<long double>(value) * x);
    ++sum.terms;
  }

  /// Whether these are the same sums, rounded at every step in T. Where they overflow, anything is.
  template <class T>
  [[nodiscard]] bool is_like(const std::vector<T>& y) const {
    if (y.size() != rows_.size()) return false;
    for (std::size_t r = 0; r < y.size(); ++r) {
      const auto& sum = rows_[r];
      if (!(sum.scale < static_cast<long double>(std::numeric_limits<T>::max()) / 2)) continue;
      const auto bound = static_cast<long double>(std::numeric_limits<T>::epsilon()) * (sum.terms + 4) * sum.scale +
                         (sum.terms + 4) * static_cast<long double>(std::numeric_limits<T>::min());
      if (!(std::abs(y[r] - sum.product) <= bound)) return false;
    }
    return true;
  }

 private:
  struct Sum {
    long double product = 0;
    long double scale = 0;
    int terms = 0;
  };
  std::vector<Sum> rows_;
};

/// The sums of A x by the CSR arrays, one after the other.
template <class T>
DirectSum direct_sum(const HostCsr<T>& matrix, const std::vector<T>& x) {
  DirectSum sum(matrix.rows);
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    for (auto k = static_cast<std::size_t>(matrix.row_ptr[r]); k < static_cast<std::size_t>(matrix.row_ptr[r + 1]); ++k)
      sum.add(r, matrix.values[k], x[static_cast<std::size_t>(matrix.col_idx[k])]);
  }
  return sum;
}

}  // namespace autospmv::fuzzing
