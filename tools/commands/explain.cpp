// autospmv explain: what is chosen for a matrix, and why.

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <iostream>
#include <limits>

#include "core/printable.hpp"
#include "tools/command.hpp"
#include "tools/input.hpp"
#include "tools/output/json.hpp"
#include "tools/output/record.hpp"
#include "tools/output/table.hpp"
#include "tuner/objective.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv::tools {

namespace {

// Candidates of one format that were refused, or failed, for one reason.
struct Rejection {
  std::string format;
  std::string reason;
  int candidates = 0;
};

struct Explanation {
  TuneRecord record;
  std::optional<TrialRecord> runner_up;                           ///< the next cheapest candidate
  std::optional<TrialRecord> best_other;                          ///< the cheapest of another format
  double choice_total = 0;                                        ///< seconds, setup and expected calls
  double moved_bytes = std::numeric_limits<double>::quiet_NaN();  ///< by one product of the choice
  std::vector<Rejection> rejections;
  std::size_t known_matrices = 0;     ///< whose trials predictions are made from
  std::size_t below = 0;              ///< of which so many are in system databases
  std::vector<std::string> near;      ///< the nearest of them, by label
  std::vector<std::string> known_on;  ///< the devices of all that are near
};

const Prospect* find(const std::vector<Prospect>& prospects, const Candidate& candidate) {
  const auto at = std::find_if(prospects.begin(), prospects.end(),
                               [&](const Prospect& prospect) { return prospect.candidate == candidate; });
  return at == prospects.end() ? nullptr : &*at;
}

void reject(std::vector<Rejection>& rejections, const std::string& format, const std::string& reason) {
  const auto same = [&](const Rejection& r) { return r.format == format && r.reason == reason; };
  const auto at = std::find_if(rejections.begin(), rejections.end(), same);
  if (at == rejections.end()) {
    rejections.push_back({format, reason, 1});
  } else {
    ++at->candidates;
  }
}

// A database that was filled by `bench` holds refusals as well; those are found by the features either way.
std::vector<Rejection> rejections_of(const std::vector<Prospect>& prospects, const std::vector<TrialRecord>& trials) {
  std::vector<Rejection> rejections;
  for (const auto& prospect : prospects) {
    if (!prospect.admitted()) reject(rejections, prospect.candidate.format, prospect.refusal);
  }
  for (const auto& trial : trials) {
    const auto& m = trial.measurement;
    const auto* prospect = find(prospects, trial.candidate);
    if (is_timed(m) || (prospect != nullptr && !prospect->admitted())) continue;
    reject(rejections, trial.candidate.format, std::string(name_of(m.outcome)) + ": " + m.detail);
  }
  return rejections;
}

template <Scalar T>
Explanation explain(const LoadedMatrix<T>& loaded, Operation op, const Context& context, ProgressLine& progress) {
  const auto tuned = progress.during(loaded, [&](TuneOptions how) {
    how.op = op;
    return tune(loaded.matrix, context, how);
  });
  Explanation explanation;
  explanation.record = record_of(summary_of(loaded.label, loaded.matrix, op), tuned);
  const auto& choice = explanation.record.choice;
  explanation.choice_total = total_seconds(explanation.record.measurement, context.limits());
  const auto& matrix = *tuned.plan->matrix();
  const auto view = matrix.on(service_of(context).device());
  const auto next = [&](const auto& suits) -> std::optional<TrialRecord> {
    for (const auto& trial : tuned.trials) {
      const auto said = as_format_says<T>(trial, service_of(context).device());
      if (could_win(said, view.bytes(), context.limits()) && suits(trial.candidate)) return trial;
    }
    return std::nullopt;
  };
  explanation.runner_up = next([&](const Candidate& candidate) { return candidate != choice; });
  explanation.best_other = next([&](const Candidate& candidate) { return candidate.format != choice.format; });

  // What the database does not keep: the refusals, and what a product moves.
  const auto& device = service_of(context).device();
  const auto features = tuned.features ? *tuned.features : extract_features(view, device);
  const auto history = service_of(context).history<T>();
  const auto predictor = history->near(features, matrix.fingerprint());
  const auto prospects = all_prospects<T>(features, device, predictor);
  if (const auto* prospect = find(prospects, choice)) explanation.moved_bytes = prospect->cost.bytes;
  explanation.known_matrices = history->matrices();
  explanation.below = history->matrices_below();
  explanation.known_on = predictor.devices();
  for (const auto& neighbour : predictor.neighbours()) {
    if (explanation.near.size() == 3) break;
    explanation.near.emplace_back(neighbour.label);
  }
  explanation.rejections = rejections_of(prospects, tuned.trials);
  return explanation;
}

// Where the choice comes from, and how far it can be trusted: the spread of its samples, or that of the predictions.
Tier tier_of(const Explanation& explanation) {
  const auto& record = explanation.record;
  if (record.measurement.warm.samples > 0) return Tier::trial;
  return record.prediction ? record.prediction->tier : Tier::model;
}

double spread_of(const Explanation& explanation) {
  const auto& record = explanation.record;
  const auto& warm = record.measurement.warm;
  if (warm.samples > 0) return (warm.high_quartile - warm.low_quartile) / 2 / warm.median;
  return record.prediction ? std::expm1(record.prediction->deviation) : std::numeric_limits<double>::quiet_NaN();
}

// How much more a candidate costs than the choice, over the expected calls.
double margin_of(const Explanation& explanation, const TrialRecord& trial, const Limits& limits) {
  return total_seconds(trial.measurement, limits) / explanation.choice_total - 1;
}

double per_nonzero(const MatrixSummary& matrix, double bytes) { return bytes / static_cast<double>(matrix.nnz); }

std::ostream& line(std::string_view title) { return std::cout << "  " << std::left << std::setw(12) << title; }

void print_choice(const Explanation& explanation, const Context& context) {
  const auto& record = explanation.record;
  line("choice") << record.choice.text() << ", " << source_of(record) << (record.layer.empty() ? "" : " ")
                 << printable(record.layer) << '\n';
  line("memory") << fixed(per_nonzero(record.matrix, explanation.moved_bytes), 2)
                 << " bytes a nonzero and product, x and y included; plain CSR "
                 << fixed(per_nonzero(record.matrix, csr_product_bytes(record.matrix)), 2) << '\n';
  const double seconds = seconds_of(record);
  if (std::isnan(seconds)) return;
  const double copy = service_of(context).copy_bandwidth();
  const auto share = [&](double bytes) { return fixed(100 * bytes / seconds / copy, 0) + " %"; };
  line("time") << fixed(seconds * 1e6, 2) << " us a product, " << fixed(gflops(record.matrix, seconds), 2)
               << " GFLOP/s, " << fixed(speedup(record), 2) << " times as fast as plain CSR\n";
  line("bandwidth") << share(explanation.moved_bytes) << " of the copy bandwidth (" << fixed(copy * 1e-9, 1)
                    << " GB/s); by the bytes of plain CSR " << share(csr_product_bytes(record.matrix)) << '\n';
}

void print_tier(const Explanation& explanation) {
  const auto& record = explanation.record;
  line("known by");
  if (tier_of(explanation) == Tier::trial) {
    std::cout << "trial: measured on this matrix and device, half of the samples within "
              << fixed(100 * spread_of(explanation), 1) << " %\n";
    return;
  }
  std::cout << name_of(tier_of(explanation));
  if (!record.prediction) {
    std::cout << ": nothing was asked but for plain CSR\n";
    return;
  }
  std::cout << ": predicted " << fixed(record.prediction->seconds * 1e6, 2) << " us, give or take "
            << fixed(100 * spread_of(explanation), 0) << " %, from " << explanation.known_matrices << " other matrices";
  if (explanation.below > 0) std::cout << ", " << explanation.below << " of them in system databases";
  const char* on = "; the nearest were measured on ";
  for (const auto& device : explanation.known_on) {
    std::cout << on << printable(device);
    on = " and ";
  }
  const char* separator = "; nearest ";
  for (const auto& label : explanation.near) {
    std::cout << separator << printable(label);
    separator = ", ";
  }
  std::cout << '\n';
}

void print_rival(std::string_view title, const Explanation& explanation, const TrialRecord& trial,
                 const Limits& limits) {
  const double margin = margin_of(explanation, trial, limits);
  line(title) << printable(trial.candidate.text()) << ", " << fixed(median_of(trial.measurement.warm) * 1e6, 2)
              << " us a product; costs " << fixed(100 * std::abs(margin), 1) << (margin < 0 ? " % less" : " % more")
              << " over " << limits.expected_calls << " calls, setup included"
              << (margin < 0 ? ": a tie, decided by bytes\n" : "\n");
}

void print_break_even(const TuneRecord& record) {
  if (!record.baseline) return;
  const double calls = break_even_calls(record);
  line("break-even");
  if (record.choice == record.baseline->candidate) {
    std::cout << "at once: the choice is plain CSR";
  } else if (std::isfinite(calls)) {
    std::cout << "after " << fixed(calls, 0) << (calls == 1 ? " call" : " calls");
  } else {
    std::cout << "never";
  }
  std::cout << " (plain CSR: " << record.baseline->candidate.text() << ", " << fixed(baseline_seconds(record) * 1e6, 2)
            << " us)\n";
}

void print_rejections(const std::vector<Rejection>& rejections) {
  std::string_view title = "refused";
  for (const auto& rejection : rejections) {
    line(title) << printable(rejection.format) << ": " << printable(rejection.reason);
    if (rejection.candidates > 1) std::cout << " (" << rejection.candidates << " candidates)";
    std::cout << '\n';
    title = "";
  }
}

void print_steps(const TuneRecord& record) {
  const bool tried = record.measurement.warm.samples > 0;
  const double unit = tried ? seconds_of(record) : 1e-6;
  const auto& t = record.times;
  line("steps") << (tried ? "in products:" : "in us:");
  const char* separator = " ";
  for (const auto& [name, seconds] :
       {std::pair{"fingerprint", t.fingerprint}, std::pair{"lookup", t.lookup}, std::pair{"features", t.features},
        std::pair{"trials", t.trials}, std::pair{"conversion", t.conversion}}) {
    std::cout << separator << name << ' ' << fixed(seconds / unit, 1);
    separator = ", ";
  }
  std::cout << '\n';
}

void print_text(const Explanation& explanation, const Context& context) {
  const auto& record = explanation.record;
  const auto& limits = context.limits();
  std::cout << headline(record.matrix) << ", " << service_of(context).device().name << '\n';
  print_choice(explanation, context);
  print_tier(explanation);
  if (record.passed_over) line("") << without_baseline << '\n';
  if (record.measurement.warm.samples > 0) {
    if (explanation.runner_up) print_rival("runner-up", explanation, *explanation.runner_up, limits);
    if (explanation.best_other && explanation.best_other->candidate != explanation.runner_up->candidate) {
      print_rival("best other", explanation, *explanation.best_other, limits);
    }
    print_break_even(record);
  }
  print_rejections(explanation.rejections);
  print_steps(record);
  std::cout << std::flush;
}

Json rival_json(const Explanation& explanation, const std::optional<TrialRecord>& trial, const Limits& limits) {
  if (!trial) return nullptr;
  Json json = to_json(trial->candidate);
  json["median_us"] = median_of(trial->measurement.warm) * 1e6;
  json["margin"] = margin_of(explanation, *trial, limits);
  return json;
}

Json explain_json(const Explanation& explanation, const Context& context) {
  const auto& record = explanation.record;
  Json json = to_json(record, service_of(context).device(), service_of(context).copy_bandwidth());
  json["bytes_per_nonzero"] = per_nonzero(record.matrix, explanation.moved_bytes);
  json["csr_bytes_per_nonzero"] = per_nonzero(record.matrix, csr_product_bytes(record.matrix));
  json["copy_bandwidth_share"] = explanation.moved_bytes / seconds_of(record) / service_of(context).copy_bandwidth();
  json["passed_over"] = record.passed_over ? without_baseline : "";
  json["tier"] = name_of(tier_of(explanation));
  json["spread"] = spread_of(explanation);
  json["predicted_us"] = record.prediction ? Json(record.prediction->seconds * 1e6) : Json(nullptr);
  json["known_matrices"] = explanation.known_matrices;
  json["near"] = explanation.near;
  json["known_on"] = explanation.known_on;
  json["expected_calls"] = context.limits().expected_calls;
  json["runner_up"] = rival_json(explanation, explanation.runner_up, context.limits());
  json["best_other_format"] = rival_json(explanation, explanation.best_other, context.limits());
  json["break_even_calls"] = break_even_calls(record);
  json["refused"] = Json::array();
  for (const auto& rejection : explanation.rejections) {
    json["refused"].push_back(
        {{"format", rejection.format}, {"reason", rejection.reason}, {"candidates", rejection.candidates}});
  }
  return json;
}

template <Scalar T>
int explain_all(const Options& options) {
  const Context context(context_options(options));
  ProgressLine progress(options.quiet);
  const int failures = for_each_matrix<T>(options, [&](const LoadedMatrix<T>& loaded) {
    const auto explanation = explain(loaded, options.op, context, progress);
    if (options.json) {
      print_json(explain_json(explanation, context));
    } else {
      print_text(explanation, context);
    }
  });
  return failures > 0 ? 1 : 0;
}

}  // namespace

int run_explain(const Options& options) {
  return with_value_type(options.value_type, [&]<class T>() { return explain_all<T>(options); });
}

}  // namespace autospmv::tools
