// Plain CSR on a GPU where no more is known of a matrix than its size and its longest row: what multiplies first,
// before anything is extracted, predicted or tried.
#pragma once

#include <cstdint>

#include "core/machine/device.hpp"
#include "core/trial.hpp"

namespace autospmv {

struct RowLengths {
  std::int64_t rows = 0;
  std::int64_t nnz = 0;
  std::int64_t longest = 0;

  [[nodiscard]] double mean() const { return rows > 0 ? static_cast<double>(nnz) / static_cast<double>(rows) : 0; }
  /// Threads that walk rows would wait for a few of them.
  [[nodiscard]] bool are_skewed() const;
};

// Of trials of 98 matrices on an H100, a hundred products by one of these, the second where rows are skewed, take 1.06
// times as long as by the best of csr_scalar, csr_vector, csr_merge and cuSPARSE for each matrix, 1.5 times at worst,
// and 0.73 times as long as by cuSPARSE.

/// So many threads a row: reads nothing but the CSR arrays.
template <class T>
Candidate csr_by_rows(const RowLengths& lengths, const Device& device);

/// As many rows plus nonzeros a thread: stores where they begin, a hundredth of the matrix or a few.
template <class T>
Candidate csr_by_shares(const RowLengths& lengths, const Device& device);
/// So many of them.
template <class T>
Candidate csr_by_shares(int items);

}  // namespace autospmv
