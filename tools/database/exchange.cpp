// autospmv db export, import and merge.

#include <cerrno>
#include <fstream>
#include <iostream>
#include <system_error>

#include "core/error.hpp"
#include "tools/database/actions.hpp"
#include "tools/database/jsonl.hpp"
#include "tools/output/json.hpp"

namespace autospmv::tools {

namespace {

void export_to(std::ostream& out, const Options& options) {
  const auto database = look_at_place(options);
  const auto selections = selections_of(options);
  if (selections.size() == 1) {
    write_rows(out, *database, selections.front());
    return;
  }
  // What several of them choose stands there once.
  const auto chosen = Database::in_memory();
  for (const auto& selection : selections) chosen->merge(*database, selection);
  write_rows(out, *chosen, {});
}

int merge_all(const std::vector<std::shared_ptr<Database>>& sources, const Options& options) {
  const auto target = open_to_change(options);
  Merged sum;
  for (const auto& source : sources) {
    for (const auto& selection : selections_of(options)) {
      const auto merged = target->merge(*source, selection);
      sum.matrices += merged.matrices;
      sum.trials += merged.trials;
      sum.tunings += merged.tunings;
      sum.suspects += merged.suspects;
      sum.fits += merged.fits;
    }
  }
  prepare(*target);
  if (options.json) {
    print_json({{"matrices", sum.matrices},
                {"trials", sum.trials},
                {"efforts", sum.tunings},
                {"suspects", sum.suspects},
                {"fits", sum.fits}});
  } else {
    std::cout << "new: matrices: " << sum.matrices << ", trials: " << sum.trials
              << ", finished tunings: " << sum.tunings << ", suspects: " << sum.suspects
              << ", fitted devices: " << sum.fits << '\n';
  }
  return 0;
}

}  // namespace

int export_rows(const Options& options) {
  if (options.output == "-") {
    export_to(std::cout, options);
    return 0;
  }
  std::ofstream file(options.output, std::ios::binary);
  if (!file) throw Error(options.output + ": cannot be written: " + std::generic_category().message(errno));
  export_to(file, options);
  if (!file.flush()) throw Error(options.output + ": cannot be written: the device is full");
  return 0;
}

int import_rows(const Options& options) {
  const auto& name = options.arguments.at(1);
  // All of it is read before the database is touched.
  if (name == "-") return merge_all({read_rows(std::cin, "standard input")}, options);
  std::ifstream file(name, std::ios::binary);
  if (!file || std::filesystem::is_directory(name)) throw Error(name + ": cannot be read");
  return merge_all({read_rows(file, name)}, options);
}

int merge_databases(const Options& options) {
  std::vector<std::shared_ptr<Database>> sources;
  for (std::size_t i = 1; i < options.arguments.size(); ++i) {
    const auto& name = options.arguments[i];
    if (!std::filesystem::exists(name)) throw Error("nothing is merged: there is no database " + name);
    sources.push_back(Database::look(name));
  }
  return merge_all(sources, options);
}

}  // namespace autospmv::tools
