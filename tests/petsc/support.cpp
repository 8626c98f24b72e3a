#include "support.hpp"

#include <unistd.h>
#include <array>
#include <autospmv/autospmv.hpp>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace autospmv::petsc {

bool runs_here(const Kind& kind) {
  if (!kind.device) return true;
  try {
    const Context context({.device = Place{.backend = Backend::cuda}, .database = DatabaseChoice::memory()});
    return true;
  } catch (const InvalidArgument&) {
    return false;  // built without CUDA, or there is no device
  }
}

void fill(Mat A, const Contents& contents) {
  PetscInt first = 0;
  PetscInt last = 0;
  CALL(MatGetOwnershipRange(A, &first, &last));
  const auto n = contents.rows;
  for (PetscInt row = first; row < last; ++row) {
    if (row % 5 >= contents.filled) continue;
    const std::array<PetscInt, 6> columns = {
        row,           (row + 1) % n, (row + 2 + row % 3) % n, (row + contents.reach) % n, (row + n - 7 - row % 5) % n,
        (row + 40) % n};
    std::array<PetscScalar, 6> values{};
    for (std::size_t i = 0; i < columns.size(); ++i) {
      values[i] =
          contents.factor * (i == 0 ? 8 : -1 - 0.5 * std::sin(static_cast<double>(row) + 3.0 * static_cast<double>(i)));
    }
    CALL(MatSetValues(A, 1, &row, contents.wider && row % 1000 == 0 ? 6 : 5, columns.data(), values.data(),
                      INSERT_VALUES));
  }
  CALL(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  CALL(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
}

Mat make(MatType type, const Contents& contents, const char* prefix) {
  Mat A = nullptr;
  [&] {
    CALL(MatCreate(PETSC_COMM_WORLD, &A));
    CALL(MatSetSizes(A, PETSC_DECIDE, PETSC_DECIDE, contents.rows, contents.rows));
    if (prefix != nullptr) {
      CALL(MatSetOptionsPrefix(A, prefix));
    }
    CALL(MatSetType(A, type));
    CALL(MatSeqAIJSetPreallocation(A, 7, nullptr));
    CALL(MatMPIAIJSetPreallocation(A, 7, nullptr, 7, nullptr));
    fill(A, contents);
  }();
  return A;
}

std::string type_of(Mat A) {
  MatType type = nullptr;
  MatGetType(A, &type);
  return type == nullptr ? "" : type;
}

std::string info_of(Mat A) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("autospmv-view-" + std::to_string(world_rank()) + "-" + std::to_string(getpid()));
  [&] {
    PetscViewer viewer = nullptr;
    CALL(PetscViewerASCIIOpen(PETSC_COMM_WORLD, file.c_str(), &viewer));
    CALL(PetscViewerPushFormat(viewer, PETSC_VIEWER_ASCII_INFO));
    CALL(MatView(A, viewer));
    CALL(PetscViewerDestroy(&viewer));
  }();
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  std::filesystem::remove(file);
  return text.str();
}

double difference(Vec a, Vec b) {
  PetscReal largest = 0;
  PetscReal apart = 0;
  [&] {
    Vec delta = nullptr;
    CALL(VecDuplicate(a, &delta));
    CALL(VecCopy(a, delta));
    CALL(VecAXPY(delta, -1, b));
    CALL(VecNorm(a, NORM_INFINITY, &largest));
    CALL(VecNorm(delta, NORM_INFINITY, &apart));
    CALL(VecDestroy(&delta));
  }();
  return apart / largest;
}

void expect_equal_products(Mat A, Mat B) {
  constexpr double rounding = 1e-14;
  // PETSc itself makes the first transposed products with a matrix; then its transposed arrays are made.
  constexpr int first_transposed = 20;
  std::array<Vec, 2> domain{};
  std::array<Vec, 4> range{};
  CALL(MatCreateVecs(A, domain.data(), range.data()));
  CALL(VecDuplicate(domain[0], &domain[1]));
  for (std::size_t i = 1; i < range.size(); ++i) CALL(VecDuplicate(range[0], &range[i]));
  CALL(VecSetRandom(domain[0], nullptr));
  CALL(VecSetRandom(range[3], nullptr));
  for (int i = 0; i < 2; ++i) {
    CALL(MatMult(A, domain[0], range[0]));
    CALL(MatMult(B, domain[0], range[1]));
    EXPECT_LT(difference(range[0], range[1]), rounding);
    CALL(MatMultAdd(A, domain[0], range[3], range[0]));
    CALL(MatMultAdd(B, domain[0], range[3], range[1]));
    EXPECT_LT(difference(range[0], range[1]), rounding);
    CALL(VecCopy(range[3], range[2]));
    CALL(MatMultAdd(B, domain[0], range[2], range[2]));
    EXPECT_LT(difference(range[0], range[2]), rounding);
  }
  std::array<Vec, 2> back{};
  for (auto& vector : back) CALL(VecDuplicate(domain[0], &vector));
  for (int i = 0; i < 2; ++i) {
    CALL(MatMultTranspose(A, range[3], back[0]));
    CALL(MatMultTranspose(B, range[3], back[1]));
    EXPECT_LT(difference(back[0], back[1]), rounding);
    // Not by MatMultTransposeAdd, of which PETSc's own on a device is wrong.
    CALL(VecAXPY(back[0], 1, domain[0]));
    CALL(MatMultTransposeAdd(B, range[3], domain[0], back[1]));
    EXPECT_LT(difference(back[0], back[1]), rounding);
    CALL(VecCopy(domain[0], domain[1]));
    CALL(MatMultTransposeAdd(B, range[3], domain[1], domain[1]));
    EXPECT_LT(difference(back[0], domain[1]), rounding);
    for (int product = 0; product < first_transposed; ++product) CALL(MatMultTranspose(B, range[3], back[1]));
  }
  for (auto& vector : domain) CALL(VecDestroy(&vector));
  for (auto& vector : range) CALL(VecDestroy(&vector));
  for (auto& vector : back) CALL(VecDestroy(&vector));
}

}  // namespace autospmv::petsc

// Each rank runs all tests; the first one tells of them, the others of their failures.
int main(int argc, char** argv) {
  if (PetscInitialize(&argc, &argv, nullptr, nullptr) != 0) return 2;
  if (autospmv::petsc::world_rank() != 0) testing::GTEST_FLAG(brief) = true;
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  return PetscFinalize() != 0 || failed != 0 ? 1 : 0;
}
