// How good the choices of the efforts measure and estimate are, and what they take of a caller, beside exhaustive runs:
//     benchmark_choices [--cuda] [--float] [--known FILE] [--runs FILE] [--values own|random:SEED] MATRIX...
// MATRIX: a Matrix Market file or gen:KIND:ARGS; --values is for those that follow it. Each choice is made by a context
// that knows nothing, as the first of a process would, and with --known also by one that knows what this database
// holds: that of `autospmv train`, say. "of best" is setup + 1000 products of the plan that the exhaustive run has
// chosen over those of the choice, their products timed anew side by side; "products" is what making the plan took, by
// plain CSR's product.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/machine/array.hpp"
#include "core/verify/random.hpp"
#include "io/load.hpp"
#include "tests/benchmark/arguments.hpp"
#include "tuner/context/service.hpp"
#include "tuner/measure/meter.hpp"
#include "tuner/plan/plan_state.hpp"
#include "tuner/plan/tuner.hpp"

namespace {

using namespace autospmv;
using benchmark::now;
using benchmark::Source;

struct Settings {
  Place place;
  std::string known;  // a database; empty: none
  std::string runs;   // likewise
};

// Of one effort, over all matrices.
struct Column {
  const char* name;
  Effort effort;
  bool knowing;
  std::vector<double> of_best = {};
  std::vector<double> products = {};
};

Context context_of(const Settings& settings, bool knowing) {
  return Context({.device = settings.place,
                  .database = knowing ? DatabaseChoice::snapshot(settings.known) : DatabaseChoice::memory()});
}

Context context_of_runs(const Settings& settings) {
  return Context({.device = settings.place,
                  .database = settings.runs.empty() ? DatabaseChoice::memory() : DatabaseChoice::file(settings.runs),
                  .recheck_share = 0});
}

// What an exhaustive run has found.
template <class T>
struct Exhaustive {
  std::shared_ptr<detail::PlanState<T>> plan;  // the best one
  std::map<std::string, double> setups;        // seconds, by candidate
  std::string winner;

  Exhaustive(const Matrix<T>& matrix, const Context& context) {
    const auto tuned = tune(matrix, context, {.effort = Effort::exhaustive, .keep = false});
    plan = tuned.plan;
    winner = plan->choice().candidate.text();
    for (const auto& trial : tuned.trials) {
      setups[trial.candidate.text()] = trial.measurement.setup_seconds;
    }
  }
};

// Products as callers compute them, back to back. Those of several plans take turns: a machine's speed changes.
template <class T>
class Beside {
 public:
  using Plan = detail::PlanState<T>;

  Beside(const Matrix<T>& matrix, const Device& device)
      : device_(device),
        x_(static_cast<std::size_t>(matrix.cols()), device),
        y_(static_cast<std::size_t>(matrix.rows()), device) {
    fill_random(x_.data(), matrix.cols(), 1, device, {});
  }

  // Seconds of a product, of each.
  std::vector<double> seconds_of(const std::vector<Plan*>& plans) {
    constexpr int turns = 7;
    std::vector<std::vector<double>> taken(plans.size());
    for (int turn = 0; turn < turns; ++turn) {
      for (std::size_t i = 0; i < plans.size(); ++i) taken[i].push_back(piece(*plans[i]));
    }
    std::vector<double> medians;
    medians.reserve(plans.size());
    for (auto& of_plan : taken) medians.push_back(summarize(std::move(of_plan)).median);
    return medians;
  }

 private:
  double piece(Plan& plan) {
    constexpr double least_seconds = 3e-3;
    constexpr int untimed = 5;
    const auto multiply = [&] {
      plan.apply(T{1}, x_.data(), T{0}, y_.data(), {});
      synchronize(device_, {});
    };
    for (int i = 0; i < untimed; ++i) multiply();
    int products = 0;
    const double begun = now();
    double taken = 0;
    for (; taken < least_seconds || products < untimed; ++products) {
      multiply();
      taken = now() - begun;
    }
    return taken / products;
  }

