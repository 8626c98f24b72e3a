#include "tuner/plan/plan_state.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <sstream>
#include <string>
#include <utility>

#include <nlohmann/json.hpp>

#include "core/printable.hpp"
#include "features/features.hpp"
#include "formats/sizes.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/context/prospects.hpp"
#include "tuner/objective.hpp"

namespace autospmv {

namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view estimated = "estimated";

ExplainedCandidate explained(const Candidate& candidate) {
  ExplainedCandidate one;
  one.format = candidate.format;
  one.parameters = candidate.params.text();
  return one;
}

ExplainedCandidate explained(const TrialRecord& trial) {
  auto one = explained(trial.candidate);
  const auto& measurement = trial.measurement;
  if (measurement.warm.samples == 0 && measurement.outcome == Outcome::failed && measurement.detail.empty()) return one;
  one.outcome = name_of(measurement.outcome);
  one.reason = measurement.detail;
  one.seconds = measurement.warm.samples > 0 ? measurement.warm.median : 0;
  one.setup_seconds = measurement.setup_seconds;
  one.bytes = measurement.bytes;
  return one;
}

bool is_same(const ExplainedCandidate& a, const ExplainedCandidate& b) {
  return a.format == b.format && a.parameters == b.parameters;
}

double total_of(const ExplainedCandidate& candidate, const Limits& limits) {
  return total_seconds(candidate.setup_seconds, candidate.seconds, limits);
}

template <class T>
void add_trials(Explanation& explanation, const std::vector<TrialRecord>& trials, std::int64_t csr_bytes,
                const PlanOrigin& origin, const Device& device) {
  for (const auto& trial : trials) {
    if (!is_among(trial.candidate, origin.only)) continue;
    auto one = explained(trial);
    const auto* format = find_format<T>(one.format);
    const bool passed = is_timed(trial.measurement) && one.seconds > 0;
    const bool baseline = passed && format != nullptr && format->info().baseline;
    if (baseline && (!explanation.baseline || one.seconds < explanation.baseline->seconds)) explanation.baseline = one;
    const bool rival =
        could_win(as_format_says<T>(trial, device), csr_bytes, origin.limits) && !is_same(one, explanation.choice);
    if (rival && !explanation.runner_up) explanation.runner_up = one;
    explanation.candidates.push_back(std::move(one));
  }
}

// What the database does not keep: the refusals, and what a product moves.
template <class T>
void add_prospects(Explanation& explanation, const detail::PlanState<T>& plan, const TrialKey& key,
                   const Service& service) {
  const auto values = plan.matrix()->hold_values();
  const auto features = extract_features(plan.matrix()->on(plan.place()), service.device());
  const auto choice = plan.choice().candidate;
  const auto predictor = predictor_of<T>(features, key, service);
  for (const auto& prospect : prospects_of<T>(features, key, service, predictor, plan.origin().only)) {
    if (prospect.candidate == choice && explanation.source == estimated) {
      explanation.tier = name_of(prospect.prediction.tier);
      explanation.expected_seconds = prospect.prediction.seconds;
      explanation.uncertainty = std::expm1(prospect.prediction.deviation);
      if (prospect.prediction.tier != Tier::model) {
        explanation.known_on = predictor.devices();
      }
    }
    if (prospect.admitted()) continue;
    auto refused = explained(prospect.candidate);
    refused.outcome = name_of(Outcome::refused);
    refused.reason = prospect.refusal;
    explanation.candidates.push_back(std::move(refused));
  }
  const auto* const format = find_format<T>(choice.format);
  if (format == nullptr || explanation.nnz == 0) return;
  const auto cost = format->predict(features, choice.params, service.device());
  if (cost) explanation.bytes_per_nonzero = cost->bytes / static_cast<double>(explanation.nnz);
}

void compare_with_rivals(Explanation& explanation, const Limits& limits) {
  const auto& choice = explanation.choice;
  if (!(choice.seconds > 0)) return;
  if (explanation.runner_up) {
    explanation.margin = total_of(*explanation.runner_up, limits) / total_of(choice, limits) - 1;
  }
  if (!explanation.baseline) return;
  const double gain = explanation.baseline->seconds - choice.seconds;
  const double price = choice.setup_seconds - explanation.baseline->setup_seconds;
  if (gain > 0 && price > 0) explanation.break_even_calls = std::ceil(price / gain);
}

std::string named(const ExplainedCandidate& candidate) {
  return printable(candidate.parameters.empty() ? candidate.format : candidate.format + ' ' + candidate.parameters);
}

Json to_json(const ExplainedCandidate& candidate) {
  Json json = {{"format", candidate.format}, {"parameters", candidate.parameters}};
  if (!candidate.outcome.empty()) json["outcome"] = candidate.outcome;
  if (!candidate.reason.empty()) json["reason"] = candidate.reason;
  if (candidate.seconds > 0) json["seconds"] = candidate.seconds;
  if (candidate.seconds > 0) json["setup_seconds"] = candidate.setup_seconds;
  if (candidate.seconds > 0) json["bytes"] = candidate.bytes;
  return json;
}

Json to_json(const std::optional<ExplainedCandidate>& candidate) {
  return candidate ? to_json(*candidate) : Json(nullptr);
}

}  // namespace

