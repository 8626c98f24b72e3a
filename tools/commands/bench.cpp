// autospmv bench: every candidate on each matrix, measured to the end; ours against other libraries' products; or a
// paper's comparison made again.

#include <algorithm>
#include <iostream>

#include "core/error.hpp"
#include "formats/format.hpp"
#include "tools/command.hpp"
#include "tools/commands/rivals.hpp"
#include "tools/input.hpp"
#include "tools/output/json.hpp"
#include "tools/output/record.hpp"
#include "tools/output/table.hpp"
#include "tools/studies/run.hpp"

namespace autospmv::tools {

namespace {

bool is_baseline(const TrialRecord& trial) {
  const auto* format = find_format<double>(trial.candidate.format);
  return format != nullptr && format->info().baseline;
}

// Fastest first; those that gave no time after them, refused ones last.
void sort_by_time(std::vector<TrialRecord>& trials) {
  const auto rank = [](const TrialRecord& trial) {
    const auto& m = trial.measurement;
    const int group = is_timed(m) ? 0 : m.outcome == Outcome::refused ? 2 : 1;
    return std::pair(group, group == 0 ? m.warm.median : 0.0);
  };
  std::stable_sort(trials.begin(), trials.end(),
                   [&](const TrialRecord& a, const TrialRecord& b) { return rank(a) < rank(b); });
}

std::string quartiles(const Timing& timing) {
  if (timing.samples == 0) return "-";
  return fixed(timing.low_quartile * 1e6, 2) + " - " + fixed(timing.high_quartile * 1e6, 2);
}

Row cells(const MatrixSummary& matrix, const TrialRecord& trial) {
  const auto& m = trial.measurement;
  const double warm = median_of(m.warm);
  const bool built = is_timed(m);
  return {trial.candidate.text(),
          is_baseline(trial) ? "baseline" : "",
          std::string(name_of(m.outcome)),
          fixed(warm * 1e6, 2),
          quartiles(m.warm),
          fixed(median_of(m.loop) * 1e6, 2),
          fixed(median_of(m.cold) * 1e6, 2),
          quartiles(m.cold),
          fixed(csr_equivalent_gbs(matrix, warm), 1),
          built ? fixed(m.setup_seconds * 1e6, 1) : "-",
          fixed(m.setup_seconds / warm, 1),
          built ? std::to_string(m.bytes) : "-",
          built ? brief(m.worst_error) : "-",
          m.detail};
}

void print_text(const MatrixSummary& matrix, const Context& context, const std::vector<TrialRecord>& trials) {
  std::vector<Row> rows;
  rows.reserve(trials.size());
  for (const auto& trial : trials) rows.push_back(cells(matrix, trial));
  std::cout << headline(matrix) << ", " << service_of(context).device().name << ", copy "
            << fixed(service_of(context).copy_bandwidth() * 1e-9, 1) << " GB/s\n";
  print_table(std::cout,
              {{.title = "candidate", .left = true},
               {.title = "", .left = true},
               {.title = "outcome", .left = true},
               {.title = "warm us"},
               {.title = "quartiles"},
               {.title = "loop us"},
               {.title = "cold us"},
               {.title = "quartiles"},
               {.title = "CSR GB/s"},
               {.title = "setup us"},
               {.title = "setup in products"},
               {.title = "bytes"},
               {.title = "error/bound"},
               {.title = "detail", .left = true}},
              rows);
  std::cout << std::endl;
}

Json bench_json(const MatrixSummary& matrix, const Context& context, const std::vector<TrialRecord>& trials) {
  Json json = to_json(matrix);
  json["backend"] = name_of(service_of(context).device().backend);
  json["device"] = service_of(context).device().name;
  json["toolkit"] = service_of(context).device().toolkit;
  json["clock_mhz"] = service_of(context).device().clock_mhz;
  json["copy_bandwidth_gbs"] = service_of(context).copy_bandwidth() * 1e-9;
  json["candidates"] = Json::array();
  for (const auto& trial : trials) {
    const double warm = median_of(trial.measurement.warm);
    Json candidate = to_json(trial);
    candidate["baseline"] = is_baseline(trial);
    candidate["gflops"] = gflops(matrix, warm);
    candidate["csr_equivalent_gbs"] = csr_equivalent_gbs(matrix, warm);
    json["candidates"].push_back(std::move(candidate));
  }
  return json;
}

template <Scalar T>
int bench_all(const Options& options) {
  const auto context = open_context<T>(options);
  ProgressLine progress(options.quiet);
  const int failures = for_each_matrix<T>(options, [&](const LoadedMatrix<T>& loaded) {
    auto trials = progress.during(
        loaded, [&](const TuneOptions& how) { return bench(loaded.matrix, context, options.only, how); });
    sort_by_time(trials);
    const auto matrix = summary_of(loaded.label, loaded.matrix);
    if (options.json) {
      print_json(bench_json(matrix, context, trials));
    } else {
      print_text(matrix, context, trials);
    }
  });
  return failures > 0 ? 1 : 0;
}

// What to measure: those of our formats that were asked for, all of them where none was, and every rival.
std::vector<FormatChoice> with_rivals(std::vector<FormatChoice> only, const std::vector<std::string>& rivals) {
  if (only.empty()) return only;
  for (const auto& rival : rivals) only.push_back({rival});
  return only;
}

template <Scalar T>
int bench_rivals(const Options& options) {
  const auto context = open_context<T>(options);
  const auto& device = service_of(context).device();
  const auto rivals = rival_formats(device.backend);
  if (rivals.empty()) throw Error("--rivals: the " + std::string(name_of(device.backend)) + " backend has none");
  ProgressLine progress(options.quiet);
  std::vector<RivalRecord> records;
  const int failures = for_each_matrix<T>(options, [&](const LoadedMatrix<T>& loaded) {
    auto trials = progress.during(loaded, [&](const TuneOptions& how) {
      return bench(loaded.matrix, context, with_rivals(options.only, rivals), how);
    });
    sort_by_time(trials);
    const auto matrix = summary_of(loaded.label, loaded.matrix);
    const auto& record = records.emplace_back(rival_record(matrix, trials, rivals));
    if (options.json) {
      auto json = bench_json(matrix, context, trials);
      json["contest"] = rivals_json(record);
      print_json(json);
    } else if (!options.markdown) {
      print_rivals(record);
    }
  });
  if (records.empty()) return 1;
  if (options.json) {
    print_json(rival_summary_json(records));
  } else {
    print_rival_tables(records, options.markdown);
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace

int run_bench(const Options& options) {
  const bool studies = options.study || !options.claims_from.empty();
  if (options.rivals && studies) throw InvalidArgument("--rivals and --study are two comparisons: choose one");
  if (studies) return run_studies(options);
  if (options.claims || options.list_matrices || options.most_nnz || !options.html.empty()) {
    throw InvalidArgument("--claims, --matrices, --most-nnz and --html go with --study NAME");
  }
  if (options.markdown && !options.rivals)
    throw InvalidArgument("--markdown goes with --rivals, --claims and --matrices");
  if (options.arguments.empty())
    throw InvalidArgument("bench takes a MATRIX, or --study NAME; see autospmv bench --help");
  if (options.rivals) {
    return with_value_type(options.value_type, [&]<class T>() { return bench_rivals<T>(options); });
  }
  return with_value_type(options.value_type, [&]<class T>() { return bench_all<T>(options); });
}

}  // namespace autospmv::tools
