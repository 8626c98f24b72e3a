// What a caller feels: the total of his first N products, all that tuning takes from him included, over N products of a
// plain loop over CSR. On the host:
//     benchmark_totals [--effort NAME] [--float] [--knowing] [--most N] [--values own|random:SEED] MATRIX...
// MATRIX: a Matrix Market file or gen:KIND:ARGS; --values is for those that follow it. Without --effort, what auto_spmv
// does by itself. With --knowing, each matrix is met by a context that knows the trials of all others, which are made
// before. OMP_NUM_THREADS says how many threads multiply.
//
// Plain CSR and ours take turns in pieces, so that what disturbs the machine for a while disturbs both; the total is
// the sum of the caller's products as he would time them.
#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <omp.h>

#include <autospmv/autospmv.hpp>

#include "core/random.hpp"
#include "io/load.hpp"

namespace {

using namespace autospmv;

constexpr std::array<std::int64_t, 6> counts = {10, 100, 300, 1000, 3000, 10000};

struct Settings {
  std::optional<Effort> effort;
  bool knowing = false;
  std::int64_t most = counts.back();
};

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// What users write who use no library.
template <class T>
void plain_product(const HostCsr<T>& matrix, const std::vector<T>& x, std::vector<T>& y) {
  const auto* row_ptr = matrix.row_ptr.data();
  const auto* columns = matrix.col_idx.data();
  const auto* values = matrix.values.data();
  const auto rows = matrix.rows;
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < rows; ++row) {
    T sum = 0;
    for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) sum += values[k] * x[static_cast<std::size_t>(columns[k])];
    y[static_cast<std::size_t>(row)] = sum;
  }
}

struct Totals {
  std::array<double, counts.size()> ratio{};  // 0: not that many
  std::string choice;
  double plain_us = 0;
};

template <class T>
Totals totals_of(const HostCsr<T>& csr, const Context& context, std::int64_t most) {
  std::vector<T> x(static_cast<std::size_t>(csr.cols));
  fill_random(x.data(), csr.cols, 1, {}, {});
  std::vector<T> y(static_cast<std::size_t>(csr.rows));
  std::vector<T> expected(y.size());
  const auto A = Matrix<T>::from_csr(csr.rows, csr.cols, csr.row_ptr, csr.col_idx, csr.values);
  const SpmvOptions<T> options{.context = &context};
  for (int i = 0; i < 5; ++i) plain_product(csr, x, expected);

  Totals totals;
  double plain = 0;  // of as many products as ours
  double ours = 0;
  std::int64_t done = 0;
  // A machine's speed changes from second to second: each piece is held against plain CSR just before and after it.
  const auto plain_seconds = [&](std::int64_t repetitions) {
    const double begun = now();
    for (std::int64_t i = 0; i < repetitions; ++i) plain_product(csr, x, expected);
    return (now() - begun) / static_cast<double>(repetitions);
  };
  double before = plain_seconds(10);
  for (std::size_t at = 0; at < counts.size() && counts[at] <= most; ++at) {
    while (done < counts[at]) {
      const auto piece = std::min(counts[at] - done, std::clamp<std::int64_t>(done / 2, 10, 200));
      const double start = now();
      for (std::int64_t i = 0; i < piece; ++i) auto_spmv(A, std::span<const T>(x), std::span<T>(y), options);
      ours += now() - start;
      done += piece;
      const double after = plain_seconds(std::max<std::int64_t>(5, piece / 10));
      plain += static_cast<double>(piece) * (before + after) / 2;
      before = after;
    }
    totals.ratio[at] = ours / plain;
  }
  for (std::size_t i = 0; i < y.size(); ++i) {
    const double scale = std::abs(static_cast<double>(expected[i])) + 1;
    if (std::abs(static_cast<double>(y[i]) - static_cast<double>(expected[i])) > 1e-2 * scale) {
      throw Error("the two products differ");
    }
  }
  totals.choice = kept_plan(A, context).choice();
  totals.plain_us = plain / static_cast<double>(done) * 1e6;
  return totals;
}

Context context_of(const Settings& settings) {
  ContextOptions options{.device = Place{}, .database = DatabaseChoice::memory()};
  if (settings.effort) options.effort = *settings.effort;
  return Context(options);
}

struct Source {
  std::string name;
  Values values;
};

template <class T>
void run(const std::vector<Source>& sources, const Settings& settings) {
  std::printf("%d threads, %s; total over that of plain CSR\n%-28s %9s", omp_get_max_threads(),
              sizeof(T) == sizeof(float) ? "float" : "double", "matrix", "plain us");
  for (const auto count : counts) std::printf(" %7lld", static_cast<long long>(count));
  std::printf("  plan\n");
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
    std::printf("  %s\n", totals.choice.c_str());
    std::fflush(stdout);
  }
  const auto line = [&](const char* name, const auto& of) {
    std::printf("%-38s", name);
    for (const auto& ratios : all) {
      if (!ratios.empty()) std::printf(" %7.2f", of(ratios));
    }
    std::printf("\n");
  };
  line("geometric mean", [](const std::vector<double>& ratios) {
    double sum = 0;
    for (const double ratio : ratios) sum += std::log(ratio);
    return std::exp(sum / static_cast<double>(ratios.size()));
  });
  line("worst", [](const std::vector<double>& ratios) { return *std::max_element(ratios.begin(), ratios.end()); });
}

int usage(const char* program) {
  std::fprintf(stderr,
               "usage: %s [--effort NAME] [--float] [--knowing] [--most N] [--values own|random:SEED] MATRIX...\n",
               program);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Settings settings;
    bool is_float = false;
    Values values;
    std::vector<Source> sources;
    for (int i = 1; i < argc; ++i) {
      const std::string argument = argv[i];
      const bool last = i + 1 == argc;
      if (argument == "--effort") {
        if (last || !(settings.effort = parse_effort(argv[++i]))) return usage(argv[0]);
      } else if (argument == "--most") {
        if (last) return usage(argv[0]);
        settings.most = std::stoll(argv[++i]);
      } else if (argument == "--float") {
        is_float = true;
      } else if (argument == "--knowing") {
        settings.knowing = true;
      } else if (argument == "--values") {
        if (last) return usage(argv[0]);
        values = Values::parse(argv[++i]);
      } else {
        sources.push_back({argument, values});
      }
    }
    if (sources.empty()) return usage(argv[0]);
    is_float ? run<float>(sources, settings) : run<double>(sources, settings);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "benchmark_totals: %s\n", error.what());
    return 1;
  }
}
