// Solvers take the same way by our products as by PETSc's own, to rounding.
#include <array>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "support.hpp"

namespace autospmv::petsc {

namespace {

// Five points of a grid, whose rows are those of PETSc's own ordering.
Mat make_grid(MatType type, PetscInt n) {
  Mat A = nullptr;
  [&] {
    PetscInt first = 0;
    PetscInt last = 0;
    CALL(MatCreate(PETSC_COMM_WORLD, &A));
    CALL(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, n * n, n * n));
    CALL(MatSetType(A, type));
    CALL(MatSeqAIJSetPreallocation(A, 5, nullptr));
    CALL(MatMPIAIJSetPreallocation(A, 5, nullptr, 5, nullptr));
    CALL(MatGetOwnershipRange(A, &first, &last));
    for (PetscInt row = first; row < last; ++row) {
      const PetscInt x = row % n;
      const PetscInt y = row / n;
      // PETSc passes over columns that are negative.
      const std::array<PetscInt, 5> columns = {row, x > 0 ? row - 1 : -1, x < n - 1 ? row + 1 : -1, row - n,
                                               y < n - 1 ? row + n : -1};
      const std::array<PetscScalar, 5> values = {4, -1, -1, -1, -1};
      CALL(MatSetValues(A, 1, &row, 5, columns.data(), values.data(), INSERT_VALUES));
    }
    CALL(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    CALL(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }();
  return A;
}

std::vector<PetscReal> residuals(MatType type, const char* solver, const char* preconditioner, PetscInt n) {
  std::vector<PetscReal> norms(1000);
  [&] {
    Mat A = make_grid(type, n);
    Vec x = nullptr;
    Vec b = nullptr;
    KSP ksp = nullptr;
    PC pc = nullptr;
    PetscInt count = 0;
    CALL(MatCreateVecs(A, &x, &b));
    CALL(VecSet(b, 1));
    CALL(KSPCreate(PETSC_COMM_WORLD, &ksp));
    CALL(KSPSetOperators(ksp, A, A));
    CALL(KSPSetType(ksp, solver));
    CALL(KSPGetPC(ksp, &pc));
    CALL(PCSetType(pc, preconditioner));
    // By itself GAMG of a PETSc with CUDA asks an MPI which ranks share a device.
    if (world_size() == 1) {
      PetscInt ranks = 1;
      CALL(PCGAMGSetRankReductionFactors(pc, &ranks, 1));
    }
    CALL(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 900));
    CALL(KSPSetResidualHistory(ksp, norms.data(), static_cast<PetscInt>(norms.size()), PETSC_TRUE));
    CALL(KSPSolve(ksp, b, x));
    CALL(KSPGetResidualHistory(ksp, nullptr, &count));
    norms.resize(static_cast<std::size_t>(count));
    CALL(KSPDestroy(&ksp));
    CALL(VecDestroy(&x));
    CALL(VecDestroy(&b));
    CALL(MatDestroy(&A));
  }();
  return norms;
}

struct Method {
  const char* solver;
  const char* preconditioner;
};

class Solver : public testing::TestWithParam<std::tuple<Kind, Method>> {};

TEST_P(Solver, TakesTheSameWay) {
  const auto& [kind, method] = GetParam();
  if (!runs_here(kind)) GTEST_SKIP() << "no CUDA device";
  const PetscInt n = world_size() == 1 ? 80 : 160;  // enough nonzeros a rank
  const auto [solver, preconditioner] = method;
  const auto expected = residuals(kind.base, solver, preconditioner, n);
  ASSERT_GE(expected.size(), 2U);
  const auto own = residuals(kind.own, solver, preconditioner, n);
  auto blocks = own;
  if (!kind.device) {
    const Option option("-mat_seqaij_type", "seqaijautospmv");
    blocks = residuals(MATAIJ, solver, preconditioner, n);
  }
  for (const auto& norms : {own, blocks}) {
    ASSERT_EQ(norms.size(), expected.size());
    // What rounding makes of the norms grows with the iterations; what is left after a direct solver is nothing else.
    const auto rounding = 1e-12 * expected[0];
    EXPECT_NEAR(norms[1], expected[1], rounding);
    for (std::size_t i = 0; i < norms.size(); ++i) {
      EXPECT_NEAR(norms[i], expected[i], 1e-4 * expected[i] + rounding) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Methods, Solver,
                         testing::Combine(testing::ValuesIn(kinds),
                                          testing::Values(Method{KSPCG, PCJACOBI}, Method{KSPGMRES, PCBJACOBI},
                                                          Method{KSPCG, PCGAMG}, Method{KSPBICG, PCJACOBI},
                                                          Method{KSPRICHARDSON, PCLU})),
                         [](const auto& one) {
                           const auto& method = std::get<Method>(one.param);
                           return std::string(std::get<Kind>(one.param).device ? "cuda_" : "host_") + method.solver +
                                  "_" + method.preconditioner;
                         });

}  // namespace

}  // namespace autospmv::petsc