template <class T>
Explanation explanation_of(const detail::PlanState<T>& plan) {
  const auto choice = plan.choice();
  const auto& origin = plan.origin();
  Explanation explanation;
  explanation.device = origin.key.device;
  explanation.op = plan.matrix()->operation();
  explanation.rows = plan.matrix()->rows();
  explanation.cols = plan.matrix()->cols();
  explanation.nnz = plan.matrix()->nnz();
  explanation.passed_over = origin.passed_over;
  explanation.settled = plan.settled();
  explanation.tuning_seconds = plan.tuning_seconds();
  explanation.choice = explained(choice);
  explanation.choice.bytes = plan.bytes();
  const bool was_tried = origin.source == "measured" || origin.source == "database";
  explanation.source = !was_tried && explanation.choice.seconds > 0 ? "measured" : origin.source;
  const auto service = origin.service.lock();
  if (service == nullptr) return explanation;

  const DeviceScope scope(plan.place());
  const auto key = [&] {
    if (origin.key.has_pattern()) return origin.key;
    const auto values = plan.matrix()->hold_values();
    return key_of(*plan.matrix(), service->device());
  }();
  const auto csr_bytes = static_cast<std::int64_t>(formats::csr_bytes<T>(explanation.rows, explanation.nnz));
  auto trials = service->database().trials(key, service->catalogue());
  for (const auto& trial : trials) {
    const bool is_choice = explanation.source == "database" && trial.candidate == choice.candidate;
    if (is_choice && trial.layer > 0) explanation.layer = service->database().file_of_layer(trial.layer).string();
  }
  sort_by_total(trials, origin.limits);
  add_trials<T>(explanation, trials, csr_bytes, origin, service->device());
  add_prospects(explanation, plan, key, *service);
  compare_with_rivals(explanation, origin.limits);
  if (explanation.choice.seconds > 0) {
    const double vectors = static_cast<double>((explanation.rows + explanation.cols) * std::int64_t{sizeof(T)});
    explanation.copy_share =
        (static_cast<double>(csr_bytes) + vectors) / explanation.choice.seconds / service->copy_bandwidth();
  }
  return explanation;
}

std::string Explanation::text() const {
  std::ostringstream out;
  out.precision(3);
  out << rows << " x " << cols << (op == Operation::transposed ? " by transposition, " : ", ") << nnz << " nonzeros, "
      << printable(device) << '\n';
  out << "choice      " << named(choice) << ", " << source;
  if (!layer.empty()) out << ' ' << printable(layer);
  out << (settled ? "" : ", still tuned online") << '\n';
  if (!tier.empty()) {
    out << "known by    " << tier << ": expected to take " << expected_seconds * 1e6 << " us, give or take "
        << 100 * uncertainty << " %";
    const char* separator = ", from matrices on ";
    for (const auto& device_of_others : known_on) {
      out << separator << printable(device_of_others);
      separator = "; ";
    }
    out << '\n';
  }
  if (!passed_over.empty()) out << "            " << passed_over << '\n';
  out << "memory      " << bytes_per_nonzero << " bytes a nonzero and product, x and y included; " << choice.bytes
      << " bytes allocated\n";
  if (choice.seconds > 0) {
    out << "time        " << choice.seconds * 1e6 << " us a product; by the bytes of plain CSR " << 100 * copy_share
        << " % of the copy bandwidth\n";
  }
  if (choice.seconds > 0 && runner_up) {
    out << "runner-up   " << named(*runner_up) << ", " << runner_up->seconds * 1e6 << " us; costs " << 100 * margin
        << " % more over the expected calls, setup included\n";
  }
  if (choice.seconds > 0 && baseline) {
    out << "break-even  after " << break_even_calls << " calls (" << named(*baseline) << ", " << baseline->seconds * 1e6
        << " us)\n";
  }
  out << "tuning      " << tuning_seconds * 1e3 << " ms" << (settled ? "" : " so far");
  if (baseline) out << ", as long as " << tuning_seconds / baseline->seconds << " products of the baseline";
  out << '\n';
  // Candidates of one format that did not pass for one reason are one line.
  std::map<std::pair<std::string, std::string>, int> rejected;
  for (const auto& candidate : candidates) {
    if (candidate.outcome == name_of(Outcome::passed) || candidate.outcome == name_of(Outcome::disturbed)) continue;
    ++rejected[{candidate.format, candidate.outcome + ": " + candidate.reason}];
  }
  for (const auto& [why, count] : rejected) {
    out << "rejected    " << printable(why.first) << ", " << printable(why.second);
    if (count > 1) out << " (" << count << " candidates)";
    out << '\n';
  }
  return out.str();
}

std::string Explanation::json() const {
  Json json = {{"device", device},
               {"transposed", op == Operation::transposed},
               {"rows", rows},
               {"columns", cols},
               {"nonzeros", nnz},
               {"source", source},
               {"layer", layer},
               {"tier", tier},
               {"expected_seconds", expected_seconds},
               {"uncertainty", uncertainty},
               {"known_on", known_on},
               {"passed_over", passed_over},
               {"settled", settled},
               {"choice", to_json(choice)},
               {"runner_up", to_json(runner_up)},
               {"baseline", to_json(baseline)},
               {"margin", margin},
               {"bytes_per_nonzero", bytes_per_nonzero},
               {"copy_share", copy_share},
               {"break_even_calls", break_even_calls},
               {"tuning_seconds", tuning_seconds},
               {"candidates", Json::array()}};
  for (const auto& candidate : candidates) json["candidates"].push_back(to_json(candidate));
  return json.dump(-1, ' ', true, Json::error_handler_t::replace);
}

template Explanation explanation_of(const detail::PlanState<float>&);
template Explanation explanation_of(const detail::PlanState<double>&);

}  // namespace autospmv
