#include "core/verify/reference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "core/cuda/reference.hpp"
#include "core/machine/parallel.hpp"
#include "core/machine/simd.hpp"
#include "core/verify/compensated.hpp"

namespace autospmv {

namespace {

template <class T>
struct Task {
  const CsrView<T>& matrix;
  T alpha;
  const T* x;
  T beta;
  const T* y0;
  const Array<LongRow>& rows;
  ReferenceArrays reference;
};

template <class T>
AUTOSPMV_INLINE CompensatedSum sum_of(const Task<T>& task, std::int64_t first, std::int64_t last) {
  CompensatedSum sum;
  for (std::int64_t k = first; k < last; ++k) sum.add_product(task.matrix.values[k], task.x[task.matrix.col_idx[k]]);
  return sum;
}

constexpr int lanes = 4;
typedef double Lanes __attribute__((vector_size(lanes * sizeof(double))));
typedef std::int64_t Integers __attribute__((vector_size(lanes * sizeof(double))));

// So many CompensatedSums beside each other, of products that are all finite: where one is not, the magnitude is not.
// Products of floats are exact in double, and their sums as good as exact.
template <class T>
struct LaneSums {
  Lanes sum{};
  Lanes error{};
  Lanes magnitude{};
  Lanes square{};
  Integers terms{};

  AUTOSPMV_INLINE void add_products(const Lanes& a, const Lanes& b) {
    const Lanes product = a * b;
    const Lanes total = sum + product;
    if constexpr (std::is_same_v<T, double>) {
      const Lanes shadow = total - sum;
      const Lanes lost{std::fma(a[0], b[0], -product[0]), std::fma(a[1], b[1], -product[1]),
                       std::fma(a[2], b[2], -product[2]), std::fma(a[3], b[3], -product[3])};
      error += ((sum - (total - shadow)) + (product - shadow)) + lost;
    }
    sum = total;
    magnitude += product < 0 ? -product : product;
    square += product * product;
    terms -= (a != 0) & (b != 0);
  }

  [[nodiscard]] AUTOSPMV_INLINE CompensatedSum of(int lane) const {
    return {sum[lane], error[lane], 0, magnitude[lane], square[lane], terms[lane]};
  }

