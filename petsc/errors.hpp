// Where the library's exceptions become PETSc's errors: none may pass through PETSc's C.
#pragma once

#include <petscsys.h>

#include <autospmv/error.hpp>
#include <exception>
#include <new>

namespace autospmv::petsc {

/// What PETSc's functions return where all went well: a number before PETSc 3.19, of an enumeration since then.
inline constexpr PetscErrorCode success{};

/// Calls body() and returns what it throws as an error of PETSc, with the library's one line as its text.
template <class Body>
PetscErrorCode guarded(const Body& body) {
  PetscFunctionBegin;
  try {
    body();
  } catch (const InvalidArgument& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "autospmv: %s", error.what());
  } catch (const OutOfMemory& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "autospmv: %s", error.what());
  } catch (const DeviceError& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_GPU, "autospmv: %s", error.what());
  } catch (const Unsupported& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "autospmv: %s", error.what());
  } catch (const std::bad_alloc&) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "autospmv: not enough memory");
  } catch (const std::exception& error) {
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_LIB, "autospmv: %s", error.what());
  }
  PetscFunctionReturn(success);
}

}  // namespace autospmv::petsc
