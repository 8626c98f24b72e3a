// Equal shares of nonzeros on the host, taken by threads as they come; see formats/common/kernels/equal_shares.hpp.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/machine/parallel.hpp"
#include "core/machine/simd.hpp"

namespace autospmv::formats::host {

/// Shares are so few that what is kept of each fits on the stack.
inline constexpr int most_shares = 1024;

/// The sum of the entries that a share has of a row which began before it; no row: -1.
template <class T>
struct Head {
  std::int64_t row = -1;
  T sum = 0;
};

/// y = beta y for rows [first, last) that have no entries.
template <class T>
inline void scale_rows(std::int64_t first, std::int64_t last, T beta, T* y) {
  if (beta == T{1}) return;
  for (std::int64_t row = first; row < last; ++row) y[row] = beta == T{0} ? T{0} : beta * y[row];
}

template <class T>
AUTOSPMV_INLINE void store_row(T* y, std::int64_t row, T alpha, T sum, T beta) {
  y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
}

/// Calls body(share), which stores the rows that begin in a share and returns its head, for all shares on all threads;
/// then adds the heads in their order, so that the result is the same for any number of threads.
template <class T, class Body>
void sum_in_shares(std::int64_t work, int shares, T alpha, T* y, const Body& body) {
  std::array<Head<T>, most_shares> heads;
  std::atomic<int> taken{0};
  parallel_region(work, [&](int /*thread*/, int /*threads*/) {
    for (int share = taken++; share < shares; share = taken++) heads[static_cast<std::size_t>(share)] = body(share);
  });
  for (int share = 0; share < shares; ++share) {
    const auto& head = heads[static_cast<std::size_t>(share)];
    if (head.row >= 0) y[head.row] += alpha * head.sum;
  }
}

}  // namespace autospmv::formats::host
