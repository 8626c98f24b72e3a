#include "core/matrix/pattern_check.hpp"

#include <algorithm>

#include "core/cuda/kernels.hpp"
#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/machine/parallel.hpp"

namespace autospmv {

namespace {

template <class Broken>
std::int64_t first_where(std::int64_t size, const Broken& broken) {
  return parallel_reduce(
      size, PatternFault::none,
      [&](Share share) {
        for (std::int64_t i = share.first; i < share.last; ++i) {
          if (broken(i)) return i;
        }
        return PatternFault::none;
      },
      [](std::int64_t a, std::int64_t b) { return std::min(a, b); });
}

template <class V>
V element(const V* data, std::int64_t i, Place place) {
  V value{};
  copy_bytes(&value, data + i, sizeof(V), place, setup_stream(place));
  synchronize(place, setup_stream(place));
  return value;
}

PatternFault find_fault(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                        const std::int32_t* col_idx, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::find_fault(rows, cols, nnz, row_ptr, col_idx, place);
  }
  PatternFault fault = with_offsets(row_ptr, [&](const auto* offsets) {
    return parallel_reduce(
        rows, PatternFault{},
        [&](Share share) {
          PatternFault found;
          for (std::int64_t i = share.first; i < share.last; ++i) {
            if (offsets[i] < 0 || offsets[i] > offsets[i + 1] || offsets[i + 1] > nnz) {
              found.row = i;
              break;
            }
            found.longest_row = std::max<std::int64_t>(found.longest_row, offsets[i + 1] - offsets[i]);
          }
          return found;
        },
        [](PatternFault a, const PatternFault& b) {
          a.row = std::min(a.row, b.row);
          a.longest_row = std::max(a.longest_row, b.longest_row);
          return a;
        });
  });
  fault.nonzero = first_where(nnz, [&](std::int64_t k) { return col_idx[k] < 0 || col_idx[k] >= cols; });
  return fault;
}

}  // namespace

std::int64_t check_pattern(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                           const std::int32_t* col_idx, Place place) {
  const auto offset = [&](std::int64_t i) {
    return std::visit([&](const auto* p) { return static_cast<std::int64_t>(element(p, i, place)); }, row_ptr);
  };
  if (offset(0) != 0) throw InvalidArgument("row_ptr[0] is " + std::to_string(offset(0)) + ", not 0");
  if (offset(rows) != nnz) {
    throw InvalidArgument("row_ptr ends at " + std::to_string(offset(rows)) + ", but there are " + std::to_string(nnz) +
                          " nonzeros");
  }
  const auto fault = find_fault(rows, cols, nnz, row_ptr, col_idx, place);
  if (fault.row != PatternFault::none) {
    throw InvalidArgument("row_ptr decreases at row " + std::to_string(fault.row) + ": " +
                          std::to_string(offset(fault.row)) + ", then " + std::to_string(offset(fault.row + 1)));
  }
  if (fault.nonzero != PatternFault::none) {
    throw InvalidArgument("column " + std::to_string(element(col_idx, fault.nonzero, place)) + " of nonzero " +
                          std::to_string(fault.nonzero) + " is not in [0, " + std::to_string(cols) + ")");
  }
  return fault.longest_row;
}

}  // namespace autospmv
