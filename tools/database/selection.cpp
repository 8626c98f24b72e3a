#include <algorithm>

#include "core/error.hpp"
#include "tools/database/actions.hpp"
#include "tools/output/report.hpp"
#include "tuner/predict/history.hpp"

namespace autospmv::tools {

std::filesystem::path place_of(const Options& options) { return options.database.value_or(Database::default_path()); }

std::shared_ptr<Database> look_at_place(const Options& options) { return Database::look(place_of(options)); }

std::shared_ptr<Database> open_to_change(const Options& options) {
  const auto warn = [log = make_logger(options.quiet)](const std::string& text) { log(LogLevel::warning, text); };
  auto database = Database::open(place_of(options), warn);
  if (database->file().empty()) throw Error("nothing is changed: the database cannot be written");
  return database;
}

void prepare(Database& database) {
  database.keep_passed();
  for (const auto backend : {Backend::host, Backend::cuda}) {
    const std::string name(name_of(backend));
    (void)database.points(name, std::string(value_type_name<float>()), point_maker<float>());
    (void)database.points(name, std::string(value_type_name<double>()), point_maker<double>());
  }
}

std::vector<Selection> selections_of(const Options& options) {
  const auto& chosen = options.selection;
  const Selection any{.device = chosen.device,
                      .backend = options.backend ? std::string(name_of(*options.backend)) : std::string(),
                      .value_type = chosen.value_type,
                      .format = chosen.format,
                      .since = chosen.since,
                      .before = chosen.before,
                      .only_suspects = chosen.suspects};
  if (chosen.matrices.empty()) return {any};
  std::vector<Selection> selections;
  for (const auto& matrix : chosen.matrices) {
    if (matrix.empty()) throw InvalidArgument("--matrix takes a fingerprint or a label");
    auto& selection = selections.emplace_back(any);
    selection.pattern = Fingerprint::parse(matrix);
    if (!selection.pattern) selection.label = matrix;
  }
  return selections;
}

bool selects(const Options& options) { return options.backend || options.selection != SelectionOptions{}; }

std::vector<TunedMatrix> entries_of(Database& database, const Options& options) {
  std::vector<TunedMatrix> entries;
  for (const auto& selection : selections_of(options)) {
    for (auto& entry : database.list(selection)) {
      // Two matrices that are named may be one.
      const bool known = std::any_of(entries.begin(), entries.end(), [&](const auto& e) { return e.key == entry.key; });
      if (!known) entries.push_back(std::move(entry));
    }
  }
  return entries;
}

void keep_selected(std::vector<TrialRecord>& trials, const Options& options) {
  const auto& format = options.selection.format;
  if (format.empty()) return;
  std::erase_if(trials, [&](const TrialRecord& trial) { return trial.candidate.format != format; });
}

}  // namespace autospmv::tools
