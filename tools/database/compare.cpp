// autospmv db diff: what became of matrices between two databases, for a change of driver, library or machine.

#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.hpp"
#include "core/printable.hpp"
#include "tools/database/actions.hpp"
#include "tools/output/json.hpp"
#include "tools/output/table.hpp"
#include "tuner/objective.hpp"

namespace autospmv::tools {

namespace {

/// A matrix as one database knows it: in the environment that it was tuned in last.
struct Side {
  TunedMatrix entry;
  std::optional<TrialRecord> winner;
};

/// What is compared: the pattern, the type of values, the operation, the backend and, where both have it, the device.
using Subject = std::tuple<std::string, std::string, std::string, std::string, std::string>;

Subject subject_of(const TrialKey& key) {
  return {key.pattern.text(), key.value_type, key.operation, key.backend, key.device};
}

std::map<Subject, Side> sides_of(Database& database, const Options& options) {
  std::map<Subject, Side> sides;
  for (auto& entry : entries_of(database, options)) {
    auto& side = sides[subject_of(entry.key)];
    if (side.winner) continue;  // the most recent comes first
    auto trials = database.trials(entry.key);
    keep_selected(trials, options);
    side.winner = winner_of(trials, options.limits, entry.matrix.csr_bytes);
    side.entry = std::move(entry);
  }
  std::erase_if(sides, [](const auto& side) { return !side.second.winner; });
  return sides;
}

/// Of the same device, else of any.
const Side* counterpart(const std::map<Subject, Side>& sides, Subject subject) {
  if (const auto same = sides.find(subject); same != sides.end()) return &same->second;
  std::get<4>(subject).clear();
  for (auto at = sides.lower_bound(subject); at != sides.end(); ++at) {
    auto other = at->first;
    std::get<4>(other).clear();
    return other == subject ? &at->second : nullptr;
  }
  return nullptr;
}

struct Difference {
  const Side* before = nullptr;
  const Side* after = nullptr;

  [[nodiscard]] double ratio() const {
    return before->winner->measurement.warm.median / after->winner->measurement.warm.median;
  }
  [[nodiscard]] bool other_winner() const { return before->winner->candidate != after->winner->candidate; }

