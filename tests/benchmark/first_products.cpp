// A caller's first products, each by itself, with all that tuning takes from him: where it takes it, and how long he
// waits at worst.
//     benchmark_first [--cuda] [--float] [--products N] [--times N] [--together] [--plain]
//                     [--values own|random:SEED] MATRIX...
// MATRIX: a Matrix Market file or gen:KIND:ARGS; --values is for those that follow it. A line a program, of which each
// matrix is in several (--times): a context that knows nothing, and so many products (--products), each awaited on a
// device, or all together after the last. It shows what a product takes by the plan that is kept in the end, what all
// of them took over as many of these, the longest, and by how many microseconds those up to each number took longer.
// With --plain, the same of a program that uses none of this: its first products take longer as well.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/random.hpp"
#include "io/load.hpp"
#include "tests/benchmark/arguments.hpp"
#include "tests/benchmark/plain_csr.hpp"
#include "tuner/context/service.hpp"

namespace {

using namespace autospmv;
using benchmark::now;

constexpr std::array<std::int64_t, 6> counts = {1, 10, 30, 150, 300, 1000};
constexpr double long_wait = 5e-4;  // seconds

struct Settings {
  Place place;
  std::int64_t products = 1000;
  std::int64_t times = 3;
  bool together = false;
  bool plain = false;
};

struct Waits {
  std::vector<double> seconds;  // of each product
  double total = 0;             // until the last is done
  double kept = 0;              // a product by the plan that is kept
  std::string choice;
};

template <class Product>
Waits waits_for(std::int64_t count, bool together, Place place, const Product& product) {
  Waits waits;
  waits.seconds.resize(static_cast<std::size_t>(count));
  const double begun = now();
  double before = begun;
  for (auto& seconds : waits.seconds) {
    product();
    if (!together) synchronize(place, {});
    const double after = now();
    seconds = after - std::exchange(before, after);
  }
  synchronize(place, {});
  waits.total = now() - begun;
  return waits;
}

// By `product`, as often as it takes to know what it takes in the end.
template <class Product>
double seconds_of(const Settings& settings, Place place, const Product& product) {
  constexpr std::int64_t warm_up = 20;
  constexpr std::int64_t repetitions = 300;
  (void)waits_for(warm_up, settings.together, place, product);
  return waits_for(repetitions, settings.together, place, product).total / repetitions;
}

template <class T>
Waits first_products(const HostCsr<T>& csr, const Settings& settings) {
  const Context context(ContextOptions{.device = settings.place, .database = DatabaseChoice::memory()});
  const auto device = service_of(context).device();
  std::vector<T> host_x(static_cast<std::size_t>(csr.cols));
  fill_random(host_x.data(), csr.cols, 1, {}, {});
  const auto x = Array<T>::copy_of(host_x, device);
  Array<T> y(static_cast<std::size_t>(csr.rows), device);
  const auto matrix = Matrix<T>::from_csr(csr.rows, csr.cols, csr.row_ptr, csr.col_idx, csr.values);
  (void)data_of(matrix).on(device);  // whoever multiplies there has it there
  synchronize(device, {});
  if (settings.plain) {
    const benchmark::PlainCsr<T> plain(csr, matrix, device);
    const auto product = [&] { plain(x.data(), y.data()); };
    auto waits = waits_for(settings.products, settings.together, device, product);
    waits.kept = seconds_of(settings, device, product);
    waits.choice = plain.name();
    return waits;
  }
  const auto ours = [&] { auto_spmv(matrix, x.span(), y.span(), {.context = &context}); };
  auto waits = waits_for(settings.products, settings.together, device, ours);
  const auto plan = kept_plan(matrix, context);
  // What still tunes would take its part of the products that are timed last.
  constexpr double patience = 5;
  for (const double begun = now(); !plan.settled() && now() < begun + patience;) {
    ours();
    synchronize(device, {});
  }
  waits.kept = seconds_of(settings, device, [&] { plan(x.span(), y.span()); });
  waits.choice = plan.choice();
  return waits;
}

template <class T>
void run(const std::vector<benchmark::Source>& sources, const Settings& settings) {
  std::printf("%-28s %9s %7s %10s", "matrix", "kept us", "ratio", "longest us");
  for (const auto count : counts) {
    if (count <= settings.products) std::printf(" %7lld", static_cast<long long>(count));
  }
  std::printf("  plan\n");
  std::vector<double> ratios;
  int long_waits = 0;
  for (const auto& source : sources) {
    const auto csr = load_matrix<T>(source.name, source.values);
    for (std::int64_t time = 0; time < settings.times; ++time) {
      const auto waits = first_products(csr, settings);
      const double longest = *std::max_element(waits.seconds.begin(), waits.seconds.end());
      ratios.push_back(waits.total / (waits.kept * static_cast<double>(settings.products)));
      long_waits += longest > long_wait ? 1 : 0;
      std::printf("%-28s %9.2f %7.3f %10.0f", label_of(source.name).c_str(), waits.kept * 1e6, ratios.back(),
                  longest * 1e6);
      std::size_t at = 0;
      for (const auto count : counts) {
        if (count > settings.products) break;
        double more = 0;
        for (; at < static_cast<std::size_t>(count); ++at) more += waits.seconds[at] - waits.kept;
        std::printf(" %7.0f", more * 1e6);
      }
      std::printf("  %s\n", waits.choice.c_str());
      std::fflush(stdout);
    }
  }
  std::printf("geometric mean of the ratios %.3f; a product of more than %.0f us in %d of %zu programs\n",
              benchmark::geometric_mean(ratios), long_wait * 1e6, long_waits, ratios.size());
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  const auto count_into = [](std::int64_t& into) {
    return [&into](const std::string& text) {
      const auto count = benchmark::parse_count(text);
      into = count.value_or(0);
      return count.has_value();
    };
  };
  const benchmark::OwnOptions own{
      .valued = {{"--products", count_into(settings.products)}, {"--times", count_into(settings.times)}},
      .flags = {{"--together", &settings.together}, {"--plain", &settings.plain}}};
  return benchmark::run_benchmark(
      argc, argv,
      "[--cuda] [--float] [--products N] [--times N] [--together] [--plain] [--values own|random:SEED] MATRIX...", own,
      [&](const benchmark::Arguments& arguments) {
        settings.place = arguments.place;
        arguments.is_float ? run<float>(arguments.sources, settings) : run<double>(arguments.sources, settings);
      });
}
