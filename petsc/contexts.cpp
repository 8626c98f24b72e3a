#include "contexts.hpp"

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

namespace autospmv::petsc {

namespace {

struct Known {
  Settings settings;
  Place device;
  Context context;
};

std::vector<Known>& known() {
  static std::vector<Known> contexts;
  return contexts;
}

DatabaseChoice database_of(const Settings& settings) {
  if (settings.database.empty()) return {};
  return settings.database == "memory" ? DatabaseChoice::memory() : DatabaseChoice::file(settings.database);
}

// A warning that one rank has, such as a database that cannot be written, all of them have: the first one says it.
// Whichever thread it comes from: PETSc's own printing is for one thread alone.
Logger logger() {
  PetscMPIInt rank = 0;
  MPI_Comm_rank(PETSC_COMM_WORLD, &rank);
  return [rank](LogLevel level, std::string_view message) {
    if (level == LogLevel::warning && rank != 0) return;
    std::fprintf(stderr, "[%d] autospmv: %.*s\n", static_cast<int>(rank), static_cast<int>(message.size()),
                 message.data());
  };
}

}  // namespace

Context context_for(const Settings& settings, Place device) {
  // Not what is printed at the end, which makes no other context.
  auto chosen = settings;
  chosen.explain = false;
  const auto same = [&](const Known& one) { return one.settings == chosen && one.device == device; };
  const auto found = std::find_if(known().begin(), known().end(), same);
  if (found != known().end()) return found->context;
  Context context(ContextOptions{.device = device,
                                 .database = database_of(settings),
                                 .effort = settings.effort,
                                 .limits = {.expected_calls = settings.expected_calls, .capture = false},
                                 .logger = logger()});
  known().push_back({chosen, device, context});
  return context;
}

void forget_contexts() { known().clear(); }

}  // namespace autospmv::petsc
