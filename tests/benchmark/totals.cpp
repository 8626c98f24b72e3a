// What a caller feels: the total of his first N products, all that tuning takes from him included, over N products of a
// plain loop over CSR on the host, or of cuSPARSE's CSR on a CUDA device:
//     benchmark_totals [--cuda] [--effort NAME] [--float] [--knowing] [--most N] [--values own|random:SEED] MATRIX...
// MATRIX: a Matrix Market file or gen:KIND:ARGS; --values is for those that follow it. Without --effort, what auto_spmv
// does by itself. With --knowing, each matrix is met by a context that knows the trials of all others, which are made
// before. OMP_NUM_THREADS says how many threads multiply. On a device each product is awaited. The column "of best"
// says what all products took over as many by the plan that is kept in the end.
//
// Plain CSR and ours take turns in pieces, so that what disturbs the machine for a while disturbs both; the total is
// the sum of the caller's products as he would time them.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <optional>
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
#include "tuner/predict/cost_model.hpp"

namespace {

using namespace autospmv;
using benchmark::now;
using benchmark::Source;

constexpr std::array<std::int64_t, 7> counts = {10, 100, 300, 1000, 3000, 10000, 100000};

struct Settings {
  Place place;
  std::optional<Effort> effort;
  bool knowing = false;
  std::int64_t most = 10000;
};

struct Totals {
  std::array<double, counts.size()> ratio{};  // 0: not that many
  std::string choice;
  double plain_us = 0;
  double of_best = 0;
};

// The products that are compared, where they run.
template <class T>
class Products {
 public:
  Products(const HostCsr<T>& csr, const Context& context)
      : context_(context),
        device_(service_of(context).device()),
        matrix_(Matrix<T>::from_csr(csr.rows, csr.cols, csr.row_ptr, csr.col_idx, csr.values)),
        plain_(csr, matrix_, device_),
        y_(static_cast<std::size_t>(csr.rows), device_),
        plain_y_(static_cast<std::size_t>(csr.rows), device_) {
    std::vector<T> x(static_cast<std::size_t>(csr.cols));
    fill_random(x.data(), csr.cols, 1, {}, {});
    x_ = Array<T>::copy_of(x, device_);
  }

  void plain() {
    plain_(x_.data(), plain_y_.data());
    synchronize(device_, {});
  }
  void ours() {
    auto_spmv(matrix_, std::span<const T>(x_.span()), y_.span(), {.context = &context_});
    synchronize(device_, {});
  }
  void settled(const Plan<T>& plan) {
    plan(std::span<const T>(x_.span()), y_.span());
    synchronize(device_, {});
  }
  [[nodiscard]] Plan<T> plan() const { return kept_plan(matrix_, context_); }

  // After both.
  void check() {
    const auto expected = plain_y_.to_vector();
    const auto y = y_.to_vector();
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double scale = std::abs(static_cast<double>(expected[i])) + 1;
      if (!(std::abs(static_cast<double>(y[i]) - static_cast<double>(expected[i])) <= 1e-2 * scale)) {
        throw Error("the two products differ");
      }
    }
  }

 private:
  const Context& context_;
  Device device_;
  Matrix<T> matrix_;
  benchmark::PlainCsr<T> plain_;
  Array<T> x_;
  Array<T> y_;
  Array<T> plain_y_;
};

template <class Product>
double seconds_of(std::int64_t repetitions, const Product& product) {
  const double begun = now();
  for (std::int64_t i = 0; i < repetitions; ++i) product();
  return now() - begun;
}

