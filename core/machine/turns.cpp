#include "core/machine/turns.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace autospmv {

namespace {

// Seconds after a caller's last order: sooner, whoever awaits his product would meet another thread's at the driver's
// door, and so he would if it came later than so long before he is expected again. After a silence he is not waited
// for.
constexpr double soonest = 1.5e-6;
constexpr double latest = 6e-6;  // at least
constexpr double before_next = 8e-6;
constexpr double silence = 6e-5;

// Whoever gives so many orders no farther apart than that awaits nothing, and would leave no time.
constexpr int close_orders = 3;

thread_local int beside = 0;  // whose address stands for the thread
std::atomic<const int*> holder{nullptr};
std::atomic<std::uint64_t> turns_ended{0};
std::atomic<int> callers_waiting{0};
std::atomic<std::int64_t> last_order{0};  // of a caller
std::atomic<std::int64_t> between{0};     // the last two of them
std::atomic<int> close{0};                // of callers' last orders
std::atomic<bool> is_next{false};         // a thread beside them, whom they let in

std::int64_t now() noexcept {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

double seconds_since(std::int64_t then) noexcept { return 1e-9 * static_cast<double>(now() - then); }

// To give the processor to others may take as long as to be woken.
void stay_awake() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

bool take_free() noexcept {
  const int* nobody = nullptr;
  return holder.load(std::memory_order_relaxed) == nullptr &&
         holder.compare_exchange_strong(nobody, &beside, std::memory_order_acquire, std::memory_order_relaxed);
}

// Once for a turn that does not end, whose thread may have lost its processor.
bool wait_as_caller() noexcept {
  thread_local std::uint64_t given_up = ~std::uint64_t{0};
  const auto before = turns_ended.load(std::memory_order_relaxed);
  if (before == given_up) return false;
  callers_waiting.fetch_add(1, std::memory_order_relaxed);
  bool taken = false;
  for (const auto begun = now(); !taken && seconds_since(begun) < DriverTurn::most_wait;) {
    stay_awake();
    taken = !is_next.load(std::memory_order_relaxed) && take_free();
  }
  callers_waiting.fetch_sub(1, std::memory_order_relaxed);
  if (!taken) given_up = before;
  return taken;
}

bool take_as_caller() noexcept {
  // When he came, not when he was let in.
  const bool is_close = seconds_since(last_order.load(std::memory_order_relaxed)) < soonest;
  close.store(is_close ? close.load(std::memory_order_relaxed) + 1 : 0, std::memory_order_relaxed);
  return (!is_next.load(std::memory_order_relaxed) && take_free()) || wait_as_caller();
}

bool awaits_nothing() noexcept { return close.load(std::memory_order_relaxed) >= close_orders; }

bool is_time_beside(std::int64_t last) noexcept {
  if (awaits_nothing()) {
    is_next.store(true, std::memory_order_relaxed);
    return true;
  }
  if (callers_waiting.load(std::memory_order_relaxed) > 0) return false;
  const double since = seconds_since(last);
  const double expected = 1e-9 * static_cast<double>(between.load(std::memory_order_relaxed));
  return (since > soonest && since < std::max(latest, expected - before_next)) || since > silence;
}

bool take_beside() noexcept {
  bool taken = false;
  for (const auto begun = now(); !taken && seconds_since(begun) < DriverTurn::most_wait_beside; stay_awake()) {
    const auto last = last_order.load(std::memory_order_relaxed);
    if (!is_time_beside(last) || !take_free()) continue;
    // A caller may have come in between.
    taken = last_order.load(std::memory_order_relaxed) == last || awaits_nothing();
    if (!taken) holder.store(nullptr, std::memory_order_release);
  }
  is_next.store(false, std::memory_order_relaxed);
  return taken;
}

}  // namespace

BesideCallers::BesideCallers() noexcept {
  ++beside;
  detail::threads_beside.fetch_add(1, std::memory_order_relaxed);
}

BesideCallers::~BesideCallers() {
  --beside;
  detail::threads_beside.fetch_sub(1, std::memory_order_relaxed);
}

bool DriverTurn::take() noexcept {
  if (holder.load(std::memory_order_relaxed) == &beside) return false;
  return beside > 0 ? take_beside() : take_as_caller();
}

void DriverTurn::give_back() noexcept {
  if (beside == 0) {
    const auto ended = now();
    between.store(ended - last_order.exchange(ended, std::memory_order_relaxed), std::memory_order_relaxed);
  }
  turns_ended.fetch_add(1, std::memory_order_relaxed);
  holder.store(nullptr, std::memory_order_release);
}

}  // namespace autospmv
