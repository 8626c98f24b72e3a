// What PETSc calls when it loads this library, as -dll_prepend asks it to: the types become known to it.
#include "contexts.hpp"
#include "errors.hpp"
#include "sharing.hpp"
#include "types.hpp"

namespace autospmv::petsc {

namespace {

template <const Family& family>
PetscErrorCode register_family() {
  PetscFunctionBegin;
  PetscCall(MatRegisterRootName(family.root, family.sequential, family.parallel));
  PetscCall(MatRegister(family.sequential, Sequential<family>::create));
  PetscCall(MatRegister(family.parallel, Parallel<family>::create));
  PetscCall(MatSeqAIJRegister(family.sequential, Sequential<family>::convert));
  PetscFunctionReturn(success);
}

PetscErrorCode finalize() {
  forget_contexts();
  return success;
}

}  // namespace

}  // namespace autospmv::petsc

PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscautospmv(void) {
  using namespace autospmv::petsc;
  PetscFunctionBegin;
  PetscCall(MatInitializePackage());
  PetscCall(share_processors());
  PetscCall(register_events());
  PetscCall(register_family<host_family>());
#if defined(PETSC_HAVE_CUDA)
  PetscCall(register_family<cuda_family>());
#endif
  PetscCall(PetscRegisterFinalize(finalize));
  PetscFunctionReturn(success);
}
