#include "core/machine/shortage.hpp"

#include <new>
#include <system_error>

#include "core/error.hpp"

namespace autospmv {

const char* shortage_in_hand() noexcept {
  try {
    throw;
  } catch (const OutOfMemory& error) {
    return error.what();
  } catch (const std::bad_alloc&) {
    return "out of memory";
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::not_enough_memory) return "out of memory";
    if (error.code() == std::errc::resource_unavailable_try_again) return "no thread can be started";
    return nullptr;
  } catch (...) {
    return nullptr;
  }
}

}  // namespace autospmv
