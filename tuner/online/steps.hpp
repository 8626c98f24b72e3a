// A function that gives its thread back while it waits.
#pragma once

#include <coroutine>
#include <exception>
#include <utility>

namespace autospmv {

/// A coroutine that nobody awaits: resume() runs it to its next co_await. What it has begun goes with this. It lets no
/// exception out.
class Steps {
 public:
  struct promise_type {
    Steps get_return_object() { return Steps(std::coroutine_handle<promise_type>::from_promise(*this)); }
    static std::suspend_always initial_suspend() noexcept { return {}; }
    static std::suspend_always final_suspend() noexcept { return {}; }
    static void return_void() noexcept {}
    [[noreturn]] static void unhandled_exception() noexcept { std::terminate(); }
  };

  Steps() = default;
  Steps(Steps&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Steps& operator=(Steps&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  Steps(const Steps&) = delete;
  Steps& operator=(const Steps&) = delete;
  ~Steps() {
    if (handle_) handle_.destroy();
  }

  void resume() const { handle_.resume(); }
  [[nodiscard]] bool done() const { return handle_.done(); }

 private:
  explicit Steps(std::coroutine_handle<promise_type> handle) : handle_(handle) {}

  std::coroutine_handle<promise_type> handle_;
};

}  // namespace autospmv