  Device device_;
  Array<T> x_;
  Array<T> y_;
};

template <class T>
void choose(const Matrix<T>& matrix, const Settings& settings, const Exhaustive<T>& run, Column& column) {
  const auto context = context_of(settings, column.knowing);
  const auto tuned = tune(matrix, context, {.effort = column.effort, .report = false, .keep = false});
  const auto plain = tune(matrix, context_of(settings, false), {.effort = Effort::cached, .keep = false}).plan;
  const auto seconds =
      Beside<T>(matrix, service_of(context).device()).seconds_of({run.plan.get(), tuned.plan.get(), plain.get()});
  const auto calls = static_cast<double>(Limits{}.expected_calls);
  const auto total = [&](const std::string& candidate, double of_product) {
    const auto setup = run.setups.find(candidate);
    return (setup == run.setups.end() ? 0 : setup->second) + calls * of_product;
  };
  const auto choice = tuned.plan->choice().candidate.text();
  const double of_best = choice == run.winner ? 1 : total(run.winner, seconds[0]) / total(choice, seconds[1]);
  const auto& times = tuned.times;
  const auto products = [&](double taken) { return taken / seconds[2]; };
  std::printf(
      "  %-22s %5.2f %8.1f  = key %.1f, lookup %.1f, features %.1f, prediction %.1f, %lld trials %.1f, "
      "conversion %.1f  %s\n",
      column.name, of_best, products(times.total()), products(times.fingerprint), products(times.lookup),
      products(times.features), products(times.prediction), static_cast<long long>(tuned.new_trials),
      products(times.trials), products(times.conversion), choice.c_str());
  column.of_best.push_back(of_best);
  column.products.push_back(products(times.total()));
}

template <class T>
void run(const std::vector<Source>& sources, const Settings& settings) {
  std::vector<Column> columns = {{"estimate", Effort::estimate, false}, {"measure", Effort::measure, false}};
  if (!settings.known.empty()) {
    columns.push_back({"estimate, knowing", Effort::estimate, true});
    columns.push_back({"measure, knowing", Effort::measure, true});
  }
  std::printf("%s, %s\n  %-22s %5s %8s\n", context_of(settings, false).device_name().c_str(),
              sizeof(T) == sizeof(float) ? "float" : "double", "effort", "of best", "products");
  for (const auto& source : sources) {
    const auto csr = load_matrix<T>(source.name, source.values);
    const auto matrix = Matrix<T>::from_csr(csr.rows, csr.cols, csr.row_ptr, csr.col_idx, csr.values);
    const Exhaustive<T> exhaustive(matrix, context_of_runs(settings));
    std::printf("%s: %lld nonzeros, best %s\n", label_of(source.name).c_str(), static_cast<long long>(csr.nnz()),
                exhaustive.winner.c_str());
    for (auto& column : columns) choose(matrix, settings, exhaustive, column);
    std::fflush(stdout);
  }
  std::printf("over %zu matrices: of best (geometric mean, worst), products (median, most)\n", sources.size());
  for (const auto& column : columns) {
    std::printf("  %-22s %5.3f %5.2f %8.1f %8.1f\n", column.name, benchmark::geometric_mean(column.of_best),
                *std::min_element(column.of_best.begin(), column.of_best.end()), summarize(column.products).median,
                *std::max_element(column.products.begin(), column.products.end()));
  }
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  const auto name_into = [](std::string& file) {
    return [&file](const std::string& name) {
      file = name;
      return true;
    };
  };
  const benchmark::OwnOptions own{
      .valued = {{"--known", name_into(settings.known)}, {"--runs", name_into(settings.runs)}}};
  return benchmark::run_benchmark(
      argc, argv, "[--cuda] [--float] [--known FILE] [--runs FILE] [--values own|random:SEED] MATRIX...", own,
      [&](const benchmark::Arguments& arguments) {
        settings.place = arguments.place;
        arguments.is_float ? run<float>(arguments.sources, settings) : run<double>(arguments.sources, settings);
      });
}
