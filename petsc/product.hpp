// The products of one sequential matrix: when the library makes them, on which arrays, and when PETSc's own serve.
#pragma once

#include <petscmat.h>

#include <autospmv/autospmv.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "settings.hpp"

namespace autospmv::petsc {

/// Complex numbers and other precisions than float and double are refused when this is configured.
static_assert(Scalar<PetscScalar>);

/// The CSR arrays of a matrix, which stay PETSc's.
struct Arrays {
  const PetscInt* row_ptr = nullptr;
  const PetscInt* col_idx = nullptr;
  const PetscScalar* values = nullptr;
  PetscMemType memory = PETSC_MEMTYPE_HOST;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;

  [[nodiscard]] bool same_pattern(const Arrays& other) const;
};

/// What is known of a matrix from one product to the next. A pattern that has changed makes a new Matrix, values alone
/// go into the plans that there are.
class Product {
 public:
  /// Looks whether the matrix has changed since the last product, and does what that asks for. The settings are read at
  /// the first product, unless they were given before.
  PetscErrorCode prepare(Mat A);

  /// Whether PETSc's own makes this product: where the library's gains nothing, and the first transposed ones, which
  /// this counts.
  [[nodiscard]] bool leave_to_petsc(Operation op);

  /// y = A x, or y = added + A x, with A transposed or not. `added` may be y.
  PetscErrorCode multiply(Operation op, Vec x, Vec added, Vec y);

  /// The next product looks at the matrix again.
  void forget() { seen_ = {}; }

  [[nodiscard]] const std::optional<Settings>& settings() const { return settings_; }
  void set_settings(const std::optional<Settings>& settings) { settings_ = settings; }

  /// In a few words: "sell_p C=32 T=1 sigma=1, settled".
  PetscErrorCode describe(std::string* text) const;
  /// Prints why its products have run as they did, where the settings ask for that.
  PetscErrorCode explain(Mat A) const;

 private:
  // As PETSc numbers the states of a matrix and of its pattern. A header that was replaced may repeat numbers of
  // another matrix, but not its place.
  struct Seen {
    Mat matrix = nullptr;
    PetscObjectState state = 0;
    PetscObjectState pattern = 0;
    Arrays arrays = {};
  };

  /// With a new pattern.
  PetscErrorCode begin(Mat A, const Arrays& arrays);

  std::optional<Settings> settings_;
  Seen seen_;
  std::optional<Context> context_;
  std::optional<Matrix<PetscScalar>> matrix_;  // none: PETSc's own products serve
  std::int64_t transposed_products_ = 0;
  bool multiplied_ = false;
  bool transposed_ = false;
  PetscLogDouble flops_ = 0;
};

/// Registers the events that -log_view shows.
PetscErrorCode register_events();

}  // namespace autospmv::petsc
