// How good choices are on the recorded trials in tests/tuner/recorded, and the weights that make them:
//     benchmark_replay [--search FILE] [--folds K]
//     benchmark_replay --record DATABASE [--backend NAME] [--type NAME]
// Prints tables as Markdown. With --search, weights are searched for anew and written to FILE, which then has to be
// compiled in; the tables are of these. With --folds, weights are also searched for K times on what is left when every
// K-th matrix is left out, and judged on those: what to expect of matrices that no search has seen. With --record, it
// prints such a recording of what a database knows, by `autospmv train`, of one backend and type of values: of the host
// and double unless told otherwise.
#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "tests/benchmark/replay/weight_search.hpp"
#include "tests/benchmark/replay/weight_table.hpp"
#include "tests/tuner/search/replay.hpp"

namespace {

using namespace autospmv;
using testing::Quality;
using testing::Replay;
using testing::Replayed;

struct Settings {
  std::string header;
  int folds = 0;
  std::string database;
  std::string backend = "host";
  std::string type = "double";
};

using Wanted = std::function<bool(const std::string&)>;

/// Both recordings, of the matrices that are wanted.
class Both {
 public:
  explicit Both(const Wanted& wanted = {})
      : device_(testing::gpu_recording(), wanted), host_(testing::host_recording(), wanted) {}

  [[nodiscard]] std::array<const Replay*, 2> all() const { return {&device_, &host_}; }

