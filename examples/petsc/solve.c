/* A program of PETSc like any other: it solves A x = b and knows nothing of autospmv, which is chosen when it is run:
 *
 *     mpiexec -n 4 ./solve -n 300 -ksp_type cg
 *     PETSC_OPTIONS="-dll_prepend $PREFIX/lib/libpetscautospmv.so -mat_type aijautospmv" mpiexec -n 4 ./solve -n 300
 *
 * A comes from a file (-f FILE, in PETSc's binary form), or couples each point of a grid to its neighbours: those along
 * the axes, as finite differences do, or with -box all around it, as finite elements do; with -dof unknowns a point,
 * and strengths that are all equal or, with -rough, all different. b is such that every element of x is 1. */
#include <petscksp.h>

typedef struct {
  PetscInt dimension, n, dof;
  PetscBool box, rough;
} Grid;

/* In [0.5, 1.5), the same for (a, b) and (b, a) on every rank. */
static PetscReal strength(const Grid* grid, PetscInt a, PetscInt b) {
  uint64_t hash;
  if (!grid->rough) return 1;
  hash = (uint64_t)PetscMin(a, b) * 0x9e3779b97f4a7c15u + (uint64_t)PetscMax(a, b) * 0xc2b2ae3d27d4eb4fu;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  hash ^= hash >> 29;
  return 0.5 + (PetscReal)(hash >> 11) / 9007199254740992.0;
}

/* The columns and values of a row, the diagonal first, and their number. */
static PetscInt make_row(const Grid* grid, PetscInt row, PetscInt columns[], PetscScalar values[]) {
  const PetscInt point = row / grid->dof, n = grid->n;
  const PetscInt x = point % n, y = point / n % n, z = point / n / n, depth = grid->dimension == 3;
  PetscReal sum = 0;
  PetscInt count = 1;
  for (PetscInt dz = -depth; dz <= depth; ++dz) {
    for (PetscInt dy = -1; dy <= 1; ++dy) {
      for (PetscInt dx = -1; dx <= 1; ++dx) {
        if (!grid->box && PetscAbs(dx) + PetscAbs(dy) + PetscAbs(dz) > 1) continue;
        for (PetscInt unknown = 0; unknown < grid->dof; ++unknown) {
          const PetscInt column = (point + dx + n * (dy + n * dz)) * grid->dof + unknown;
          const PetscBool inside =
              x + dx >= 0 && x + dx < n && y + dy >= 0 && y + dy < n && (!depth || (z + dz >= 0 && z + dz < n))
                  ? PETSC_TRUE
                  : PETSC_FALSE;
          const PetscReal value = strength(grid, row, column);
          if (column == row) continue;
          sum += value; /* at the border too, where x is 0: A is positive definite */
          if (!inside) continue;
          columns[count] = column;
          values[count++] = -value;
        }
      }
    }
  }
  columns[0] = row;
  values[0] = sum;
  return count;
}

static PetscErrorCode make_matrix(const Grid* grid, Mat A) {
  const PetscInt points = grid->n * grid->n * (grid->dimension == 3 ? grid->n : 1);
  const PetscInt side = grid->box ? (grid->dimension == 3 ? 27 : 9) : 1 + 2 * grid->dimension;
  PetscInt first, last, *columns;
  PetscScalar* values;
  PetscFunctionBeginUser;
  PetscCall(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, points * grid->dof, points * grid->dof));
  PetscCall(MatSetFromOptions(A));
  PetscCall(MatSeqAIJSetPreallocation(A, side * grid->dof, NULL));
  PetscCall(MatMPIAIJSetPreallocation(A, side * grid->dof, NULL, side * grid->dof, NULL));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(PetscMalloc2(side * grid->dof, &columns, side * grid->dof, &values));
  for (PetscInt row = first; row < last; ++row) {
    const PetscInt count = make_row(grid, row, columns, values);
    PetscCall(MatSetValues(A, 1, &row, count, columns, values, INSERT_VALUES));
  }
  PetscCall(PetscFree2(columns, values));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

int main(int argc, char** argv) {
  Grid grid = {2, 300, 1, PETSC_FALSE, PETSC_FALSE};
  char file[PETSC_MAX_PATH_LEN];
  PetscBool from_file;
  PetscInt iterations;
  PetscReal residual, size;
  PetscViewer viewer;
  Mat A;
  Vec x, b;
  KSP ksp;
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-f", file, sizeof(file), &from_file));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dimension", &grid.dimension, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &grid.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-dof", &grid.dof, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-box", &grid.box, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-rough", &grid.rough, NULL));
  PetscCheck(grid.dimension == 2 || grid.dimension == 3, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE,
             "-dimension is 2 or 3");
  PetscCheck(grid.n > 0 && grid.dof > 0, PETSC_COMM_WORLD, PETSC_ERR_ARG_OUTOFRANGE, "-n and -dof are positive");

  PetscCall(MatCreate(PETSC_COMM_WORLD, &A));
  if (from_file) {
    PetscCall(MatSetFromOptions(A));
    PetscCall(PetscViewerBinaryOpen(PETSC_COMM_WORLD, file, FILE_MODE_READ, &viewer));
    PetscCall(MatLoad(A, viewer));
    PetscCall(PetscViewerDestroy(&viewer));
  } else {
    PetscCall(make_matrix(&grid, A));
  }

  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(x, 1));
  PetscCall(MatMult(A, x, b));
  PetscCall(VecSet(x, 0));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, b, x));

  PetscCall(KSPGetIterationNumber(ksp, &iterations));
  PetscCall(VecNorm(b, NORM_2, &size));
  PetscCall(VecScale(b, -1));
  PetscCall(MatMultAdd(A, x, b, b));
  PetscCall(VecNorm(b, NORM_2, &residual));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%" PetscInt_FMT " iterations, relative residual %.3e\n", iterations,
                        (double)(residual / size)));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFinalize());
  return 0;
}
