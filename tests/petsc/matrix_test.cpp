// A matrix of our types does whatever one of PETSc's own does, before and after it changes.
#include <string>

#include "support.hpp"

namespace autospmv::petsc {

namespace {

constexpr const char* own = "aijautospmv";

std::string sized(const std::string& name) { return (world_size() == 1 ? "seq" : "mpi") + name; }

class Pair : public testing::Test {
 protected:
  void SetUp() override {
    A_ = make(MATAIJ);
    B_ = make(own);
  }
  void TearDown() override {
    CALL(MatDestroy(&A_));
    CALL(MatDestroy(&B_));
  }

  Mat A_ = nullptr;
  Mat B_ = nullptr;
};

TEST_F(Pair, HaveEqualProducts) {
  EXPECT_EQ(type_of(B_), sized("aijautospmv"));
  expect_equal_products(A_, B_);
}

TEST_F(Pair, FollowNewValues) {
  expect_equal_products(A_, B_);
  for (Mat matrix : {A_, B_}) CALL(MatScale(matrix, -3));
  expect_equal_products(A_, B_);
  for (Mat matrix : {A_, B_}) CALL(MatShift(matrix, 0.25));
  expect_equal_products(A_, B_);
  Vec left = nullptr;
  Vec right = nullptr;
  CALL(MatCreateVecs(A_, &right, &left));
  CALL(VecSetRandom(left, nullptr));
  CALL(VecSetRandom(right, nullptr));
  for (Mat matrix : {A_, B_}) CALL(MatDiagonalScale(matrix, left, right));
  expect_equal_products(A_, B_);
  CALL(VecDestroy(&left));
  CALL(VecDestroy(&right));
  for (Mat matrix : {A_, B_}) {
    CALL(MatZeroEntries(matrix));
    fill(matrix, {.factor = 5});
  }
  expect_equal_products(A_, B_);
  const PetscInt row = 3;
  for (Mat matrix : {A_, B_}) CALL(MatZeroRows(matrix, world_rank() == 0 ? 1 : 0, &row, 2, nullptr, nullptr));
  expect_equal_products(A_, B_);
}

TEST_F(Pair, FollowANewPattern) {
  expect_equal_products(A_, B_);
  for (Mat matrix : {A_, B_}) {
    CALL(MatSetOption(matrix, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    fill(matrix, {.wider = true});
  }
  expect_equal_products(A_, B_);
  for (Mat matrix : {A_, B_}) {
    CALL(MatSeqAIJSetPreallocation(matrix, 7, nullptr));
    CALL(MatMPIAIJSetPreallocation(matrix, 7, nullptr, 7, nullptr));
    fill(matrix, {.reach = 123});
  }
  expect_equal_products(A_, B_);
}

TEST_F(Pair, AreDuplicated) {
  expect_equal_products(A_, B_);
  Mat copy = nullptr;
  CALL(MatDuplicate(B_, MAT_COPY_VALUES, &copy));
  CALL(MatScale(B_, 7));
  EXPECT_EQ(type_of(copy), type_of(B_));
  expect_equal_products(A_, copy);
  CALL(MatDestroy(&B_));
  expect_equal_products(A_, copy);
  CALL(MatDuplicate(copy, MAT_DO_NOT_COPY_VALUES, &B_));
  fill(B_, {});
  CALL(MatDestroy(&copy));
  expect_equal_products(A_, B_);
}

TEST_F(Pair, AreConverted) {
  Mat C = nullptr;
  CALL(MatConvert(A_, own, MAT_INITIAL_MATRIX, &C));
  EXPECT_EQ(type_of(C), sized("aijautospmv"));
  EXPECT_EQ(type_of(A_), sized("aij"));
  expect_equal_products(A_, C);
  CALL(MatScale(A_, 2));
  CALL(MatConvert(A_, own, MAT_REUSE_MATRIX, &C));
  expect_equal_products(A_, C);
  CALL(MatDestroy(&C));

  CALL(MatScale(B_, 2));
  expect_equal_products(A_, B_);
  CALL(MatConvert(B_, MATAIJ, MAT_INITIAL_MATRIX, &C));
  EXPECT_EQ(type_of(C), sized("aij"));
  expect_equal_products(A_, C);
  CALL(MatConvert(B_, MATAIJ, MAT_REUSE_MATRIX, &C));
  CALL(MatDestroy(&C));
  CALL(MatConvert(B_, MATAIJ, MAT_INPLACE_MATRIX, &B_));
  EXPECT_EQ(type_of(B_), sized("aij"));
  expect_equal_products(A_, B_);
  CALL(MatConvert(B_, own, MAT_INPLACE_MATRIX, &B_));
  EXPECT_EQ(type_of(B_), sized("aijautospmv"));
  expect_equal_products(A_, B_);
  CALL(MatConvert(B_, MATBAIJ, MAT_INITIAL_MATRIX, &C));
  EXPECT_EQ(type_of(B_), sized("aijautospmv"));
  expect_equal_products(A_, C);
  CALL(MatDestroy(&C));
}

TEST_F(Pair, TakeTheTypeInAnyState) {
  CALL(MatSetType(A_, own));  // assembled: keeps its values
  EXPECT_EQ(type_of(A_), sized("aijautospmv"));
  expect_equal_products(A_, B_);
  CALL(MatSetType(B_, MATAIJ));  // as between all types of PETSc, what it held is gone
  EXPECT_EQ(type_of(B_), sized("aij"));
  CALL(MatSetType(B_, own));
  CALL(MatSetType(B_, MATDENSE));
  CALL(MatSetType(B_, own));
  CALL(MatSetUp(B_));
  CALL(MatSetOption(B_, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  fill(B_, {});
  expect_equal_products(A_, B_);
  const Option option("-some_mat_type", own);
  CALL(MatSetOptionsPrefix(B_, "some_"));
  CALL(MatSetFromOptions(B_));
  expect_equal_products(A_, B_);
}

TEST_F(Pair, AreMultipliedByMatrices) {
  expect_equal_products(A_, B_);
  Mat P = make(own, {.reach = 55});
  Mat C = nullptr;
  Mat D = nullptr;
  CALL(MatPtAP(A_, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  CALL(MatPtAP(B_, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  EXPECT_EQ(type_of(D), type_of(B_));
  expect_equal_products(C, D);
  CALL(MatDestroy(&C));
  CALL(MatDestroy(&D));
  CALL(MatDestroy(&P));

  CALL(MatTranspose(A_, MAT_INPLACE_MATRIX, &A_));
  CALL(MatTranspose(B_, MAT_INPLACE_MATRIX, &B_));
  expect_equal_products(A_, B_);

  Mat X = nullptr;
  PetscInt rows = 0;
  PetscBool equal = PETSC_FALSE;
  CALL(MatGetLocalSize(A_, &rows, nullptr));
  CALL(MatCreateDense(PETSC_COMM_WORLD, rows, PETSC_DECIDE, PETSC_DETERMINE, 3, nullptr, &X));
  CALL(MatSetRandom(X, nullptr));
  CALL(MatMatMult(B_, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  CALL(MatMatMultEqual(A_, X, D, 3, &equal));
  EXPECT_EQ(equal, PETSC_TRUE);
  CALL(MatDestroy(&D));
  CALL(MatDestroy(&X));
}

TEST_F(Pair, SayWhatWasChosen) {
  const std::string blocks = world_size() == 1 ? "autospmv: " : "autospmv, diagonal blocks: ";
  const auto before = info_of(B_);
  expect_equal_products(A_, B_);
  const auto after = info_of(B_);
  const auto plain = info_of(A_);
  if (world_rank() != 0) return;
  EXPECT_NE(before.find(blocks + "no product yet"), std::string::npos) << before;
  EXPECT_NE(after.find(blocks + "csr"), std::string::npos) << after;
  EXPECT_EQ(plain.find("autospmv"), std::string::npos) << plain;
}

TEST(Matrix, OfFewNonzerosIsPetscs) {
  const Contents few{.rows = 900, .reach = 30};
  Mat A = make(MATAIJ, few);
  Mat B = make(own, few);
  expect_equal_products(A, B);
  const auto info = info_of(B);
  if (world_rank() == 0) {
    EXPECT_NE(info.find("PETSc's own product"), std::string::npos) << info;
  }
  CALL(MatDestroy(&A));
  CALL(MatDestroy(&B));
}

// Entry by entry, as PETSc does where no type knows the other.
TEST(Matrix, IsConvertedToAnyOtherType) {
  if (world_size() > 1) GTEST_SKIP() << "of several ranks all types know each other";
  Mat A = make("aijautospmv");
  Mat B = nullptr;
  CALL(MatConvert(A, MATMPIAIJ, MAT_INITIAL_MATRIX, &B));
  EXPECT_EQ(type_of(A), "seqaijautospmv");
  EXPECT_EQ(type_of(B), MATMPIAIJ);
  expect_equal_products(A, B);
  CALL(MatDestroy(&A));
  CALL(MatDestroy(&B));
}

TEST(Matrix, OfPetscsTypeMayHaveOurBlocks) {
  Mat A = make(MATAIJ);
  const Option option("-mat_seqaij_type", "seqaijautospmv");
  Mat B = make(MATAIJ);
  Mat block = B;
  if (world_size() > 1) {
    CALL(MatMPIAIJGetSeqAIJ(B, &block, nullptr, nullptr));
  }
  EXPECT_EQ(type_of(block), "seqaijautospmv");
  expect_equal_products(A, B);
  Mat C = make(own);  // whose blocks have the type already
  expect_equal_products(A, C);
  Mat D = make(MATAIJSELL);  // a type on top of ours
  expect_equal_products(A, D);
  for (Mat* matrix : {&A, &B, &C, &D}) CALL(MatDestroy(matrix));
}

TEST(Matrix, StandsOnTopOfOtherTypes) {
  Mat A = make(MATAIJ);
  const Option option("-mat_seqaij_type", MATSEQAIJSELL);
  Mat B = make(own);
  expect_equal_products(A, B);
  CALL(MatScale(A, 2));
  CALL(MatScale(B, 2));
  expect_equal_products(A, B);
  CALL(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
  EXPECT_EQ(type_of(B), sized("aij"));
  expect_equal_products(A, B);
  CALL(MatDestroy(&A));
  CALL(MatDestroy(&B));
}

}  // namespace

}  // namespace autospmv::petsc
