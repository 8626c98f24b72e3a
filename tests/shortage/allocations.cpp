#include "tests/shortage/allocations.hpp"

#include <array>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <exception>
#include <new>
#include <string_view>

#include <unistd.h>

namespace autospmv::testing {

namespace {

std::atomic<bool> counting = false;
std::atomic<std::int64_t> number = 0;
std::atomic<std::int64_t> first_failing = 0;
std::atomic<std::int64_t> last_failing = 0;

bool fails() {
  if (!counting.load(std::memory_order_relaxed)) return false;
  const auto mine = ++number;
  return mine >= first_failing.load(std::memory_order_relaxed) && mine <= last_failing.load(std::memory_order_relaxed);
}

void say(std::string_view text) { static_cast<void>(!write(STDERR_FILENO, text.data(), text.size())); }

// Of a program that dies, the number of the allocation is all that helps.
[[noreturn]] void say_which_and_abort() {
  std::array<char, 24> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), first_failing.load()).ptr;
  say("terminated while allocations failed from number ");
  say({digits.data(), static_cast<std::size_t>(end - digits.data())});
  say("\n");
  std::abort();
}

void* allocate(std::size_t size, std::size_t alignment) noexcept {
  if (fails()) return nullptr;
  if (alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void* allocate_or_throw(std::size_t size, std::size_t alignment) {
  auto* const data = allocate(size, alignment);
  if (data == nullptr) throw std::bad_alloc();
  return data;
}

}  // namespace

FailingAllocations::FailingAllocations(std::int64_t first, std::int64_t count) {
  std::set_terminate(say_which_and_abort);
  number = 0;
  first_failing = first;
  last_failing = count > all - first ? all : first + count - 1;
  counting = true;
}

FailingAllocations::~FailingAllocations() { counting = false; }

std::int64_t FailingAllocations::asked() { return number; }

}  // namespace autospmv::testing

using autospmv::testing::allocate;
using autospmv::testing::allocate_or_throw;

// The forms for arrays, and those with a size, call these.
void* operator new(std::size_t size) { return allocate_or_throw(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate_or_throw(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t& /*tag*/) noexcept { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t& /*tag*/) noexcept {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void operator delete(void* data) noexcept { std::free(data); }
void operator delete(void* data, std::size_t /*size*/) noexcept { std::free(data); }
void operator delete(void* data, std::align_val_t /*alignment*/) noexcept { std::free(data); }
void operator delete(void* data, std::size_t /*size*/, std::align_val_t /*alignment*/) noexcept { std::free(data); }