  /// Within the quartiles a difference is noise.
  [[nodiscard]] std::string_view verdict() const {
    const auto& then = before->winner->measurement.warm;
    const auto& now = after->winner->measurement.warm;
    if (now.high_quartile < then.low_quartile) return "faster";
    if (now.low_quartile > then.high_quartile) return "slower";
    return "same";
  }
};

struct Comparison {
  std::vector<Difference> both;
  std::vector<const Side*> gone;
  std::vector<const Side*> added;
};

Comparison compare(const std::map<Subject, Side>& before, const std::map<Subject, Side>& after) {
  Comparison comparison;
  std::vector<const Side*> met;
  for (const auto& [subject, side] : after) {
    const auto* const then = counterpart(before, subject);
    if (then == nullptr) {
      comparison.added.push_back(&side);
    } else {
      comparison.both.push_back({then, &side});
      met.push_back(then);
    }
  }
  for (const auto& [subject, side] : before) {
    if (std::find(met.begin(), met.end(), &side) == met.end()) comparison.gone.push_back(&side);
  }
  // What became slower comes first.
  std::stable_sort(comparison.both.begin(), comparison.both.end(),
                   [](const auto& a, const auto& b) { return a.ratio() < b.ratio(); });
  return comparison;
}

std::string name_of_matrix(const Side& side) {
  return side.entry.matrix.label.empty() ? side.entry.key.pattern.text() : side.entry.matrix.label;
}

// What of the environment is not the same on both sides, "driver 550 -> 560".
std::string changes_between(const TrialKey& before, const TrialKey& after) {
  std::string text;
  const auto add = [&](std::string_view what, const std::string& a, const std::string& b) {
    if (a == b) return;
    text.append(text.empty() ? "" : ", ").append(what).append(" ").append(a.empty() ? "none" : a);
    text.append(" -> ").append(b.empty() ? "none" : b);
  };
  add("device", before.device, after.device);
  add("toolkit", before.toolkit, after.toolkit);
  add("driver", before.driver, after.driver);
  add("library", before.library, after.library);
  return text;
}

Json side_json(const Side& side) {
  Json json = to_json(*side.winner);
  json["device"] = side.entry.key.device;
  json["toolkit"] = side.entry.key.toolkit;
  json["driver"] = side.entry.key.driver;
  json["library"] = side.entry.key.library;
  return json;
}

Json alone_json(const std::vector<const Side*>& sides) {
  Json json = Json::array();
  for (const auto* side : sides) {
    json.push_back({{"matrix", side->entry.matrix.label},
                    {"fingerprint", side->entry.key.pattern.text()},
                    {"value_type", side->entry.key.value_type},
                    {"device", side->entry.key.device}});
  }
  return json;
}

Json comparison_json(const Comparison& comparison) {
  Json json{{"matrices", Json::array()}};
  for (const auto& difference : comparison.both) {
    const auto& entry = difference.after->entry;
    json["matrices"].push_back({{"matrix", entry.matrix.label},
                                {"fingerprint", entry.key.pattern.text()},
                                {"value_type", entry.key.value_type},
                                {"operation", entry.key.operation},
                                {"backend", entry.key.backend},
                                {"verdict", difference.verdict()},
                                {"speedup", difference.ratio()},
                                {"other_winner", difference.other_winner()},
                                {"before", side_json(*difference.before)},
                                {"after", side_json(*difference.after)}});
  }
  json["only_before"] = alone_json(comparison.gone);
  json["only_after"] = alone_json(comparison.added);
  return json;
}

void print_alone(const std::vector<const Side*>& sides, std::string_view where) {
  if (sides.empty()) return;
  std::cout << "only " << where << ":";
  for (const auto* side : sides) std::cout << ' ' << printable(name_of_matrix(*side));
  std::cout << '\n';
}

void print_comparison(const Comparison& comparison) {
  std::vector<Row> rows;
  std::map<std::string_view, int> verdicts;
  std::map<std::string, int> changes;
  int other_winners = 0;
  double log_ratio = 0;
  for (const auto& difference : comparison.both) {
    const auto& [before, after] = difference;
    ++verdicts[difference.verdict()];
    ++changes[changes_between(before->entry.key, after->entry.key)];
    log_ratio += std::log(difference.ratio());
    other_winners += difference.other_winner() ? 1 : 0;
    if (difference.verdict() == "same" && !difference.other_winner()) continue;
    rows.push_back({name_of_matrix(*after), after->entry.key.value_type, std::string(difference.verdict()),
                    fixed(difference.ratio(), 2), fixed(before->winner->measurement.warm.median * 1e6, 2),
                    fixed(after->winner->measurement.warm.median * 1e6, 2), before->winner->candidate.text(),
                    difference.other_winner() ? after->winner->candidate.text() : "the same"});
  }
  for (const auto& [change, count] : changes) {
    if (!change.empty()) std::cout << printable(change) << ": " << count << '\n';
  }
  if (!rows.empty()) {
    print_table(std::cout,
                {{.title = "matrix", .left = true},
                 {.title = "type", .left = true},
                 {.title = "became", .left = true},
                 {.title = "speed-up"},
                 {.title = "us before"},
                 {.title = "us after"},
                 {.title = "winner before", .left = true},
                 {.title = "winner after", .left = true}},
                rows);
  }
  const auto count = comparison.both.size();
  std::cout << "compared: " << count << ", faster: " << verdicts["faster"] << ", slower: " << verdicts["slower"]
            << ", within the noise: " << verdicts["same"] << ", another winner: " << other_winners;
  if (count > 0) std::cout << ", speed-up: " << fixed(std::exp(log_ratio / static_cast<double>(count)), 3);
  std::cout << '\n';
  print_alone(comparison.gone, "before");
  print_alone(comparison.added, "after");
}

}  // namespace

int compare_databases(const Options& options) {
  std::vector<std::map<Subject, Side>> sides;
  for (const std::size_t i : {1, 2}) {
    const auto& name = options.arguments.at(i);
    if (!std::filesystem::exists(name)) throw Error("nothing is compared: there is no database " + name);
    sides.push_back(sides_of(*Database::look(name), options));
  }
  const auto comparison = compare(sides[0], sides[1]);
  if (options.json) {
    print_json(comparison_json(comparison));
  } else {
    print_comparison(comparison);
  }
  return 0;
}

}  // namespace autospmv::tools