template <class T>
Totals totals_of(const HostCsr<T>& csr, const Context& context, std::int64_t most) {
  Products<T> products(csr, context);
  // A machine's speed changes from second to second: each piece is held against plain CSR just before and after it. Of
  // these products the median, for what is tuned beside them disturbs them, too.
  const auto plain_seconds = [&](std::int64_t repetitions) {
    std::vector<double> seconds(static_cast<std::size_t>(repetitions));
    for (auto& of_one : seconds) of_one = seconds_of(1, [&] { products.plain(); });
    return median(seconds);
  };
  (void)plain_seconds(5);
  Totals totals;
  double plain = 0;  // of as many products as ours
  double ours = 0;
  std::int64_t done = 0;
  double before = plain_seconds(10);
  for (std::size_t at = 0; at < counts.size() && counts[at] <= most; ++at) {
    while (done < counts[at]) {
      const auto piece = std::min(counts[at] - done, std::clamp<std::int64_t>(done / 2, 10, 200));
      ours += seconds_of(piece, [&] { products.ours(); });
      done += piece;
      const double after = plain_seconds(std::max<std::int64_t>(5, piece / 10));
      plain += static_cast<double>(piece) * (before + after) / 2;
      before = after;
    }
    totals.ratio[at] = ours / plain;
  }
  products.check();
  const auto plan = products.plan();
  // What still tunes would take its part of the products that are timed last.
  constexpr double patience = 5;
  for (const double begun = now(); !plan.settled() && now() < begun + patience;) products.ours();
  totals.choice = plan.choice();
  totals.plain_us = plain / static_cast<double>(done) * 1e6;
  // Likewise beside plain CSR, for the machine may have another speed by now.
  constexpr std::int64_t repetitions = 100;
  (void)seconds_of(5, [&] { products.settled(plan); });
  before = plain_seconds(20);
  const double best = seconds_of(repetitions, [&] { products.settled(plan); }) / repetitions;
  totals.of_best = ours / plain / (best / ((before + plain_seconds(20)) / 2));
  return totals;
}

Context context_of(const Settings& settings) {
  ContextOptions options{.device = settings.place, .database = DatabaseChoice::memory()};
  if (settings.effort) options.effort = *settings.effort;
  return Context(options);
}

template <class T>
void run(const std::vector<Source>& sources, const Settings& settings) {
  std::printf("%s, %s; total over that of plain CSR\n%-28s %9s", context_of(settings).device_name().c_str(),
              sizeof(T) == sizeof(float) ? "float" : "double", "matrix", "plain us");
  for (const auto count : counts) {
    if (count <= settings.most) std::printf(" %7lld", static_cast<long long>(count));
  }
  std::printf(" of best  plan\n");
  std::array<std::vector<double>, counts.size()> all;
  for (const auto& source : sources) {
    const auto csr = load_matrix<T>(source.name, source.values);
    const Context context = context_of(settings);
    if (settings.knowing) {
      for (const auto& other : sources) {
        if (other.name == source.name) continue;
        const auto matrix = load_matrix<T>(other.name, other.values);
        (void)make_plan(Matrix<T>::from_csr(matrix.rows, matrix.cols, matrix.row_ptr, matrix.col_idx, matrix.values),
                        context, {.effort = Effort::measure});
      }
    }
    const auto totals = totals_of(csr, context, settings.most);
    std::printf("%-28s %9.1f", label_of(source.name).c_str(), totals.plain_us);
    for (std::size_t i = 0; i < counts.size(); ++i) {
      if (totals.ratio[i] == 0) continue;
      std::printf(" %7.2f", totals.ratio[i]);
      all[i].push_back(totals.ratio[i]);
    }
    std::printf(" %7.2f  %s\n", totals.of_best, totals.choice.c_str());
    std::fflush(stdout);
  }
  const auto line = [&](const char* name, const auto& of) {
    std::printf("%-38s", name);
    for (const auto& ratios : all) {
      if (!ratios.empty()) std::printf(" %7.2f", of(ratios));
    }
    std::printf("\n");
  };
  line("geometric mean", benchmark::geometric_mean);
  line("worst", [](const std::vector<double>& ratios) { return *std::max_element(ratios.begin(), ratios.end()); });
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  const benchmark::OwnOptions own{
      .valued = {{"--effort",
                  [&](const std::string& name) { return (settings.effort = parse_effort(name)).has_value(); }},
                 {"--most",
                  [&](const std::string& text) {
                    const auto count = benchmark::parse_count(text);
                    settings.most = count.value_or(0);
                    return count.has_value();
                  }}},
      .flags = {{"--knowing", &settings.knowing}}};
  return benchmark::run_benchmark(
      argc, argv, "[--cuda] [--effort NAME] [--float] [--knowing] [--most N] [--values own|random:SEED] MATRIX...", own,
      [&](const benchmark::Arguments& arguments) {
        settings.place = arguments.place;
        arguments.is_float ? run<float>(arguments.sources, settings) : run<double>(arguments.sources, settings);
      });
}
