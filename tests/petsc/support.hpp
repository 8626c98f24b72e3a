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

/// A type of PETSc's own and ours on top of it; vectors are as each of their matrices makes them.
struct Kind {
  const char* base;
  const char* own;
  bool device = false;
  bool renames_sequential = true;  ///< whether one rank's matrix of our type bears its name

  [[nodiscard]] std::string base_name() const { return sized(base); }
  [[nodiscard]] std::string own_name() const { return sized(world_size() == 1 && !renames_sequential ? base : own); }
  /// "seqaij" or "mpiaij".
  static std::string sized(const std::string& root) { return (world_size() == 1 ? "seq" : "mpi") + root; }
};

/// Those that this PETSc has.
inline constexpr Kind kinds[] = {{MATAIJ, "aijautospmv"},
#if defined(PETSC_HAVE_CUDA)
                                 {MATAIJCUSPARSE, "aijcusparseautospmv", true, false}
#endif
};

/// Whether this machine has what the kind is for.
bool runs_here(const Kind& kind);

/// Of a pattern that neither is symmetric nor repeats itself from row to row; the dominant diagonal keeps solvers
/// happy.
struct Contents {
  PetscInt rows = 8000 * world_size();  ///< more nonzeros on each rank than PETSc is left alone with
  PetscInt reach = 300;
  bool wider = false;  ///< one more entry in each thousandth row, for which PETSc moves all of them
  double factor = 1;
  int filled = 5;  ///< of each five rows these have entries
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
