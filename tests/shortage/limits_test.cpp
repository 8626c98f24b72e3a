// Limits that the system, or who runs the process, puts to memory and threads.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/machine/parallel.hpp"
#include "tests/shortage/allocations.hpp"
#include "tests/shortage/threads.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/measure/meter.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

using testing::FailingAllocations;
using testing::FailingThreads;
using testing::is_product;
using testing::make_matrix;
using testing::ramp;
using testing::TemporaryFolder;

bool one_is_right(const Matrix<double>& matrix, const Context& context) {
  const auto x = ramp(matrix.cols());
  const std::vector<double> before(static_cast<std::size_t>(matrix.rows()), -1.0);
  auto y = before;
  auto_spmv(matrix, x, y, {.context = &context});
  return is_product(matrix, 1.0, x, 0.0, before, y);
}

// Of which all have been started when this returns.
void start_openmp_threads() {
  std::vector<std::int64_t> sums(serial_below);
  parallel_for(serial_below, [&](std::int64_t i) { sums[static_cast<std::size_t>(i)] = i; });
}

TEST(Threads, WithoutAnyTheHostTunesOnlineAllTheSame) {
  start_openmp_threads();
  std::vector<std::string> messages;
  auto options = testing::host_options();
  options.effort = Effort::online;
  options.limits.expected_calls = 1'000'000'000;  // so many that trials pay
  options.logger = [&](LogLevel /*level*/, std::string_view message) { messages.emplace_back(message); };
  const FailingThreads failing;
  const Context context(options);
  const auto matrix = make_matrix<double>("gen:circuit:100");
  const auto plan = plan_for(matrix, context);
  for (int i = 0; i < 10'000 && !plan->settled(); ++i) ASSERT_TRUE(one_is_right(matrix, context));
  EXPECT_TRUE(plan->settled());
  EXPECT_TRUE(messages.empty()) << messages.front();
}

TEST(Threads, WithoutAnyWhatIsKnownServes) {
  start_openmp_threads();
  const TemporaryFolder folder;
  const auto matrix = make_matrix<double>("gen:circuit:100");
  auto options = testing::host_options(folder.path() / "trials.db");
  options.limits.expected_calls = 1'000'000'000;  // so many that what is known is asked for at once
  const auto measured = kept_plan(matrix, Context(options)).choice();
  options.effort = Effort::online;
  const FailingThreads failing;
  const Context context(options);
  const auto plan = plan_for(matrix, context);
  for (int i = 0; i < 10'000 && !plan->settled(); ++i) ASSERT_TRUE(one_is_right(matrix, context));
  EXPECT_TRUE(plan->settled());
  // Unless plain CSR, which it began with, is as fast.
  EXPECT_TRUE(plan->choice().candidate.text() == measured || plan->bytes() == 0) << plan->choice().candidate.text();
}

// What tuning online on a device asks for.
TEST(Threads, ThatTheBackgroundHasNoneIsSaidOnce) {
  std::vector<std::string> messages;
  auto options = testing::host_options();
  options.logger = [&](LogLevel /*level*/, std::string_view message) { messages.emplace_back(message); };
  const FailingThreads failing;
  const Context context(options);
  for (int i = 0; i < 2; ++i) EXPECT_FALSE(service_of(context).start_background());
  EXPECT_EQ(messages, std::vector<std::string>{"nothing is tuned online: no thread can be started"});
  options.background = false;
  EXPECT_FALSE(service_of(Context(options)).start_background());
  EXPECT_EQ(messages.size(), 1U) << "nobody wanted one";
}

TEST(CopyBandwidth, IsMeasuredWithWhatMemoryThereIs) {
  const auto device = host_device();
  {
    // The first two are the arrays of the first size.
    const FailingAllocations failing(2, 1);
    EXPECT_GT(measure_copy_bandwidth(device).bytes_a_second, 0);
    EXPECT_GT(FailingAllocations::asked(), 3);
  }
  const FailingAllocations failing(1, FailingAllocations::all);
  EXPECT_THROW(static_cast<void>(measure_copy_bandwidth(device)), std::exception);
}

// SQLite takes its memory by itself.
TEST(DatabaseMemory, WhereItRunsOutProductsAreGivenAllTheSame) {
  for (const std::int64_t more : {0, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18}) {
    SCOPED_TRACE(more);
    const TemporaryFolder folder;
    const auto options = testing::host_options(folder.path() / "trials.db");
    const auto matrix = make_matrix<double>("gen:circuit:100");
    {
      const Context context(options);
      sqlite3_hard_heap_limit64(sqlite3_memory_used() + more);
      EXPECT_TRUE(one_is_right(matrix, context));
      sqlite3_hard_heap_limit64(0);
    }
    const Context context(options);
    const auto again = make_matrix<double>("gen:circuit:100");
    EXPECT_TRUE(one_is_right(again, context));
    EXPECT_TRUE(
        was_tuned(service_of(context).database(), key_of(again, context), Effort::measure, {}, format_catalogue()));
  }
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool takes_all_addresses = true;
#else
constexpr bool takes_all_addresses = false;
#endif

// Bytes of addresses that this process uses.
std::int64_t addresses_used() {
  std::int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

// Ends the process: with 0 where the product is right.
[[noreturn]] void multiply_with_so_much_more(std::int64_t bytes, Effort effort) {
  int status = 2;
  try {
    auto options = testing::host_options();
    options.effort = effort;
    const Context context(options);
    const auto matrix = make_matrix<double>("gen:circuit:6000");
    const auto x = ramp(matrix.cols());
    const std::vector<double> before(static_cast<std::size_t>(matrix.rows()), -1.0);
    auto y = before;
    rlimit old{};
    getrlimit(RLIMIT_AS, &old);
    const rlimit less{static_cast<rlim_t>(addresses_used() + bytes), old.rlim_max};
    setrlimit(RLIMIT_AS, &less);
    for (int i = 0; i < 50; ++i) auto_spmv(matrix, x, y, {.context = &context});
    setrlimit(RLIMIT_AS, &old);
    status = is_product(matrix, 1.0, x, 0.0, before, y) ? 0 : 1;
  } catch (const std::exception& error) {
    std::fputs(error.what(), stderr);
  }
  std::_Exit(status);
}

TEST(AddressesDeathTest, WhereTheyRunOutProductsAreGivenAllTheSame) {
  if (takes_all_addresses) GTEST_SKIP() << "this sanitizer takes all addresses that there are";
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  // Read by the processes that are started here: OpenMP ends one that cannot have its threads.
  const char* const threads = std::getenv("OMP_NUM_THREADS");
  const auto before = threads != nullptr ? std::optional<std::string>(threads) : std::nullopt;
  setenv("OMP_NUM_THREADS", "1", 1);
  for (const auto effort : {Effort::estimate, Effort::measure, Effort::online}) {
    for (const std::int64_t more : {0, 1, 8, 64, 300}) {
      SCOPED_TRACE(std::string(name_of(effort)) + ", " + std::to_string(more) + " MB");
      EXPECT_EXIT(multiply_with_so_much_more(more << 20, effort), ::testing::ExitedWithCode(0), "");
    }
  }
  before ? setenv("OMP_NUM_THREADS", before->c_str(), 1) : unsetenv("OMP_NUM_THREADS");
}

// ---- The same on a GPU -------------------------------------------------------------------------------------------

// All memory of a device but for about so many bytes.
std::vector<Array<char>> take_all_but(std::size_t left, const Device& device) {
  std::vector<Array<char>> taken;
  constexpr std::size_t least = std::size_t{1} << 20;
  for (auto size = static_cast<std::size_t>(free_memory(device)); size >= least; size /= 2) {
    try {
      for (;;) taken.emplace_back(size, device);
    } catch (const OutOfMemory&) {
      continue;
    }
  }
  for (std::size_t freed = 0; freed < left && !taken.empty();) {
    freed += taken.back().size();
    taken.pop_back();
  }
  return taken;
}

TEST(DeviceMemory, WhereItRunsOutProductsAreGivenAllTheSame) {
  if (!built_with_cuda) GTEST_SKIP() << "built without CUDA";
  const auto gpu = testing::last_gpu();
  if (!gpu) GTEST_SKIP() << "no CUDA device";
  const auto& device = *gpu;
  for (const std::size_t left : {0, 1, 8, 64}) {
    SCOPED_TRACE(left);
    const TemporaryFolder folder;
    auto options = testing::host_options(folder.path() / "trials.db");
    options.device = device;
    const auto matrix = make_matrix<double>("gen:circuit:200000");
    {
      const Context context(options);
      const auto taken = take_all_but(left << 20, device);
      for (int i = 0; i < 3; ++i) EXPECT_TRUE(one_is_right(matrix, context));
    }
    trim_memory(device);
    const Context context(options);
    const auto again = make_matrix<double>("gen:circuit:200000");
    EXPECT_TRUE(one_is_right(again, context));
    const auto key = key_of(again, context);
    EXPECT_TRUE(was_tuned(service_of(context).database(), key, Effort::measure, {}, format_catalogue()));
    for (const auto& trial : service_of(context).database().trials(key)) {
      EXPECT_NE(trial.measurement.outcome, Outcome::failed) << trial.candidate.text() << trial.measurement.detail;
    }
    EXPECT_TRUE(service_of(context).database().suspects(key).empty());
  }
}

}  // namespace
}  // namespace autospmv
