// The matrix types: each is one of PETSc's own with other products, and remains that in everything else.
#pragma once

#include <petscmat.h>

#include <string>

#include "errors.hpp"
#include "product.hpp"

namespace autospmv::petsc {

/// The names begin with those of the types below them, by which PETSc finds solvers.
struct Family {
  const char* root;
  const char* sequential;
  const char* parallel;
  const char* base_sequential;
  const char* base_parallel;
  /// Whether a sequential matrix bears the name of its type. PETSc's functions for a type below that checks names
  /// refuse matrices by any other: ours keep it then, and are known by their operations alone.
  bool renames_sequential;
};

inline constexpr Family host_family = {"aijautospmv", "seqaijautospmv", "mpiaijautospmv", MATSEQAIJ, MATMPIAIJ, true};
#if defined(PETSC_HAVE_CUDA)
inline constexpr Family cuda_family = {"aijcusparseautospmv", "seqaijcusparseautospmv", "mpiaijcusparseautospmv",
                                       MATSEQAIJCUSPARSE,     MATMPIAIJCUSPARSE,        false};
#endif

/// Of one process.
template <const Family& family>
struct Sequential {
  /// For MatRegister.
  static PetscErrorCode create(Mat A);
  /// For MatSeqAIJRegister.
  static PetscErrorCode convert(Mat A, MatType type, MatReuse reuse, Mat* result);
  /// Makes a matrix of the type below, or of another one above that, one of this type. One that is stays it.
  static PetscErrorCode attach(Mat A);
  /// Makes a matrix of this type one of the type below.
  static PetscErrorCode detach(Mat A);
};

/// Of several: its blocks of every process are sequential ones, whose products PETSc puts together.
template <const Family& family>
struct Parallel {
  static PetscErrorCode create(Mat A);
};

/// What makes the products of a sequential matrix of these types; null for another matrix.
PetscErrorCode product_of(Mat A, Product** product);

/// Whether a view is the short one that tells of a matrix, not its values.
PetscErrorCode asks_for_info(PetscViewer viewer, bool* info);

using Convert = PetscErrorCode(Mat, MatType, MatReuse, Mat*);

/// Converts a matrix to a type that knows the type below, not ours, or in PETSc's general way; detach() makes it one of
/// that type, whose operation is base_convert.
PetscErrorCode convert_as(const char* base, Convert* base_convert, PetscErrorCode (*detach)(Mat), Mat A, MatType type,
                          MatReuse reuse, Mat* result);

/// Converts between our type and the one below, by a function that makes a matrix one of the other type.
template <class Change>
PetscErrorCode convert_by(const Change& change, Mat A, MatReuse reuse, Mat* result) {
  PetscFunctionBegin;
  if (reuse == MAT_REUSE_MATRIX) {
    PetscCall(MatCopy(A, *result, SAME_NONZERO_PATTERN));
    PetscFunctionReturn(success);
  }
  Mat B = A;
  if (reuse == MAT_INITIAL_MATRIX) PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(change(B));
  *result = B;
  PetscFunctionReturn(success);
}

/// Lets PETSc find how to convert a matrix from our type to the one below, and back; null takes that away.
PetscErrorCode compose_converters(Mat A, const char* own, const char* base, Convert* to_base, Convert* from_base);

/// MatSetOperation and MatGetOperation, for functions of their own types.
template <class Function>
PetscErrorCode set_operation(Mat A, MatOperation which, Function* function) {
  return MatSetOperation(A, which, reinterpret_cast<void (*)()>(function));
}
template <class Function>
PetscErrorCode get_operation(Mat A, MatOperation which, Function** function) {
  void (*found)() = nullptr;
  const auto error = MatGetOperation(A, which, &found);
  *function = reinterpret_cast<Function*>(found);
  return error;
}

}  // namespace autospmv::petsc
