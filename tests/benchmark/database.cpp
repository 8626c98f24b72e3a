// What a large database takes: benchmark_database [FILE [MATRICES [TRIALS OF EACH]]]
// Makes FILE, where there is none, of 28000 matrices and 36 trials of each unless told otherwise, and prints how long a
// process takes to open it, to look a matrix up, and to predict for the first time, and how large it is; each the
// median of several times. Matrices have features of real ones, moved about; trials are of this build's formats.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/matrix/access.hpp"
#include "db/database.hpp"
#include "features/features.hpp"
#include "features/recorded.hpp"
#include "io/load.hpp"
#include "tuner/context/service.hpp"
#include "tuner/search/candidates.hpp"

namespace {

using namespace autospmv;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

// The median time of something that is done again and again.
template <class Body>
double median_ms(const Body& body) {
  std::vector<double> times;
  for (int i = 0; i < 9; ++i) {
    const auto begin = Clock::now();
    body();
    times.push_back(milliseconds_since(begin));
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

struct Model {
  Features features;
  std::vector<Candidate> candidates;
};

std::vector<Model> models(const Device& device, const CostModel& cost_model) {
  std::vector<Model> all;
  for (const auto* source : {"gen:pde:20", "gen:fem:12:3", "gen:rmat:11", "gen:grid2d:90", "gen:circuit:9000",
                             "gen:uniform:4000:4000:9", "gen:banded:5000:12", "gen:dense:120"}) {
    const auto arrays = load_matrix<double>(source, {});
    auto& model = all.emplace_back();
    model.features = extract_features(arrays.view(), device);
    for (const auto& prospect : all_prospects<double>(model.features, device, Predictor(cost_model))) {
      if (prospect.admitted()) model.candidates.push_back(prospect.candidate);
    }
  }
  return all;
}

TrialKey key_of_matrix(std::uint64_t number, const Device& device) {
  return {{0x9e3779b97f4a7c15ULL * (number + 1), number},
          "double",
          "n",
          std::string(name_of(device.backend)),
          device.name,
          device.toolkit,
          device.driver,
          AUTOSPMV_VERSION};
}

void make(const std::filesystem::path& file, std::uint64_t matrices, std::size_t trials, const Device& device,
          const CostModel& cost_model) {
  const auto known = models(device, cost_model);
  const auto database = Database::open(file, {});
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> about_one(0, 0.3);
  for (std::uint64_t m = 0; m < matrices; ++m) {
    const auto& model = known[m % known.size()];
    auto features = model.features;
    features.npr_variance *= about_one(random);
    features.slice_span_mean *= about_one(random);
    features.block_fill[0] *= std::min(1.0, about_one(random));
    const MatrixRecord record{"matrix " + std::to_string(m),
                              features.rows,
                              features.cols,
                              features.nnz,
                              features.nnz * 12,
                              record_of(features),
                              {}};
    std::vector<TrialRecord> made;
    for (std::size_t t = 0; t < trials; ++t) {
      auto& trial = made.emplace_back();
      trial.candidate = model.candidates[t % model.candidates.size()];
      trial.format_version = find_format<double>(trial.candidate.format)->info().version;
      auto& measured = trial.measurement;
      measured.outcome = Outcome::passed;
      const double seconds = 1e-5 * about_one(random);
      measured.warm = {seconds, 0.98 * seconds, 1.03 * seconds, 31};
      measured.cold = {2 * seconds, 1.9 * seconds, 2.2 * seconds, 9};
      measured.setup_seconds = 20 * seconds;
      measured.bytes = features.nnz * 12;
    }
    database->record(key_of_matrix(m, device), record, made);
  }
}

std::int64_t bytes_of(const std::filesystem::path& file) {
  return static_cast<std::int64_t>(std::filesystem::file_size(file));
}

int run(const std::filesystem::path& file, std::uint64_t matrices, std::size_t trials) {
  const auto device = host_device();
  const CostModel cost_model(device, 5e10, default_coefficients(device.backend));
  if (!std::filesystem::exists(file)) make(file, matrices, trials, device, cost_model);

  const ContextOptions options{.device = Place{Backend::host},
                               .database = DatabaseChoice::file(file),
                               .system_databases = std::vector<std::filesystem::path>{}};
  const auto features = models(device, cost_model).front().features;
  const auto predict = [&](const Context& context) {
    return service_of(context).history<double>()->near(features, Fingerprint{}).neighbours().size();
  };
  {
    const Context context(options);
    const auto begin = Clock::now();
    const auto found = predict(context);
    std::printf("first prediction after it was made: %.1f ms, %zu neighbours\n", milliseconds_since(begin), found);
  }
  const double open = median_ms([&] { Database::open(file, {}); });
  double lookup = 0;
  {
    const auto database = Database::open(file, {});
    std::uint64_t next = 0;
    lookup = median_ms([&] {
      for (int i = 0; i < 100; ++i) (void)database->trials(key_of_matrix(next++ * 7919 % matrices, device));
    });
  }
  std::vector<double> predictions;
  for (int i = 0; i < 9; ++i) {
    const Context context(options);
    const auto begin = Clock::now();
    (void)predict(context);
    predictions.push_back(milliseconds_since(begin));
  }
  std::sort(predictions.begin(), predictions.end());
  std::printf("matrices %llu, trials %llu\n", static_cast<unsigned long long>(matrices),
              static_cast<unsigned long long>(matrices) * trials);
  std::printf("| | |\n|---|--:|\n| open | %.2f ms |\n| look a matrix up | %.3f ms |\n", open, lookup / 100);
  std::printf("| first prediction | %.1f ms |\n| file | %.0f MB |\n", predictions[predictions.size() / 2],
              static_cast<double>(bytes_of(file)) * 1e-6);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::filesystem::path file = argc > 1 ? argv[1] : "benchmark.db";
    return run(file, argc > 2 ? std::stoull(argv[2]) : 28000, argc > 3 ? std::stoull(argv[3]) : 36);
  } catch (const std::exception& error) {
    std::cerr << "benchmark_database: " << error.what() << '\n';
    return 1;
  }
}
