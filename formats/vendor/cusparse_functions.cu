#include "formats/vendor/cusparse_functions.hpp"

#include <dlfcn.h>

namespace autospmv::formats::cusparse {

namespace {

void* open_library() {
  // Never closed: at the end of a program others may still be in it.
  static void* const library = [] {
    const auto soname = "libcusparse.so." + std::to_string(CUSPARSE_VER_MAJOR);
    void* const found = dlopen(soname.c_str(), RTLD_NOW | RTLD_LOCAL);
    return found != nullptr ? found : dlopen(AUTOSPMV_CUSPARSE_PATH, RTLD_NOW | RTLD_LOCAL);
  }();
  return library;
}

}  // namespace

bool is_there() { return open_library() != nullptr; }

void* loaded::find(const char* name) {
  void* const library = open_library();
  return library == nullptr ? nullptr : dlsym(library, name);
}

}  // namespace autospmv::formats::cusparse
