#include <algorithm>

#include "core/machine/parallel.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/common/row_length.hpp"
#include "formats/jagged/convert.hpp"
#include "formats/sliced/convert.hpp"

namespace autospmv::formats::host {

namespace {

// Positions whose sums are kept while the diagonals go by.
constexpr std::int64_t strip = 128;

// Positions [first, last), at most a strip of them: diagonal by diagonal, as far as each of them reaches.
template <class T, class Values>
AUTOSPMV_INLINE void multiply_strip(const JaggedMatrix<T>& jagged, Values values, std::int64_t first, std::int64_t last,
                                    T alpha, const T* x, T beta, T* y) {
  values.open();
  T sum[strip] = {};
  const std::int32_t* columns = jagged.columns.full.data();
  auto reach = last;
  for (std::size_t diagonal = 0; diagonal < jagged.starts.size(); ++diagonal) {
    // Lengths decrease, so ever fewer positions take part.
    while (reach > first &&
           jagged.lengths[static_cast<std::size_t>(reach) - 1] <= static_cast<std::int64_t>(diagonal)) {
      --reach;
    }
    if (reach == first) break;
    const auto start = jagged.starts[diagonal];
    for (auto p = first; p < reach; ++p) sum[p - first] += values.at(start + p) * x[columns[start + p]];
  }
  for (auto p = first; p < last; ++p) {
    const auto row = jagged.row_order[static_cast<std::size_t>(p)];
    y[row] = beta == T{0} ? alpha * sum[p - first] : alpha * sum[p - first] + beta * y[row];
  }
}

#define AUTOSPMV_STRIP(T, Values)                                                                                   \
  AUTOSPMV_MULTIVERSION_SCALAR void strip_version(const JaggedMatrix<T>& jagged, Values values, std::int64_t first, \
                                                  std::int64_t last, T alpha, const T* x, T beta, T* y) {           \
    multiply_strip(jagged, values, first, last, alpha, x, beta, y);                                                 \
  }
AUTOSPMV_EACH_VALUES(AUTOSPMV_STRIP)
#undef AUTOSPMV_STRIP

}  // namespace

template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, JaggedMatrix<T>& jagged) {
  jagged.row_order = sort_rows(matrix);
  jagged.lengths = Array<std::int32_t>(static_cast<std::size_t>(matrix.rows), Place{});
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_for(matrix.rows, [&](std::int64_t p) {
      const auto row = jagged.row_order[static_cast<std::size_t>(p)];
      jagged.lengths[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(row_length(row_ptr, row));
    });
  });
  const std::int64_t diagonals = matrix.rows > 0 ? jagged.lengths[0] : 0;
  jagged.starts = Array<std::int64_t>(static_cast<std::size_t>(diagonals), Place{});
  std::int64_t slots = 0;
  std::int64_t reach = matrix.rows;
  for (std::int64_t diagonal = 0; diagonal < diagonals; ++diagonal) {
    while (jagged.lengths[static_cast<std::size_t>(reach) - 1] <= diagonal) --reach;
    jagged.starts[static_cast<std::size_t>(diagonal)] = slots;
    slots += (reach + jagged.layout.pad - 1) / jagged.layout.pad * jagged.layout.pad;
  }
  return slots;
}

template <class T>
void fill(const CsrView<T>& matrix, const JaggedMatrix<T>& jagged, Array<std::int32_t>& columns, Array<T>& values) {
  if (jagged.layout.pad > 1) {
    parallel_for(jagged.slots, [&](std::int64_t slot) {
      columns[static_cast<std::size_t>(slot)] = -1;
      values[static_cast<std::size_t>(slot)] = 0;
    });
  }
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_for(matrix.rows, [&](std::int64_t p) {
      const auto first = static_cast<std::int64_t>(row_ptr[jagged.row_order[static_cast<std::size_t>(p)]]);
      for (std::int64_t k = 0; k < jagged.lengths[static_cast<std::size_t>(p)]; ++k) {
        const auto slot = static_cast<std::size_t>(jagged.starts[static_cast<std::size_t>(k)] + p);
        columns[slot] = matrix.col_idx[first + k];
        values[slot] = matrix.values[first + k];
      }
    });
  });
}

template <class T>
void multiply(const JaggedMatrix<T>& jagged, T alpha, const T* x, T beta, T* y) {
  const std::int64_t strips = (jagged.rows + strip - 1) / strip;
  with_values(jagged.values, [&](auto values) {
    // The first strips hold the longest rows: dealt out in turn, so that no thread gets them all.
    parallel_region(jagged.slots + jagged.rows, [&](int thread, int threads) {
      for (std::int64_t s = thread; s < strips; s += threads) {
        strip_version(jagged, values, s * strip, std::min(jagged.rows, (s + 1) * strip), alpha, x, beta, y);
      }
    });
  });
}

#define AUTOSPMV_JAGGED(T)                                                                        \
  template std::int64_t lay_out(const CsrView<T>&, JaggedMatrix<T>&);                             \
  template void fill(const CsrView<T>&, const JaggedMatrix<T>&, Array<std::int32_t>&, Array<T>&); \
  template void multiply(const JaggedMatrix<T>&, T, const T*, T, T*);
AUTOSPMV_JAGGED(float)
AUTOSPMV_JAGGED(double)
#undef AUTOSPMV_JAGGED

}  // namespace autospmv::formats::host
