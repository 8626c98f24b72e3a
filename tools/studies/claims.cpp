#include "tools/studies/claims.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <iostream>

#include "tools/output/table.hpp"

namespace autospmv::tools {

namespace {

// Nothing where there is no value or no bound for it.
std::optional<bool> is_within(const Quantity& quantity, double value, std::string_view value_type) {
  if (std::isnan(value) || (!quantity.least && !quantity.most)) return std::nullopt;
  const bool low = quantity.least && value < quantity.least->of(value_type);
  const bool high = quantity.most && value > quantity.most->of(value_type);
  return !low && !high;
}

std::string text_of_bound(std::string_view sign, const Bound& bound) {
  const auto text = ' ' + std::string(sign) + ' ' + brief(bound.in_float);
  return bound.in_float == bound.in_double ? text : text + " (float), " + brief(bound.in_double) + " (double)";
}

constexpr std::string_view host_name = "host";

const std::vector<StudiedMatrix>& matrices_of(const StudyRun& run, const Study& study) {
  static const std::vector<StudiedMatrix> none;
  const auto at = run.matrices.find(&study);
  return at == run.matrices.end() ? none : at->second;
}

Judgement judge(const Claim& claim, const Study& study, const StudyRun& run) {
  if (run.backend == host_name && !claim.on_host) return {Verdict::senseless, {}};
  return judge(claim, matrices_of(run, study));
}

std::string cell_of(const Judgement& judgement) {
  std::string text(name_of(judgement.verdict));
  if (judgement.verdict == Verdict::senseless || judgement.verdict == Verdict::unmeasured) return text;
  const char* separator = ": ";
  for (const double value : judgement.values) {
    text += separator + fixed(value, 2);
    separator = "; ";
  }
  return text;
}

bool fails_on(const Claim& claim, const Study& study, const std::vector<StudyRun>& runs, bool host) {
  return std::any_of(runs.begin(), runs.end(), [&](const StudyRun& run) {
    return (run.backend == host_name) == host && judge(claim, study, run).verdict == Verdict::fails;
  });
}

std::string reason_of(const Claim& claim, const Study& study, const std::vector<StudyRun>& runs) {
  std::string text;
  const auto add = [&](bool host, std::string_view where, std::string_view why) {
    if (why.empty() || !fails_on(claim, study, runs, host)) return;
    text += (text.empty() ? "" : "; ") + std::string(where) + ": " + std::string(why);
  };
  add(true, "host", claim.why_not_on_host);
  add(false, "GPU", claim.why_not);
  return text;
}

constexpr std::array<std::string_view, 2> value_types = {"double", "float"};

// Value types in which no run was made on a GPU.
std::vector<std::string_view> owed_types(const std::vector<StudyRun>& runs) {
  std::vector<std::string_view> owed;
  for (const auto type : value_types) {
    const bool made = std::any_of(runs.begin(), runs.end(), [&](const StudyRun& run) {
      return run.backend != host_name && run.value_type == type;
    });
    if (!made) owed.push_back(type);
  }
  return owed;
}

std::string tally(const std::vector<const Study*>& studies, const StudyRun& run) {
  std::array<int, 4> counts{};
  std::size_t matrices = 0;
  for (const auto* study : studies) {
    matrices += matrices_of(run, *study).size();
    for (const auto& claim : study->claims) ++counts[static_cast<std::size_t>(judge(claim, *study, run).verdict)];
  }
  const auto count = [&](Verdict verdict) { return std::to_string(counts[static_cast<std::size_t>(verdict)]); };
  return title_of(run) + ": " + run.device + ", " + std::to_string(matrices) + " matrices over all studies; " +
         count(Verdict::holds) + " claims hold, " + count(Verdict::fails) + " do not, " + count(Verdict::unmeasured) +
         " not measured, " + count(Verdict::senseless) + " make no sense there";
}

Row row_of(const Claim& claim, const Study& study, const std::vector<StudyRun>& runs, std::size_t owed) {
  Row row = {std::string(study.short_paper), std::string(claim.place), std::string(claim.text), criterion_of(claim)};
  for (const auto& run : runs) row.push_back(cell_of(judge(claim, study, run)));
  row.insert(row.end(), owed, "owed");
  row.push_back(reason_of(claim, study, runs));
  return row;
}

Json bound_json(const std::optional<Bound>& bound) {
  if (!bound) return nullptr;
  return {{"float", bound->in_float}, {"double", bound->in_double}};
}

Json run_json(const Claim& claim, const Study& study, const StudyRun& run) {
  const auto judgement = judge(claim, study, run);
  return {{"backend", run.backend},       {"device", run.device},
          {"value_type", run.value_type}, {"matrices", matrices_of(run, study).size()},
          {"values", judgement.values},   {"verdict", name_of(judgement.verdict)}};
}

}  // namespace

std::string_view name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::holds:
      return "yes";
    case Verdict::fails:
      return "no";
    case Verdict::senseless:
      return "-";
    case Verdict::unmeasured:
      break;
  }
  return "not measured";
}

