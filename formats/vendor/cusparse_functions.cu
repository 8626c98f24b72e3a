#include "formats/vendor/cusparse_functions.hpp"

#include <dlfcn.h>

namespace autospmv::formats::cusparse {

namespace {

std::atomic<bool> was_looked_for = false;

void* open_library() {
  // Never closed: at the end of a program others may still be in it.
  static void* const library = [] {
    const auto soname = "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR);
    void* const found = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL);
    return found != nullptr ? found : dlopen(AUTOSPMV_CUSPARSE_PATH, RTLD_NOW | RTLD_LOCAL);
  }();
  was_looked_for = true;
  return library;
}

}  // namespace

bool is_there() { return open_library() != nullptr; }

bool may_be_there() { return !was_looked_for || is_there(); }

void* loaded::find(const char* name) {
  void* const library = open_library();
  return library == nullptr ? nullptr : dlsym(library, name);
}

bool loaded::may_have(const char* name) { return !was_looked_for || find(name) != nullptr; }

}  // namespace autospmv::formats::cusparse
