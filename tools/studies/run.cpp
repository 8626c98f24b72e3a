#include "tools/studies/run.hpp"

#include <algorithm>
#include <iostream>

#include "core/error.hpp"
#include "features/features.hpp"
#include "tools/input.hpp"
#include "tools/studies/claims.hpp"
#include "tools/studies/contenders.hpp"
#include "tools/studies/elsewhere.hpp"
#include "tools/studies/exchange.hpp"
#include "tools/studies/page.hpp"
#include "tools/studies/report.hpp"

namespace autospmv::tools {

namespace {

using Studies = std::vector<const Study*>;

// ---- What is measured ----------------------------------------------------------------------------------------------

/// A matrix, and who wants it.
struct Wanted {
  std::string source;
  Studies studies;
};

/// What stands in for the matrices of the studies' papers, each once.
std::vector<Wanted> wanted_stand_ins(const Studies& studies, std::optional<std::int64_t> most_nnz,
                                     std::string& left_out) {
  std::vector<Wanted> all;
  for (const auto* study : studies) {
    for (const auto& matrix : study->matrices) {
      const std::string source(stand_in_of(matrix));
      if (source.empty()) continue;
      if (most_nnz && matrix.nnz > *most_nnz) {
        left_out += (left_out.empty() ? "" : ", ") + std::string(matrix.name);
        continue;
      }
      auto at = std::find_if(all.begin(), all.end(), [&](const Wanted& one) { return one.source == source; });
      if (at == all.end()) at = all.insert(at, {source, {}});
      if (at->studies.empty() || at->studies.back() != study) at->studies.push_back(study);
    }
  }
  return all;
}

std::vector<Wanted> wanted_matrices(const Options& options, const Studies& studies) {
  std::vector<Wanted> all;
  for (const auto& source : options.arguments) all.push_back({source, studies});
  if (!all.empty()) return all;
  std::string left_out;
  all = wanted_stand_ins(studies, options.most_nnz, left_out);
  if (!left_out.empty()) {
    make_logger(options.quiet)(LogLevel::warning,
                               "--most-nnz " + std::to_string(*options.most_nnz) + " leaves out " + left_out);
  }
  if (all.empty()) throw InvalidArgument("--most-nnz leaves out every matrix");
  return all;
}

/// Nothing of it is kept, unless in a database that was asked for: tuning would refuse some of what is tried here.
Options without_database(Options options) {
  if (!options.database) options.database = std::filesystem::path{};
  return options;
}

template <Scalar T>
class Repetition {
 public:
  Repetition(const Options& options, Studies studies)
      : options_(without_database(options)),
        studies_(std::move(studies)),
        wanted_(wanted_matrices(options, studies_)),
        context_(context_options(options_)),
        progress_(options.quiet) {
    service().admit_any_padding();
  }

  int run() {
    int failures = 0;
    for (const auto& one : wanted_) {
      auto options = options_;
      options.arguments = {one.source};
      failures +=
          for_each_matrix<T>(options, [&](const LoadedMatrix<T>& loaded) { study(one.studies, measure(one, loaded)); });
    }
    if (results_.empty()) return 1;
    conclude();
    return failures > 0 ? 1 : 0;
  }

 private:
  Service& service() { return service_of(context_); }

  template <class Work>
  auto with_progress(const MatrixName& matrix, const Work& work) {
    return progress_.during(matrix, [&](TuneOptions how) {
      how.warm_only = true;
      return work(how);
    });
  }

  StudiedMatrix measure(const Wanted& wanted, const LoadedMatrix<T>& loaded) {
    const auto& device = service().device();
    StudiedMatrix studied;
    studied.matrix = summary_of(loaded.label, loaded.matrix);
    studied.backend = name_of(device.backend);
    studied.device = device.name;
    const auto features = extract_features(data_of(loaded.matrix).on(device), device);
    studied.mean_row = features.npr_mean;
    studied.longest_row = static_cast<double>(features.npr_max);
    studied.row_variance = features.npr_variance;
    studied.copy_bandwidth = service().copy_bandwidth();
    studied.cache_bytes = static_cast<double>(device.cache_bytes);
    const auto choices = choices_for<T>(wanted.studies, device);
    // An empty list would mean all formats.
    if (!choices.empty()) {
      studied.trials =
          with_progress(loaded, [&](const TuneOptions& how) { return bench(loaded.matrix, context_, choices, how); });
    }
    add_trials_elsewhere(wanted.studies, loaded, studied.trials);
    return studied;
  }

