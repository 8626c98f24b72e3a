// A matrix of our types does whatever one of PETSc's own does, before and after it changes.
#include <string>

#include "support.hpp"

namespace autospmv::petsc {

namespace {

class Pair : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (!runs_here(kind_)) GTEST_SKIP() << "no CUDA device";
    A_ = make(kind_.base);
    B_ = make(kind_.own);
  }
  void TearDown() override {
    CALL(MatDestroy(&A_));
    CALL(MatDestroy(&B_));
  }

  const Kind kind_ = GetParam();
  Mat A_ = nullptr;
  Mat B_ = nullptr;
};

INSTANTIATE_TEST_SUITE_P(Kinds, Pair, testing::ValuesIn(kinds),
                         [](const auto& one) { return one.param.device ? "cuda" : "host"; });

TEST_P(Pair, HaveEqualProducts) {
  EXPECT_EQ(type_of(B_), kind_.own_name());
  expect_equal_products(A_, B_);
}

TEST_P(Pair, FollowNewValues) {
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

TEST_P(Pair, FollowANewPattern) {
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

TEST_P(Pair, AreDuplicated) {
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

TEST_P(Pair, AreConverted) {
  Mat C = nullptr;
  CALL(MatConvert(A_, kind_.own, MAT_INITIAL_MATRIX, &C));
  EXPECT_EQ(type_of(C), kind_.own_name());
  EXPECT_EQ(type_of(A_), kind_.base_name());
  expect_equal_products(A_, C);
  CALL(MatScale(A_, 2));
  CALL(MatConvert(A_, kind_.own, MAT_REUSE_MATRIX, &C));
  expect_equal_products(A_, C);
  CALL(MatDestroy(&C));

  CALL(MatScale(B_, 2));
  expect_equal_products(A_, B_);
  CALL(MatConvert(B_, kind_.base, MAT_INITIAL_MATRIX, &C));
  EXPECT_EQ(type_of(C), kind_.base_name());
  expect_equal_products(A_, C);
  CALL(MatConvert(B_, kind_.base, MAT_REUSE_MATRIX, &C));
  CALL(MatDestroy(&C));
  CALL(MatConvert(B_, kind_.base, MAT_INPLACE_MATRIX, &B_));
  EXPECT_EQ(type_of(B_), kind_.base_name());
  expect_equal_products(A_, B_);
  CALL(MatConvert(B_, kind_.own, MAT_INPLACE_MATRIX, &B_));
  EXPECT_EQ(type_of(B_), kind_.own_name());
  expect_equal_products(A_, B_);
  CALL(MatConvert(B_, MATBAIJ, MAT_INITIAL_MATRIX, &C));
  EXPECT_EQ(type_of(B_), kind_.own_name());
  expect_equal_products(A_, C);
  CALL(MatDestroy(&C));
}

TEST_P(Pair, TakeTheTypeInAnyState) {
  CALL(MatSetType(A_, kind_.own));  // assembled: keeps its values
  EXPECT_EQ(type_of(A_), kind_.own_name());
  expect_equal_products(A_, B_);
  CALL(MatSetType(B_, MATAIJ));  // as between all types of PETSc, what it held is gone
  EXPECT_EQ(type_of(B_), Kind::sized("aij"));
  CALL(MatSetType(B_, kind_.own));
  CALL(MatSetType(B_, MATDENSE));
  CALL(MatSetType(B_, kind_.own));
  CALL(MatSetUp(B_));
  CALL(MatSetOption(B_, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  fill(B_, {});
  expect_equal_products(A_, B_);
  const Option option("-some_mat_type", kind_.own);
  CALL(MatSetOptionsPrefix(B_, "some_"));
  CALL(MatSetFromOptions(B_));
  expect_equal_products(A_, B_);
}

TEST_P(Pair, AreMultipliedByMatrices) {
  expect_equal_products(A_, B_);
  Mat P = make(kind_.own, {.reach = 55});
  Mat C = nullptr;
  Mat D = nullptr;
  CALL(MatPtAP(A_, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &C));
  CALL(MatPtAP(B_, P, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  EXPECT_EQ(type_of(D), type_of(B_));
  // By the name of a type alone PETSc cannot tell a matrix of ours on a device from its own.
  CALL(MatConvert(D, kind_.own, MAT_INPLACE_MATRIX, &D));
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
  CALL(MatCreate(PETSC_COMM_WORLD, &X));
  CALL(MatSetSizes(X, rows, PETSC_DECIDE, PETSC_DETERMINE, 3));
  CALL(MatSetType(X, kind_.device ? MATDENSECUDA : MATDENSE));
  CALL(MatSetUp(X));
  CALL(MatSetRandom(X, nullptr));
  CALL(MatMatMult(B_, X, MAT_INITIAL_MATRIX, PETSC_DEFAULT, &D));
  CALL(MatMatMultEqual(A_, X, D, 3, &equal));
  EXPECT_EQ(equal, PETSC_TRUE);
  CALL(MatDestroy(&D));
  CALL(MatDestroy(&X));
}

// Where they are on a device, there and back.
TEST_P(Pair, AreBoundToTheHost) {
  expect_equal_products(A_, B_);
  for (const auto bound : {PETSC_TRUE, PETSC_FALSE}) {
    for (Mat matrix : {A_, B_}) CALL(MatBindToCPU(matrix, bound));
    expect_equal_products(A_, B_);
    for (Mat matrix : {A_, B_}) CALL(MatScale(matrix, 2));
    expect_equal_products(A_, B_);
  }
}

TEST_P(Pair, SayWhatWasChosen) {
  const std::string blocks = world_size() == 1 ? "autospmv: " : "autospmv, diagonal blocks: ";
  const auto before = info_of(B_);
  expect_equal_products(A_, B_);
  const auto after = info_of(B_);
  const auto plain = info_of(A_);
  if (world_rank() != 0) return;
  EXPECT_NE(before.find(blocks + "no product yet"), std::string::npos) << before;
  EXPECT_NE(after.find(blocks + (kind_.device ? "" : "csr")), std::string::npos) << after;
  EXPECT_EQ(after.find(blocks + "no product"), std::string::npos) << after;
  EXPECT_EQ(plain.find("autospmv"), std::string::npos) << plain;
}

class Matrix : public testing::TestWithParam<Kind> {
 protected:
  void SetUp() override {
    if (!runs_here(kind_)) GTEST_SKIP() << "no CUDA device";
  }

  void expect_petscs_products(const Contents& contents) const {
    Mat A = make(kind_.base, contents);
    Mat B = make(kind_.own, contents);
    expect_equal_products(A, B);
    const auto info = info_of(B);
    if (world_rank() == 0) {
      EXPECT_NE(info.find("PETSc's own product"), std::string::npos) << info;
    }
    CALL(MatDestroy(&A));
    CALL(MatDestroy(&B));
  }

  const Kind kind_ = GetParam();
};

INSTANTIATE_TEST_SUITE_P(Kinds, Matrix, testing::ValuesIn(kinds),
                         [](const auto& one) { return one.param.device ? "cuda" : "host"; });

TEST_P(Matrix, OfFewNonzerosIsPetscs) { expect_petscs_products({.rows = 900, .reach = 30}); }

// From three in five on PETSc has no row offsets on a device but those of the others.
TEST_P(Matrix, OfManyEmptyRowsIsPetscs) { expect_petscs_products({.rows = 20000 * world_size(), .filled = 2}); }

// Entry by entry, as PETSc does where no type knows the other.
TEST(Types, AreConvertedToAnyOther) {
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

TEST(Types, OfPetscsMayHaveOurBlocks) {
  Mat A = make(MATAIJ);
  const Option option("-mat_seqaij_type", "seqaijautospmv");
  Mat B = make(MATAIJ);
  Mat block = B;
  if (world_size() > 1) {
    CALL(MatMPIAIJGetSeqAIJ(B, &block, nullptr, nullptr));
  }
  EXPECT_EQ(type_of(block), "seqaijautospmv");
  expect_equal_products(A, B);
  Mat C = make("aijautospmv");  // whose blocks have the type already
  expect_equal_products(A, C);
  Mat D = make(MATAIJSELL);  // a type on top of ours
  expect_equal_products(A, D);
  for (Mat* matrix : {&A, &B, &C, &D}) CALL(MatDestroy(matrix));
}

TEST(Types, StandOnTopOfOthers) {
  Mat A = make(MATAIJ);
  const Option option("-mat_seqaij_type", MATSEQAIJSELL);
  Mat B = make("aijautospmv");
  expect_equal_products(A, B);
  CALL(MatScale(A, 2));
  CALL(MatScale(B, 2));
  expect_equal_products(A, B);
  CALL(MatConvert(B, MATAIJ, MAT_INPLACE_MATRIX, &B));
  EXPECT_EQ(type_of(B), Kind::sized("aij"));
  expect_equal_products(A, B);
  CALL(MatDestroy(&A));
  CALL(MatDestroy(&B));
}

}  // namespace

}  // namespace autospmv::petsc
