// What the tests of PETSc's matrix types share: matrices of PETSc's own type and of ours with the same contents.
#pragma once

#include <gtest/gtest.h>
#include <petscksp.h>

#include <string>
#include <utility>

/// Of calls that must succeed.
#define CALL(call) ASSERT_EQ(static_cast<int>(call), 0)

namespace autospmv::petsc {

inline PetscMPIInt world_size() {
  PetscMPIInt size = 0;
  MPI_Comm_size(PETSC_COMM_WORLD, &size);
  return size;
}

inline PetscMPIInt world_rank() {
  PetscMPIInt rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  return rank;
}

/// Of a pattern that neither is symmetric nor repeats itself from row to row; the dominant diagonal keeps solvers
/// happy.
struct Contents {
  PetscInt rows = 8000 * world_size();  ///< more nonzeros on each rank than PETSc is left alone with
  PetscInt reach = 300;
  bool wider = false;  ///< one more entry in each thousandth row, for which PETSc moves all of them
  double factor = 1;
};

/// Puts the contents in, in one assembly.
void fill(Mat A, const Contents& contents);
/// A matrix of this type with these contents.
Mat make(MatType type, const Contents& contents = {}, const char* prefix = nullptr);

std::string type_of(Mat A);
/// What MatView says of it in PETSC_VIEWER_ASCII_INFO; on the first rank.
std::string info_of(Mat A);

/// The largest difference of elements of two vectors, over the largest element.
double difference(Vec a, Vec b);

/// Whether all four products of both matrices agree to rounding.
void expect_equal_products(Mat A, Mat B);

/// Sets an option of PETSc's as long as it lives.
class Option {
 public:
  Option(std::string name, const char* value) : name_(std::move(name)) {
    PetscOptionsSetValue(nullptr, name_.c_str(), value);
  }
  ~Option() { PetscOptionsClearValue(nullptr, name_.c_str()); }
  Option(const Option&) = delete;
  Option& operator=(const Option&) = delete;

 private:
  std::string name_;
};

}  // namespace autospmv::petsc
