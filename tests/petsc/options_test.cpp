// What the options choose, what they refuse, and what becomes of what several ranks learn at once.
#include <unistd.h>
#include <autospmv/autospmv.hpp>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <type_traits>

#include "support.hpp"

namespace autospmv::petsc {

namespace {

constexpr const char* own = "aijautospmv";

/// The same file on all ranks, which goes in the end.
class File {
 public:
  explicit File(const std::string& name) {
    int process = getpid();
    MPI_Bcast(&process, 1, MPI_INT, 0, PETSC_COMM_WORLD);
    path_ = std::filesystem::temp_directory_path() / ("autospmv-" + name + "-" + std::to_string(process));
    if (world_rank() == 0) std::filesystem::remove(path_);
    MPI_Barrier(PETSC_COMM_WORLD);
  }
  ~File() {
    MPI_Barrier(PETSC_COMM_WORLD);
    if (world_rank() == 0) std::filesystem::remove(path_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  [[nodiscard]] const char* name() const { return path_.c_str(); }

 private:
  std::filesystem::path path_;
};

// The error of a first product with these options, which every rank has.
PetscErrorCode error_of_product(Mat A) {
  Vec x = nullptr;
  Vec y = nullptr;
  MatCreateVecs(A, &x, &y);
  PetscPushErrorHandler(PetscReturnErrorHandler, nullptr);
  const auto error = MatMult(A, x, y);
  PetscPopErrorHandler();
  VecDestroy(&x);
  VecDestroy(&y);
  return error;
}

// Of one rank's own, so that a failing product leaves no other rank behind.
Mat make_local() {
  Mat A = nullptr;
  Mat block = nullptr;
  [&] {
    A = make(MATAIJ, {.rows = 9000 * world_size()});
    Mat inside = A;
    if (world_size() > 1) {
      CALL(MatMPIAIJGetSeqAIJ(A, &inside, nullptr, nullptr));
    }
    CALL(MatConvert(inside, "seqaijautospmv", MAT_INITIAL_MATRIX, &block));
    CALL(MatDestroy(&A));
  }();
  return block;
}

TEST(Options, OfEffortAreNames) {
  const Option option("-mat_autospmv_effort", "hard");
  Mat A = make_local();
  EXPECT_NE(static_cast<int>(error_of_product(A)), 0);
  CALL(MatDestroy(&A));
}

TEST(Options, OfExpectedCallsArePositive) {
  const Option option("-mat_autospmv_expected_calls", "0");
  Mat A = make_local();
  EXPECT_EQ(static_cast<int>(error_of_product(A)), PETSC_ERR_ARG_OUTOFRANGE);
  CALL(MatDestroy(&A));
}

TEST(Options, NameNoFileOfAnotherProgram) {
  const File file("text");
  if (world_rank() == 0) std::ofstream(file.name()) << "not a database";
  MPI_Barrier(PETSC_COMM_WORLD);
  const Option option("-mat_autospmv_database", file.name());
  Mat A = make_local();
  EXPECT_EQ(static_cast<int>(error_of_product(A)), PETSC_ERR_ARG_WRONG);
  CALL(MatDestroy(&A));
}

TEST(Options, HaveThePrefixOfTheirMatrix) {
  const Option option("-one_mat_autospmv_expected_calls", "0");
  Mat A = make_local();
  Mat B = make_local();
  CALL(MatSetOptionsPrefix(A, "one_"));
  EXPECT_NE(static_cast<int>(error_of_product(A)), 0);
  EXPECT_EQ(static_cast<int>(error_of_product(B)), 0);
  CALL(MatDestroy(&A));
  CALL(MatDestroy(&B));
}

TEST(Options, OfAParallelMatrixAreThoseOfItsBlocks) {
  if (world_size() == 1) GTEST_SKIP() << "one rank has no blocks";
  const Option option("-one_mat_autospmv_effort", "hard");
  PetscPushErrorHandler(PetscReturnErrorHandler, nullptr);
  Mat A = nullptr;
  CALL(MatCreate(PETSC_COMM_WORLD, &A));
  CALL(MatSetSizes(A, 10, 10, PETSC_DETERMINE, PETSC_DETERMINE));
  CALL(MatSetOptionsPrefix(A, "one_"));
  CALL(MatSetType(A, own));
  EXPECT_NE(static_cast<int>(MatMPIAIJSetPreallocation(A, 3, nullptr, 3, nullptr)), 0);
  PetscPopErrorHandler();
  CALL(MatDestroy(&A));
}

// Every rank tunes a matrix of its own into one file; each of them is known there afterwards.
TEST(Database, LosesNothingOfWhatRanksLearnAtOnce) {
  const File file("trials");
  const Option effort("-mat_autospmv_effort", "measure");
  const Option database("-mat_autospmv_database", file.name());
  Mat A = make_local();
  EXPECT_EQ(static_cast<int>(error_of_product(A)), 0);
  MPI_Barrier(PETSC_COMM_WORLD);

  const PetscInt* row_ptr = nullptr;
  const PetscInt* col_idx = nullptr;
  PetscScalar* values = nullptr;
  PetscInt rows = 0;
  PetscInt cols = 0;
  CALL(MatSeqAIJGetCSRAndMemType(A, &row_ptr, &col_idx, &values, nullptr));
  CALL(MatGetLocalSize(A, &rows, &cols));
  const auto nnz = static_cast<std::size_t>(row_ptr[rows]);
  const auto matrix =
      autospmv::Matrix<PetscScalar>::from_csr(rows, cols, std::span(row_ptr, static_cast<std::size_t>(rows) + 1),
                                              std::span(col_idx, nnz), std::span<const PetscScalar>(values, nnz));
  // With the threads that a rank has here, which are a part of what a machine is known by.
  const Context context(
      {.device = Place{}, .database = DatabaseChoice::file(file.name()), .effort = Effort::cached, .recheck_share = 0});
  EXPECT_EQ(explain(matrix, context).source, "database") << "rank " << world_rank();
  CALL(MatDestroy(&A));
}

}  // namespace

}  // namespace autospmv::petsc
