#include "tuner/measure/plain_loop.hpp"

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/machine/parallel.hpp"
#include "tuner/measure/clock.hpp"

namespace autospmv {

namespace {

// Of a thread's rows: so many pieces, all of them together one in so many of the rows.
constexpr std::int64_t pieces = 4;
constexpr std::int64_t one_in = 16;

// The first pass brings what it reads into the caches.
constexpr int passes = 3;

template <class T, class Offset>
double seconds_of_rows(const CsrView<T>& matrix, const Offset* row_ptr, Share rows) {
  // Values, of which there are as many, stand for the elements of x.
  const T* const x = matrix.values;
  const auto piece = std::max<std::int64_t>(1, (rows.last - rows.first) / (pieces * one_in));
  double least = std::numeric_limits<double>::infinity();
  std::int64_t sampled = 0;
  T kept = 0;
  for (int pass = 0; pass < passes; ++pass) {
    sampled = 0;
    const auto start = Clock::now();
    for (std::int64_t i = 0; i < pieces; ++i) {
      const auto first = rows.first + i * (rows.last - rows.first) / pieces;
      const auto last = std::min(rows.last, first + piece);
      for (auto row = first; row < last; ++row) {
        T sum = 0;
        for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) sum += matrix.values[k] * x[matrix.col_idx[k]];
        kept += sum;
      }
      sampled += static_cast<std::int64_t>(row_ptr[last] - row_ptr[first]);
    }
    if (pass > 0) least = std::min(least, seconds_since(start));
  }
  // Nobody wants the sum, but the compiler is not to know.
  static std::atomic<T> sink;
  sink.store(kept, std::memory_order_relaxed);
  const auto all = static_cast<double>(row_ptr[rows.last] - row_ptr[rows.first]);
  return sampled > 0 ? least * all / static_cast<double>(sampled) : 0;
}

}  // namespace

template <class T>
double plain_loop_seconds(const CsrView<T>& matrix) {
  if (matrix.rows == 0 || matrix.nnz < matrix.cols) return 0;
  return with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    return parallel_reduce(
        matrix.rows, 0.0, [&](Share rows) { return seconds_of_rows(matrix, row_ptr, rows); },
        [](double a, double b) { return std::max(a, b); }, std::max<std::int64_t>(1, matrix.nnz / matrix.rows));
  });
}

template double plain_loop_seconds(const CsrView<float>&);
template double plain_loop_seconds(const CsrView<double>&);

}  // namespace autospmv
