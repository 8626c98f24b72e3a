// What the options -mat_autospmv_... choose for a matrix.
#pragma once

#include <petscmat.h>

#include <autospmv/options.hpp>
#include <cstdint>
#include <string>

namespace autospmv::petsc {

struct Settings {
  Effort effort = Effort::online;
  std::int64_t expected_calls = Limits{}.expected_calls;
  std::string database;  ///< a file, or "memory"; empty: the standard one
  bool explain = false;  ///< when the matrix goes, print why its products ran as they did

  friend bool operator==(const Settings&, const Settings&) = default;
};

/// Those of the matrix's own prefix, on the processes of its communicator.
PetscErrorCode read_settings(Mat A, Settings* settings);

}  // namespace autospmv::petsc
