// Plain CSR with one thing wrong, or nothing: what verification must find, and what it must let pass.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"
#include "core/trial.hpp"
#include "core/verify/random.hpp"
#include "io/host_csr.hpp"
#include "tuner/measure/verifier.hpp"

namespace autospmv::testing {

enum class Mutation {
  none,
  drops,
  doubles,
  reads_other_column,  ///< or, where there is none of that number, beside x
  adds_to_other_row,
  forgets_alpha,
  forgets_beta,
  applies_alpha_twice,
  applies_alpha_to_y,
  reads_y,  ///< where beta is 0
  skips_row,
  writes_beside_y,
  changes_x,
};

/// A mutation and where it is.
struct Mutant {
  Mutation mutation = Mutation::none;
  std::int64_t nonzero = 0;
  std::int64_t other = 0;  ///< column or row, or element of y or x

  template <class T>
  struct Factors {
    T a;
    T b;
  };

  /// What nonzero k contributes.
  template <class T>
  [[nodiscard]] AUTOSPMV_HD Factors<T> factors(const CsrView<T>& matrix, const T* x, std::int64_t k) const {
    const Factors<T> right{matrix.values[k], x[matrix.col_idx[k]]};
    if (k != nonzero) return right;
    if (mutation == Mutation::drops || mutation == Mutation::adds_to_other_row) return {T{0}, right.b};
    if (mutation == Mutation::doubles) return {2 * right.a, right.b};
    if (mutation == Mutation::reads_other_column) return {right.a, x[other]};
    return right;
  }

  /// What a row gets beside its own nonzeros.
  template <class T>
  [[nodiscard]] AUTOSPMV_HD T stray(const CsrView<T>& matrix, const T* x, std::int64_t row) const {
    if (mutation != Mutation::adds_to_other_row || row != other) return 0;
    return matrix.values[nonzero] * x[matrix.col_idx[nonzero]];
  }

  template <class T>
  AUTOSPMV_HD void store(T alpha, T sum, T beta, T* y, std::int64_t row) const {
    if (mutation == Mutation::skips_row && row == other) return;
    if (mutation == Mutation::forgets_alpha) alpha = 1;
    if (mutation == Mutation::applies_alpha_twice) sum *= alpha;
    if (mutation == Mutation::forgets_beta) beta = 0;
    if (mutation == Mutation::applies_alpha_to_y) beta *= alpha;
    const bool reads_y = beta != T{0} || mutation == Mutation::reads_y;
    y[row] = reads_y ? alpha * sum + beta * y[row] : alpha * sum;
  }

  /// After all rows.
  template <class T>
  AUTOSPMV_HD void touch(const T* x, T* y) const {
    if (mutation == Mutation::writes_beside_y) y[other] = 0;
    if (mutation == Mutation::changes_x) const_cast<T*>(x)[other] = 0;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Mutant& mutant) {
  return out << "mutation " << static_cast<int>(mutant.mutation) << " at nonzero " << mutant.nonzero << ", other "
             << mutant.other;
}

enum class Values { random, equal, few };

/// Two rows of `npr` nonzeros of like magnitude among short ones and an empty one. Columns increase, with gaps.
template <class T>
HostCsr<T> matrix_of_rows(std::int64_t npr, Values values) {
  HostCsr<T> matrix;
  matrix.cols = npr + npr / 4 + 7;
  matrix.row_ptr.assign(1, 0);
  for (const auto length : {std::int64_t{1}, npr, std::int64_t{0}, std::min<std::int64_t>(npr, 5), npr}) {
    for (std::int64_t k = 0; k < length; ++k) {
      const auto position = matrix.values.size();
      matrix.col_idx.push_back(static_cast<std::int32_t>(k + k / 4 + matrix.rows));
      matrix.values.push_back(static_cast<T>(values == Values::random  ? random_value(7, position)
                                             : values == Values::equal ? 0.1
                                                                       : random_value(7, position % 5)));
    }
    matrix.row_ptr.push_back(static_cast<std::int64_t>(matrix.values.size()));
    ++matrix.rows;
  }
  return matrix;
}

/// One nonzero of each long row, at its beginning, its middle, its end and somewhere, goes wrong in every way.
template <class T>
std::vector<Mutant> mutants_of_a_nonzero(const HostCsr<T>& matrix, std::uint64_t seed) {
  std::vector<Mutant> mutants;
  for (const std::int64_t row : {1, 4}) {
    const auto first = matrix.row_ptr[static_cast<std::size_t>(row)];
    const auto last = matrix.row_ptr[static_cast<std::size_t>(row) + 1] - 1;
    const auto somewhere = first + static_cast<std::int64_t>(random_unit(seed, 1) * static_cast<double>(last - first));
    for (const auto nonzero : {first, (first + last) / 2, last, somewhere}) {
      const std::int64_t column = matrix.col_idx[static_cast<std::size_t>(nonzero)];
      mutants.push_back({Mutation::drops, nonzero});
      mutants.push_back({Mutation::doubles, nonzero});
      mutants.push_back({Mutation::reads_other_column, nonzero, column > 0 ? column - 1 : column + 1});
      mutants.push_back({Mutation::adds_to_other_row, nonzero, row - 1});
      mutants.push_back({Mutation::adds_to_other_row, nonzero, 5 - row});
    }
  }
  return mutants;
}

/// Everything else that can be wrong.
template <class T>
std::vector<Mutant> other_mutants(const HostCsr<T>& matrix) {
  const auto last = matrix.nnz() - 1;
  return {{Mutation::reads_other_column, last, matrix.cols},
          {Mutation::reads_other_column, last, matrix.cols + 31},
          {Mutation::reads_other_column, 0, -1},
          {Mutation::forgets_alpha},
          {Mutation::forgets_beta},
          {Mutation::applies_alpha_twice},
          {Mutation::applies_alpha_to_y},
          {Mutation::reads_y},
          {Mutation::skips_row, 0, 0},
          {Mutation::skips_row, 0, 2},
          {Mutation::writes_beside_y, 0, matrix.rows},
          {Mutation::writes_beside_y, 0, -1},
          {Mutation::changes_x, 0, 0},
          {Mutation::changes_x, 0, matrix.cols - 1},
          {Mutation::changes_x, 0, matrix.cols}};
}

/// Whether it passes.
template <class T>
bool passes(Verifier<T>& verifier, const Operator<T>& op) {
  Measurement measurement;
  verifier.verify(op, measurement);
  return measurement.outcome == Outcome::passed;
}

}  // namespace autospmv::testing
