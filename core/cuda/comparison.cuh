// Products held against their references, by many threads at once.
#pragma once

#include <bit>
#include <cstdint>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/search.hpp"
#include "core/verify/compensated.hpp"
#include "core/verify/reference.hpp"

namespace autospmv::cuda {

/// Of nonnegative numbers, one of each thread of a whole block: bits of these order like integers.
__device__ inline void atomic_max_of_block(unsigned long long& largest_bits, double number) {
  const double largest = choose_of_block(number, [](double a, double b) { return fmax(a, b); });
  if (threadIdx.x != 0 || !(largest > 0)) return;
  atomicMax(&largest_bits, static_cast<unsigned long long>(__double_as_longlong(largest)));
}

struct DeviceComparison {
  unsigned long long worst_bits = 0;  // bits of a nonnegative double order like integers
  unsigned long long wrong_rows = 0;
  unsigned long long first_wrong = ~0ULL;

  // What one thread found of its rows.
  class OfThread {
   public:
    __device__ explicit OfThread(DeviceComparison& total) : total_(total) {}
    __device__ void add(double error, std::int64_t row) {
      worst_ = error > worst_ ? error : worst_;
      if (error <= 1) return;
      atomicAdd(&total_.wrong_rows, 1ULL);
      atomicMin(&total_.first_wrong, static_cast<unsigned long long>(row));
    }
    /// Called by whole blocks.
    __device__ void finish() const { atomic_max_of_block(total_.worst_bits, worst_); }

   private:
    DeviceComparison& total_;
    double worst_ = 0;
  };

  [[nodiscard]] Comparison result() const {
    Comparison comparison;
    comparison.worst_error = std::bit_cast<double>(worst_bits);
    comparison.wrong_rows = static_cast<std::int64_t>(wrong_rows);
    if (comparison.wrong_rows > 0) comparison.first_wrong = static_cast<std::int64_t>(first_wrong);
    return comparison;
  }
};

/// A reference in the memory of a device.
struct ReferenceView {
  const std::int64_t* rows;  // nullptr: all
  std::int64_t size;
  const double* product;
  const double* bound;

  explicit ReferenceView(const Reference& reference)
      : rows(reference.rows.data()),
        size(static_cast<std::int64_t>(reference.product.size())),
        product(reference.product.data()),
        bound(reference.bound.data()) {}

  /// The element of a row, -1 where it has none.
  [[nodiscard]] __device__ std::int64_t element_of(std::int64_t row) const {
    if (rows == nullptr) return row;
    const auto i = part_of(rows, size, row);
    return i < size && rows[i] == row ? i : -1;
  }

  /// expected(as it is, row) is what element i of the reference is taken for.
  template <class T, class Expected>
  __device__ void compare(std::int64_t i, std::int64_t row, const Expected& expected, T y,
                          DeviceComparison::OfThread& found) const {
    const ExpectedRow of_row = expected(ExpectedRow{product[i], bound[i]}, row);
    found.add(row_error(y, of_row.product, of_row.bound), row);
  }
};

/// A reference as it is.
struct Unscaled {
  __device__ ExpectedRow operator()(const ExpectedRow& row, std::int64_t /*row*/) const { return row; }
};

/// As Scaled says.
template <class T, class Offset>
struct ScaledRows {
  Scaled<T> scaled;
  const Offset* row_ptr;

  __device__ ExpectedRow operator()(const ExpectedRow& of_row, std::int64_t row) const {
    const auto y0 = static_cast<T>(scaled.y0.at(static_cast<std::uint64_t>(row)));
    return of_row.scaled(scaled.alpha, scaled.added(y0), row_ptr[row + 1] - row_ptr[row]);
  }
};

}  // namespace autospmv::cuda
