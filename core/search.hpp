// Binary searches, on the host and in kernels.
#pragma once

#include "core/machine/host_device.hpp"

namespace autospmv {

/// The first i of [low, high) that is not `before`, high where all are. What is before comes first.
#ifdef __CUDACC__
#pragma nv_exec_check_disable  // `before` runs where the caller does
#endif
template <class Index, class Before>
AUTOSPMV_HD inline Index partition_point(Index low, Index high, const Before& before) {
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (before(middle)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The last i of [0, size) with offsets[i] <= value, 0 where there is none: the part of a partition that an element
/// lies in. Empty parts are passed over. Neighbouring threads that look for neighbours read the same offsets.
template <class Offset, class Index, class Value>
AUTOSPMV_HD inline Index part_of(const Offset* offsets, Index size, Value value) {
  Index low = 0;
  Index high = size;
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    if (offsets[middle] <= value) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}

/// The same of [first, size), for one that is likely to be near the first: an exponential search.
template <class Offset, class Index, class Value>
AUTOSPMV_HD inline Index part_near(const Offset* offsets, Index first, Index size, Value value) {
  Index step = 1;
  while (step < size - first && offsets[first + step] <= value) {
    first += step;
    step *= 2;
  }
  return first + part_of(offsets + first, step < size - first ? step : size - first, value);
}

}  // namespace autospmv