  [[nodiscard]] AUTOSPMV_INLINE CompensatedSum total() const {
    auto total = of(0);
    for (int l = 1; l < lanes; ++l) total.merge(of(l));
    return total;
  }
};

// As sum_of(), which takes several times as long on all but the shortest rows.
template <class T>
AUTOSPMV_INLINE CompensatedSum sum_in_lanes(const Task<T>& task, std::int64_t first, std::int64_t last) {
  LaneSums<T> sums;
  const T* a = task.matrix.values + first;
  const std::int32_t* at = task.matrix.col_idx + first;
  const T* const x = task.x;
  const auto as_double = [](T value) AUTOSPMV_INLINE_LAMBDA { return static_cast<double>(value); };
  auto left = last - first;
  for (; left >= lanes; left -= lanes, a += lanes, at += lanes) {
    sums.add_products(Lanes{as_double(a[0]), as_double(a[1]), as_double(a[2]), as_double(a[3])},
                      Lanes{as_double(x[at[0]]), as_double(x[at[1]]), as_double(x[at[2]]), as_double(x[at[3]])});
  }
  if (left > 0) {
    Lanes rest{};
    Lanes rest_of_x{};
    for (int l = 0; l < left; ++l) {
      rest[l] = as_double(a[l]);
      rest_of_x[l] = as_double(x[at[l]]);
    }
    sums.add_products(rest, rest_of_x);
  }
  return sums.total();
}

// Rows up to this length are summed beside each other, a lane each.
constexpr std::int64_t short_row = 8;

template <class Offset>
AUTOSPMV_INLINE bool are_short(const Offset* row_ptr) {
  bool all = true;
  for (int l = 0; l < lanes; ++l) {
    const auto length = row_ptr[l + 1] - row_ptr[l];
    all = all && length > 0 && length <= short_row;
  }
  return all;
}

// As many rows as there are lanes, none of them empty, from the one that row_ptr points to.
template <class T, class Offset>
AUTOSPMV_INLINE std::array<CompensatedSum, lanes> sums_of_short_rows(const Task<T>& task, const Offset* row_ptr) {
  Integers first{};
  Integers length{};
  for (int l = 0; l < lanes; ++l) {
    first[l] = row_ptr[l];
    length[l] = row_ptr[l + 1] - row_ptr[l];
  }
  const auto longest = std::max(std::max(length[0], length[1]), std::max(length[2], length[3]));
  const T* const values = task.matrix.values;
  const std::int32_t* const columns = task.matrix.col_idx;
  LaneSums<T> sums;
  for (std::int64_t k = 0; k < longest; ++k) {
    // A row that has ended goes on with zeros.
    const Integers in_row = k < length;
    const Integers at = first + (in_row & k);
    const auto a = [&](int l) AUTOSPMV_INLINE_LAMBDA { return static_cast<double>(values[at[l]]); };
    const auto b = [&](int l) AUTOSPMV_INLINE_LAMBDA { return static_cast<double>(task.x[columns[at[l]]]); };
    sums.add_products((Lanes)((Integers)Lanes{a(0), a(1), a(2), a(3)} & in_row),
                      (Lanes)((Integers)Lanes{b(0), b(1), b(2), b(3)} & in_row));
  }
  return {sums.of(0), sums.of(1), sums.of(2), sums.of(3)};
}

template <class T>
AUTOSPMV_INLINE void finish(const Task<T>& task, CompensatedSum sum, const LongRow& row, std::int64_t i) {
  if (!std::isfinite(sum.magnitude)) sum = sum_of(task, row.first, row.first + row.length);
  finish_row(sum, task.alpha, task.beta, task.y0, row, i, task.reference);
}

template <class T, class Offset>
AUTOSPMV_INLINE void multiply(const Task<T>& task, const Offset* row_ptr, Share share) {
  const bool all_rows = task.rows.empty();
  auto i = share.first;
  while (i < share.last) {
    if (all_rows && i + lanes <= share.last && are_short(row_ptr + i)) {
      const auto sums = sums_of_short_rows(task, row_ptr + i);
      for (const auto& sum : sums) {
        finish(task, sum, any_row(row_ptr, i), i);
        ++i;
      }
    } else {
      const auto row = all_rows ? any_row(row_ptr, i) : task.rows[static_cast<std::size_t>(i)];
      finish(task, sum_in_lanes(task, row.first, row.first + row.length), row, i);
      ++i;
    }
  }
}

// A fused multiply-add is a call of a function where the processor is not known to have one.
#define AUTOSPMV_MULTIPLY(T, Offset)                                                                          \
  AUTOSPMV_MULTIVERSION_SCALAR void multiply_share(const Task<T>& task, const Offset* row_ptr, Share share) { \
    multiply(task, row_ptr, share);                                                                           \
  }
AUTOSPMV_MULTIPLY(float, std::int32_t)
AUTOSPMV_MULTIPLY(float, std::int64_t)
AUTOSPMV_MULTIPLY(double, std::int32_t)
AUTOSPMV_MULTIPLY(double, std::int64_t)
#undef AUTOSPMV_MULTIPLY

}  // namespace

template <class T>
Reference reference_product(const CsrView<T>& matrix, T alpha, const T* x, T beta, const T* y0, Place place,
                            const Array<LongRow>& rows, [[maybe_unused]] std::int64_t longest) {
  const auto size = rows.empty() ? static_cast<std::size_t>(matrix.rows) : rows.size();
  Reference reference{Array<double>(size, place), Array<double>(size, place), Array<std::int64_t>(rows.size(), place)};
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      cuda::reference_product(matrix, alpha, x, beta, y0, reference, place, rows, longest);
      return reference;
    }
  }
  const Task<T> task{matrix, alpha, x, beta, y0, rows, ReferenceArrays(reference)};
  const auto work = static_cast<std::int64_t>(size);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_region(work,
                    [&](int thread, int threads) { multiply_share(task, row_ptr, share_of(work, thread, threads)); });
  });
  return reference;
}

