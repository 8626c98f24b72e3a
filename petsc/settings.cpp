#include "settings.hpp"

#include <array>
#include <cstddef>

#include "errors.hpp"

namespace autospmv::petsc {

namespace {

constexpr std::array efforts = {Effort::cached, Effort::estimate, Effort::measure, Effort::exhaustive, Effort::online};

}  // namespace

PetscErrorCode read_settings(Mat A, Settings* settings) {
  PetscFunctionBegin;
  std::array<const char*, efforts.size()> names{};
  PetscInt effort = 0;
  for (std::size_t i = 0; i < efforts.size(); ++i) {
    names[i] = name_of(efforts[i]).data();
    if (efforts[i] == settings->effort) effort = static_cast<PetscInt>(i);
  }
  auto calls = static_cast<PetscInt>(settings->expected_calls);
  auto explain = settings->explain ? PETSC_TRUE : PETSC_FALSE;
  std::array<char, PETSC_MAX_PATH_LEN> database{};
  PetscBool named = PETSC_FALSE;
  const char* prefix = nullptr;
  PetscCall(MatGetOptionsPrefix(A, &prefix));
  PetscOptionsBegin(PetscObjectComm(reinterpret_cast<PetscObject>(A)), prefix, "autospmv options", "Mat");
  PetscCall(PetscOptionsEList("-mat_autospmv_effort", "How hard to look for the fastest format", "None", names.data(),
                              static_cast<PetscInt>(names.size()), names[static_cast<std::size_t>(effort)], &effort,
                              nullptr));
  PetscCall(PetscOptionsInt("-mat_autospmv_expected_calls", "Products over which tuning must pay off", "None", calls,
                            &calls, nullptr));
  PetscCall(PetscOptionsString("-mat_autospmv_database", "File of what was learned, or memory", "None", "",
                               database.data(), database.size(), &named));
  PetscCall(PetscOptionsBool("-mat_autospmv_explain", "Print why products ran as they did when a matrix goes", "None",
                             explain, &explain, nullptr));
  PetscOptionsEnd();
  PetscCheck(calls > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "-mat_autospmv_expected_calls %" PetscInt_FMT " is not positive", calls);
  PetscCheck(!named || database[0] != '\0', PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG,
             "-mat_autospmv_database names no file");
  settings->effort = efforts[static_cast<std::size_t>(effort)];
  settings->expected_calls = calls;
  if (named) settings->database = database.data();
  settings->explain = explain == PETSC_TRUE;
  PetscFunctionReturn(success);
}

}  // namespace autospmv::petsc