  void add_trials_elsewhere(const Studies& studies, const LoadedMatrix<T>& loaded, std::vector<TrialRecord>& trials) {
    const auto wants = [&](std::string_view format) {
      return std::any_of(studies.begin(), studies.end(), [&](const auto* one) { return names_format(*one, format); });
    };
    const auto add = [&](const std::vector<TrialRecord>& more) {
      trials.insert(trials.end(), more.begin(), more.end());
    };
    if (wants(gathered_product)) {
      add(with_progress(loaded, [&](const TuneOptions& how) { return gathered_trials(loaded, context_, how); }));
    }
    if (wants(mkl_product)) add(mkl_trials(loaded.arrays));
  }

  void study(const Studies& studies, const StudiedMatrix& measured) {
    for (const auto* study : studies) {
      auto one = measured;
      std::erase_if(one.trials,
                    [&](const TrialRecord& trial) { return !names_format(*study, trial.candidate.format); });
      one = study_matrix(*study, std::move(one));
      if (!options_.claims && options_.json) print_json(studied_json(*study, one));
      if (!options_.claims && !options_.json) print_studied(*study, one);
      results_.emplace_back(study, std::move(one));
    }
  }

  void conclude() const {
    const auto runs = runs_of(results_);
    if (!options_.html.empty()) write_study_page(options_, studies_, runs);
    if (options_.claims) {
      if (options_.json) return print_json(claims_json(studies_, runs));
      return print_claims_table(studies_, runs, options_.markdown);
    }
    for (const auto* study : studies_) {
      const auto at = runs.front().matrices.find(study);
      if (at == runs.front().matrices.end()) continue;
      if (options_.json) {
        print_json(summary_json(*study, at->second));
      } else {
        print_summary(*study, at->second);
      }
    }
  }

  Options options_;
  Studies studies_;
  std::vector<Wanted> wanted_;
  Context context_;
  ProgressLine progress_;
  std::vector<StudiedFor> results_;
};

// ---- What is not ---------------------------------------------------------------------------------------------------

int list_matrices(const Options& options, const Studies& studies) {
  for (const auto* study : studies) {
    if (options.json) {
      print_json(matrices_json(*study));
    } else {
      print_matrices(*study, options.markdown);
    }
  }
  return 0;
}

int claims_of_files(const Options& options, const Studies& studies) {
  std::vector<StudiedFor> all;
  for (const auto& file : options.claims_from) {
    for (auto& one : read_studied(file)) all.push_back(std::move(one));
  }
  const auto runs = runs_of(std::move(all));
  if (!options.html.empty()) write_study_page(options, studies, runs);
  if (options.json) {
    print_json(claims_json(studies, runs));
  } else {
    print_claims_table(studies, runs, options.markdown);
  }
  return 0;
}

void check(const Options& options) {
  const bool reads = !options.claims_from.empty();
  if (!options.only.empty()) throw InvalidArgument("--study names the formats itself: it does not go with --format");
  if (options.list_matrices && !options.html.empty())
    throw InvalidArgument("--html shows claims: --matrices makes none");
  if (options.list_matrices && (options.claims || reads)) {
    throw InvalidArgument("--matrices lists matrices, and makes no claims");
  }
  if ((options.list_matrices || reads) && !options.arguments.empty()) {
    throw InvalidArgument(std::string(reads ? "--claims-from" : "--matrices") +
                          " measures nothing: it takes no MATRIX");
  }
  if (options.most_nnz && (reads || options.list_matrices || !options.arguments.empty())) {
    throw InvalidArgument("--most-nnz chooses among a study's own matrices: it goes with --study and without MATRIX");
  }
  if (options.markdown && !options.claims && !reads && !options.list_matrices) {
    throw InvalidArgument("--markdown goes with --rivals, --claims and --matrices");
  }
}

}  // namespace

int run_studies(const Options& options) {
  check(options);
  const auto studies = find_studies(options.study.value_or("all"));
  if (options.list_matrices) return list_matrices(options, studies);
  if (!options.claims_from.empty()) return claims_of_files(options, studies);
  return with_value_type(options.value_type, [&]<class T>() { return Repetition<T>(options, studies).run(); });
}

}  // namespace autospmv::tools
