#include "tools/studies/page.hpp"

#include <cmath>

#include "tools/page/page.hpp"

namespace autospmv::tools {

namespace {

std::string_view name_of(Role role) {
  switch (role) {
    case Role::own:
      return "own";
    case Role::tuned:
      return "tuned";
    case Role::rival:
      return "rival";
    case Role::described:
      break;
  }
  return "described";
}

Json facts_of(const Study& study) {
  Json json = {{"name", study.name},
               {"paper", study.paper},
               {"short_paper", study.short_paper},
               {"byte_count", study.byte_count},
               {"contenders", Json::array()}};
  for (const auto& contender : study.contenders) {
    json["contenders"].push_back({{"name", contender.name}, {"role", name_of(contender.role)}});
  }
  return json;
}

std::string said_of(const Contest& contest) {
  if (contest.best) return contest.best->candidate.text();
  return contest.detail.empty() ? contest.status : contest.status + ": " + contest.detail;
}

Json facts_of(const Study& study, std::size_t run, const StudiedMatrix& studied) {
  Json json = {{"study", study.name},          {"run", run},
               {"name", studied.matrix.label}, {"nonzeros", studied.matrix.nnz},
               {"mean_row", studied.mean_row}, {"fastest", nullptr},
               {"us", Json::array()},          {"said", Json::array()}};
  const auto* const fastest = fastest_of(studied);
  for (const auto& contest : studied.contests) {
    if (&contest == fastest) json["fastest"] = json["us"].size();
    json["us"].push_back(seconds_of(contest) * 1e6);
    json["said"].push_back(said_of(contest));
  }
  return json;
}

Json facts_of(const std::vector<const Study*>& studies, const std::vector<StudyRun>& runs) {
  Json facts = {{"claims", claims_json(studies, runs)},
                {"studies", Json::array()},
                {"runs", Json::array()},
                {"matrices", Json::array()}};
  for (const auto* study : studies) facts["studies"].push_back(facts_of(*study));
  for (std::size_t r = 0; r < runs.size(); ++r) {
    std::size_t count = 0;
    for (const auto& [study, matrices] : runs[r].matrices) {
      for (const auto& studied : matrices) facts["matrices"].push_back(facts_of(*study, r, studied));
      count += matrices.size();
    }
    facts["runs"].push_back({{"title", title_of(runs[r])}, {"device", runs[r].device}, {"matrices", count}});
  }
  return facts;
}

std::string command_of(const Options& options) {
  std::string text = "autospmv bench";
  if (options.study) text += " --study " + shell_quoted(*options.study);
  if (options.claims) text += " --claims";
  if (!options.claims_from.empty()) {
    text += " --claims-from";
    for (const auto& file : options.claims_from) text += ' ' + shell_quoted(file);
  } else {
    text += " --value-type " + shell_quoted(options.value_type);
    if (options.backend) text += " --backend " + std::string(name_of(*options.backend));
    if (options.most_nnz) text += " --most-nnz " + std::to_string(*options.most_nnz);
  }
  text += " --html " + shell_quoted(options.html);
  for (const auto& matrix : options.arguments) text += ' ' + shell_quoted(matrix);
  return text;
}

}  // namespace

void write_study_page(const Options& options, const std::vector<const Study*>& studies,
                      const std::vector<StudyRun>& runs) {
  write_page(page_of(study_page, facts_of(studies, runs), command_of(options)), options.html);
}

}  // namespace autospmv::tools