Judgement judge(const Claim& claim, Matrices matrices) {
  Judgement judgement;
  if (matrices.empty()) return judgement;
  for (const auto& quantity : claim.measured) {
    const double value = quantity.value(matrices);
    judgement.values.push_back(value);
    const auto within = is_within(quantity, value, matrices.front().matrix.value_type);
    if (!within) continue;
    if (!*within) judgement.verdict = Verdict::fails;
    if (*within && judgement.verdict == Verdict::unmeasured) judgement.verdict = Verdict::holds;
  }
  return judgement;
}

std::string criterion_of(const Claim& claim) {
  std::string text;
  for (const auto& quantity : claim.measured) {
    text += (text.empty() ? "" : "; ") + quantity.name;
    if (quantity.least) text += text_of_bound(">=", *quantity.least);
    if (quantity.most) text += text_of_bound("<=", *quantity.most);
  }
  return text;
}

std::vector<StudyRun> runs_of(std::vector<StudiedFor> all) {
  std::vector<StudyRun> runs;
  for (auto& one : all) {
    auto& studied = one.second;
    const auto is_of = [&](const StudyRun& run) {
      return run.backend == studied.backend && run.device == studied.device &&
             run.value_type == studied.matrix.value_type;
    };
    auto run = std::find_if(runs.begin(), runs.end(), is_of);
    if (run == runs.end()) run = runs.insert(run, {studied.backend, studied.device, studied.matrix.value_type, {}});
    auto& matrices = run->matrices[one.first];
    std::erase_if(matrices, [&](const StudiedMatrix& other) { return other.matrix.label == studied.matrix.label; });
    matrices.push_back(std::move(studied));
  }
  return runs;
}

std::string title_of(const StudyRun& run) {
  return (run.backend == host_name ? run.backend : run.device) + ", " + run.value_type;
}

void print_claims_table(const std::vector<const Study*>& studies, const std::vector<StudyRun>& runs, bool markdown) {
  const auto owed = owed_types(runs);
  std::vector<Column> columns = {{.title = "paper", .left = true},
                                 {.title = "place", .left = true},
                                 {.title = "claim", .left = true},
                                 {.title = "holds where", .left = true}};
  for (const auto& run : runs) columns.push_back({.title = title_of(run), .left = true});
  for (const auto type : owed) columns.push_back({.title = "GPU, " + std::string(type), .left = true});
  columns.push_back({.title = "why not", .left = true});
  std::vector<Row> rows;
  for (const auto* study : studies) {
    for (const auto& claim : study->claims) rows.push_back(row_of(claim, *study, runs, owed.size()));
  }
  for (const auto& run : runs) std::cout << tally(studies, run) << (markdown ? ".\n\n" : "\n");
  if (markdown) {
    print_markdown(std::cout, std::move(columns), rows);
  } else {
    print_table(std::cout, std::move(columns), rows);
  }
}

Json claims_json(const std::vector<const Study*>& studies, const std::vector<StudyRun>& runs) {
  Json all = Json::array();
  for (const auto* study : studies) {
    for (const auto& claim : study->claims) {
      Json json = {{"study", study->name}, {"place", claim.place}, {"claim", claim.text}};
      json["quantities"] = Json::array();
      for (const auto& quantity : claim.measured) {
        json["quantities"].push_back(
            {{"quantity", quantity.name}, {"least", bound_json(quantity.least)}, {"most", bound_json(quantity.most)}});
      }
      json["runs"] = Json::array();
      for (const auto& run : runs) json["runs"].push_back(run_json(claim, *study, run));
      json["why_not"] = reason_of(claim, *study, runs);
      all.push_back(std::move(json));
    }
  }
  return all;
}

}  // namespace autospmv::tools
