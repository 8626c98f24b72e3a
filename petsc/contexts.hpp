// The library's contexts of this process: one for each choice of settings and each device, until PetscFinalize.
#pragma once

#include <autospmv/context.hpp>

#include "settings.hpp"

namespace autospmv::petsc {

/// Throws as Context does.
Context context_for(const Settings& settings, Place device);

/// Matrices that are still there keep what they use.
void forget_contexts();

}  // namespace autospmv::petsc