 private:
  Replay device_;
  Replay host_;
};

// On each recording, knowing others and blind.
using Results = std::array<std::array<Replayed, 2>, 2>;

void add(Results& results, const Both& both, const Weights& weights, const Wanted& wanted = {}) {
  const auto replays = both.all();
  for (std::size_t r = 0; r < replays.size(); ++r) {
    for (const auto& matrix : replays[r]->matrices()) {
      if (wanted && !wanted(matrix.label)) continue;
      for (const bool blind : {false, true}) results[r][blind ? 1 : 0].add(*replays[r], matrix, blind, weights);
    }
  }
}

void print_choices(const Both& both, const Results& results) {
  const auto replays = both.all();
  for (std::size_t r = 0; r < replays.size(); ++r) {
    std::printf("\n%s, %d matrices:\n\n", replays[r]->recording().device.name.c_str(), results[r][0].measured.matrices);
    std::printf("| effort | trials | best total / total of the choice: geometric mean | worst |\n|---|--:|--:|--:|\n");
    const auto row = [](const char* effort, const char* knowing, const Quality& quality) {
      std::printf("| `%s`%s | %.1f | %.3f | %.2f |\n", effort, knowing,
                  static_cast<double>(quality.trials) / quality.matrices, quality.mean(), quality.worst);
    };
    for (const bool blind : {false, true}) {
      const auto& of = results[r][blind ? 1 : 0];
      const char* const knowing = blind ? " without other matrices" : "";
      row("estimate", knowing, of.estimated);
      row("measure", knowing, of.measured);
      row("online", knowing, of.online);
    }
  }
}

// What each device gets that was recorded, and what one gets that was not, where another of its kind is known.
void print_devices(const Weights& weights) {
  const auto row = [](const char* effort, const char* knowing, const Quality& quality) {
    std::printf("| `%s`%s | %.1f | %.3f | %.2f |\n", effort, knowing,
                static_cast<double>(quality.trials) / quality.matrices, quality.mean(), quality.worst);
  };
  const auto rows = [&](const Replay& replay, const char* knowing, bool blind) {
    const auto of = testing::replayed(replay, blind, weights);
    row("estimate", knowing, of.estimated);
    row("measure", knowing, of.measured);
    row("online", knowing, of.online);
  };
  for (const auto& recording : {testing::gpu_recording(), testing::host_recording(), testing::older_recording()}) {
    const Replay here(recording);
    std::printf("\n%s, %zu matrices:\n\n", recording.device.name.c_str(), here.matrices().size());
    std::printf("| effort | trials | best total / total of the choice: geometric mean | worst |\n|---|--:|--:|--:|\n");
    rows(here, "", false);
    rows(Replay(testing::by_sibling(recording)), " knowing another device of its kind", false);
    rows(here, " without other matrices", true);
  }
}

void print_totals(const Both& both, const Weights& weights) {
  for (const auto* here : both.all()) {
    std::printf("\n%s, total of so many products with `online` / of plain CSR, and the worst:\n\n",
                here->recording().device.name.c_str());
    bool first = true;
    const auto row = [&](const char* knowing, const Replay& replay, bool blind) {
      const auto regret = testing::regret(replay, blind, weights);
      if (std::exchange(first, false)) {
        std::printf("| |");
        for (const auto& [products, quality] : regret.totals)
          std::printf(" %lld | |", static_cast<long long>(products));
        std::printf("\n|---|");
        for (std::size_t i = 0; i < regret.totals.size(); ++i) std::printf("--:|--:|");
        std::printf("\n");
      }
      std::printf("| %s |", knowing);
      for (const auto& [products, quality] : regret.totals) {
        std::printf(" %.2f | %.2f |", 1 / quality.mean(), 1 / quality.worst);
      }
      std::printf("\n");
    };
    row("knowing other matrices", *here, false);
    row("knowing another device of its kind", Replay(testing::by_sibling(here->recording())), false);
    row("without other matrices", *here, true);
  }
}

// The same matrix of both recordings is in the same fold.
std::vector<std::set<std::string>> folds_of(const Both& both, int count) {
  std::set<std::string> labels;
  for (const auto* replay : both.all()) {
    for (const auto& matrix : replay->matrices()) labels.insert(matrix.label);
  }
  std::vector<std::set<std::string>> folds(static_cast<std::size_t>(count));
  std::size_t next = 0;
  for (const auto& label : labels) folds[next++ % folds.size()].insert(label);
  return folds;
}

void print_folds(const Both& both, const Settings& settings) {
  Results results;
  for (const auto& fold : folds_of(both, settings.folds)) {
    const Both rest([&](const std::string& label) { return !fold.contains(label); });
    const auto weights = benchmark::search_weights(rest.all());
    add(results, both, weights, [&](const std::string& label) { return fold.contains(label); });
  }
  std::printf("\nBy weights that were searched for without the matrices that are chosen for, in %d parts:\n",
              settings.folds);
  print_choices(both, results);
}

bool read_settings(const std::vector<std::string>& arguments, Settings& settings) {
  for (std::size_t i = 0; i + 1 < arguments.size(); i += 2) {
    const auto& value = arguments[i + 1];
    if (arguments[i] == "--search") {
      settings.header = value;
    } else if (arguments[i] == "--folds") {
      settings.folds = std::stoi(value);
    } else if (arguments[i] == "--record") {
      settings.database = value;
    } else if (arguments[i] == "--backend") {
      settings.backend = value;
    } else if (arguments[i] == "--type") {
      settings.type = value;
    } else {
      return false;
    }
  }
  return arguments.size() % 2 == 0 && (settings.folds == 0 || settings.folds > 1);
}

void record(const Settings& settings) {
  const auto database = Database::look(settings.database);
  std::vector<MatrixTrials> matrices;
  for (const auto& one : database->recorded(settings.backend, settings.type)) {
    matrices.push_back({one.key, one.matrix, database->passed(one.key)});
  }
  write_recording(std::cout, matrices);
}

void run(const Settings& settings) {
  if (!settings.database.empty()) return record(settings);
  const Both both;
  Weights weights = searched_weights;
  if (!settings.header.empty()) {
    weights = benchmark::search_weights(both.all(), [](double score) { std::fprintf(stderr, "score %.5f\n", score); });
    std::ofstream file(settings.header);
    file << benchmark::header_of(weights);
    if (!file.flush()) throw Error("cannot write " + settings.header);
  }
  print_devices(weights);
  print_totals(both, weights);
  if (settings.folds > 0) print_folds(both, settings);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    Settings settings;
    if (!read_settings({argv + 1, argv + argc}, settings)) {
      std::fprintf(
          stderr, "usage: %s [--search FILE] [--folds K]\n       %s --record DATABASE [--backend NAME] [--type NAME]\n",
          argv[0], argv[0]);
      return 2;
    }
    run(settings);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "benchmark_replay: %s\n", error.what());
    return 1;
  }
}
