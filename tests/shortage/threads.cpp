#include "tests/shortage/threads.hpp"

#include <atomic>
#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>

#include "core/machine/device.hpp"

namespace autospmv::testing {

namespace {
std::atomic<bool> failing = false;
}  // namespace

FailingThreads::FailingThreads() {
  cuda_devices();  // a CUDA driver that could not begin is not there for the tests after this one either
  failing = true;
}
FailingThreads::~FailingThreads() { failing = false; }

}  // namespace autospmv::testing

// What every thread of this program is started by, those of OpenMP too.
extern "C" int create_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                             void* argument) noexcept __asm__("pthread_create");

extern "C" int create_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*start)(void*),
                             void* argument) noexcept {
  using Create = decltype(&create_thread);
  static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
  return autospmv::testing::failing ? EAGAIN : create(thread, attributes, start, argument);
}