namespace {

// Elements that are judged together.
constexpr std::int64_t judged = 256;

struct ExpectedRows {
  std::array<double, judged> product;
  std::array<double, judged> bound;
};

// Most rows are finite and right: then the largest error is all there is to know of them, without a branch.
template <class T>
std::optional<double> largest_of_right(const ExpectedRows& rows, std::int64_t count, const T* y) {
  double largest = 0;
  int wrong = 0;
#pragma omp simd reduction(max : largest) reduction(+ : wrong)
  for (std::int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double error = std::fabs(static_cast<double>(y[i]) - rows.product[at]) / rows.bound[at];
    wrong += error <= 1 ? 0 : 1;  // not a number is neither
    largest = error > largest ? error : largest;
  }
  return wrong == 0 ? std::optional(largest) : std::nullopt;
}

// expect(first, count, rows) says what elements [first, first + count) of the reference ask for.
template <class T, class Expect>
Comparison compare_rows(const Reference& reference, const Expect& expect, const T* y) {
  const bool all_rows = reference.rows.empty();
  const auto* const numbers = reference.rows.data();
  return parallel_reduce(
      static_cast<std::int64_t>(reference.product.size()), Comparison{},
      [&](Share share) {
        Comparison part;
        ExpectedRows rows;
        for (auto first = share.first; first < share.last; first += judged) {
          const auto count = std::min(judged, share.last - first);
          expect(first, count, rows);
          const auto right = all_rows ? largest_of_right(rows, count, y + first) : std::nullopt;
          if (right) {
            part = combine(part, {*right, 0, -1});
            continue;
          }
          for (std::int64_t i = 0; i < count; ++i) {
            const auto row = all_rows ? first + i : numbers[first + i];
            const auto at = static_cast<std::size_t>(i);
            part = combine(part, judge(row_error(y[row], rows.product[at], rows.bound[at]), row));
          }
        }
        return part;
      },
      combine);
}

}  // namespace

template <class T>
Comparison compare(const Reference& reference, const T* y, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::compare(reference, y, place);
  }
  const auto as_it_is = [&](std::int64_t first, std::int64_t count, ExpectedRows& rows) {
    std::copy_n(reference.product.data() + first, count, rows.product.data());
    std::copy_n(reference.bound.data() + first, count, rows.bound.data());
  };
  return compare_rows(reference, as_it_is, y);
}

template <class T>
Comparison compare(const Reference& reference, const Scaled<T>& scaled, const T* y) {
  return with_offsets(scaled.row_ptr, [&](const auto* row_ptr) {
    const auto times_alpha = [&](std::int64_t first, std::int64_t count, ExpectedRows& rows) {
      std::array<T, judged> y0;
      draw_elements(scaled.y0, first, count, y0.data());
      for (std::int64_t i = 0; i < count; ++i) {
        const auto row = first + i;
        const auto at = static_cast<std::size_t>(i);
        const auto of_row = ExpectedRow{reference.product.data()[row], reference.bound.data()[row]}.scaled(
            scaled.alpha, scaled.added(y0[at]), row_ptr[row + 1] - row_ptr[row]);
        rows.product[at] = of_row.product;
        rows.bound[at] = of_row.bound;
      }
    };
    return compare_rows(reference, times_alpha, y);
  });
}

template Reference reference_product(const CsrView<float>&, float, const float*, float, const float*, Place,
                                     const Array<LongRow>&, std::int64_t);
template Reference reference_product(const CsrView<double>&, double, const double*, double, const double*, Place,
                                     const Array<LongRow>&, std::int64_t);
template Comparison compare(const Reference&, const float*, Place);
template Comparison compare(const Reference&, const double*, Place);
template Comparison compare(const Reference&, const Scaled<float>&, const float*);
template Comparison compare(const Reference&, const Scaled<double>&, const double*);

}  // namespace autospmv
