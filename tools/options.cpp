#include "tools/options.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <functional>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <system_error>
#include <utility>

#include <boost/program_options.hpp>

#include "core/error.hpp"
#include "formats/format.hpp"
#include "tools/studies/study.hpp"

namespace autospmv::tools {

namespace po = boost::program_options;

namespace {

/// A text that a function reads into the options, with its default shown in the help.
po::typed_value<std::string>* text(const char* placeholder, const char* otherwise,
                                   const std::function<void(const std::string&)>& read) {
  return po::value<std::string>()->value_name(placeholder)->default_value(otherwise)->notifier(read);
}

/// A number above zero.
template <class Number>
po::typed_value<Number>* positive(const char* option, Number& target) {
  return po::value<Number>(&target)->notifier([option](Number value) {
    if (!(value > 0)) throw InvalidArgument(std::string("option '") + option + "' takes a number above 0");
  });
}

std::string parse_value_type(const std::string& name) {
  if (name == value_type_name<float>() || name == value_type_name<double>()) return name;
  throw InvalidArgument("value type '" + name + "' is neither 'float' nor 'double'");
}

std::optional<Backend> parse_backend(const std::string& name) {
  if (name == "auto") return std::nullopt;
  for (const auto backend : {Backend::host, Backend::cuda}) {
    if (name == name_of(backend)) return backend;
  }
  throw InvalidArgument("backend '" + name + "' is not one of 'host', 'cuda' and 'auto'");
}

Effort parse_effort_option(const std::string& name) {
  if (const auto effort = parse_effort(name)) return *effort;
  throw InvalidArgument("effort '" + name +
                        "' is not one of 'cached', 'estimate', 'measure', 'exhaustive' and 'online'");
}

/// The moment so long ago, in UTC: "30d" ago.
std::string moment_before_now(const std::string& age) {
  using std::chrono::seconds;
  const std::array<std::pair<char, std::int64_t>, 5> units = {
      {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}}};
  constexpr std::int64_t most = 1'000'000;
  std::int64_t count = -1;
  const char* const end = age.data() + age.size();
  const auto read = std::from_chars(age.data(), end, count);
  const auto unit = std::find_if(units.begin(), units.end(),
                                 [&](const auto& u) { return read.ptr + 1 == end && *read.ptr == u.first; });
  if (read.ec != std::errc{} || count < 0 || count > most || unit == units.end()) {
    throw InvalidArgument("age '" + age + "' is no number with one of the units s, m, h, d and w");
  }
  const auto then = std::chrono::system_clock::now() - seconds(count * unit->second);
  const auto whole = std::chrono::floor<seconds>(then);
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(then - whole).count();
  const std::time_t time = std::chrono::system_clock::to_time_t(whole);
  std::tm parts{};
  gmtime_r(&time, &parts);
  std::ostringstream moment;
  moment << std::put_time(&parts, "%Y-%m-%dT%H:%M:%S.") << std::setw(3) << std::setfill('0') << milliseconds << 'Z';
  return moment.str();
}

/// The names of these, whatever they are.
template <class Range, class Name>
std::vector<std::string> names(const Range& range, const Name& name) {
  std::vector<std::string> list;
  list.reserve(std::size(range));
  for (const auto& element : range) list.emplace_back(name(element));
  return list;
}

/// OptionInfo::values of the option of this name.
std::vector<std::string> listed_values(std::string_view option) {
  using enum Effort;
  if (option == "value-type") return {std::string(value_type_name<float>()), std::string(value_type_name<double>())};
  if (option == "values") return {"own", "random:", "float:"};
  if (option == "backend") return {"auto", std::string(name_of(Backend::host)), std::string(name_of(Backend::cuda))};
  if (option == "effort") {
    return names(std::array{cached, estimate, measure, exhaustive, online}, [](Effort e) { return name_of(e); });
  }
  if (option == "format" || option == "only") {
    return names(all_formats<double>(), [](const auto* format) { return format->info().name; });
  }
  if (option == "study") {
    auto all = names(all_studies(), [](const auto& study) { return study.name; });
    all.emplace_back("all");
    return all;
  }
  return {};
}

void add_group(po::options_description& all, OptionGroup group, Options& options) {
  auto add = all.add_options();
  switch (group) {
    case OptionGroup::value_type:
      add("value-type",
          text("TYPE", "double", [&](const std::string& name) { options.value_type = parse_value_type(name); }),
          "float or double");
      break;
    case OptionGroup::values:
      add("values", text("WHICH", "own", [&](const std::string& which) { options.values = Values::parse(which); }),
          "own; or, for structures whose values are not known, random:SEED, or float:SEED for values that float holds");
      break;
    case OptionGroup::backend:
      add("backend", text("NAME", "auto", [&](const std::string& name) { options.backend = parse_backend(name); }),
          "host, cuda, or auto: cuda where there is a device");
      break;
    case OptionGroup::database:
      add("db", po::value<std::string>()->value_name("FILE")->notifier([&](const std::string& file) {
        options.database = file;
      }),
          "where trials are kept (default: $AUTOSPMV_DB, else autospmv/trials.db in the user's cache)");
      add("system-db", po::value<std::vector<std::string>>()->value_name("FILE")->notifier([&](const auto& files) {
        options.system_databases.emplace();
        for (const auto& file : files) {
          if (file != "none") options.system_databases->emplace_back(file);
        }
      }),
          "read this where that says nothing, above what is installed; may be given again; none: not even that "
          "(default: $AUTOSPMV_SYSTEM_DB)");
      break;
    case OptionGroup::limits:
      add("expected-calls",
          positive("--expected-calls", options.limits.expected_calls)
              ->value_name("N")
              ->default_value(options.limits.expected_calls),
          "products over which the setup must pay off");
      add("memory-factor", positive("--memory-factor", options.limits.memory_factor)->value_name("X"),
          "most bytes of a winner, over those of the CSR arrays");
      add("deterministic", po::bool_switch(&options.limits.deterministic),
          "only candidates whose results are bitwise equal from run to run");
      add("no-capture", po::bool_switch()->notifier([&](bool given) { options.limits.capture = !given; }),
          "also candidates whose products no CUDA graph can capture");
      break;
    case OptionGroup::effort:
      add("effort",
          text("HOW", "measure", [&](const std::string& name) { options.effort = parse_effort_option(name); }),
          "cached: no trials; estimate: none, but predictions; measure: a short list; exhaustive: every candidate");
      add("time-limit", positive("--time-limit", options.limits.time_limit_seconds)->value_name("SECONDS"),
          "for all trials of one matrix");
      break;
    case OptionGroup::operation:
      add("transposed", po::bool_switch()->notifier([&](bool given) {
        if (given) options.op = Operation::transposed;
      }),
          "products with the transposed matrix");
      break;
    case OptionGroup::formats:
      add("format", po::value<std::vector<std::string>>()->value_name("NAME"),
          "measure this format only; may be given again");
      add("params", po::value<std::vector<std::string>>()->value_name("PARAMS"),
          "of the --format before it, measure these only, as \"C=16,32 sigma=1\"; may be given again");
      add("study", po::value<std::string>()->value_name("NAME")->notifier([&](const std::string& name) {
        options.study = name;
      }),
          ("make a paper's comparison: " + study_names() + ", or all; without MATRIX on what stands in for its own")
              .c_str());
      add("matrices", po::bool_switch(&options.list_matrices),
          "with --study: list the paper's matrices and what stands in for each");
      add("most-nnz", po::value<std::int64_t>()->value_name("N")->notifier([&](std::int64_t most) {
        if (most < 1) throw InvalidArgument("option '--most-nnz' takes a number above 0");
        options.most_nnz = most;
      }),
          "with --study and without MATRIX: leave out matrices of more nonzeros");
      add("claims", po::bool_switch(&options.claims),
          "with --study: only the table of what the papers claim and what came out");
      add("claims-from", po::value<std::vector<std::string>>(&options.claims_from)->value_name("FILE")->multitoken(),
          "make that table from files that bench --study --json has printed, and measure nothing; takes several");
      add("html", po::value<std::string>(&options.html)->value_name("FILE"),
          "with --study or --claims-from: also write a page that shows the claims beside what came out");
      add("rivals", po::bool_switch(&options.rivals),
          "set the fastest of our formats beside the products of other libraries");
      add("markdown", po::bool_switch(&options.markdown),
          "with --rivals, --claims, --claims-from or --matrices: the tables in Markdown");
      break;
    case OptionGroup::only:
      add("only", po::value<std::vector<std::string>>()->value_name("CANDIDATES"),
          "try these and the baselines only, as \"sell_p C=16,32 sigma=1\"; may be given again");
      break;
    case OptionGroup::output:
      add("output,o", po::value<std::string>(&options.output)->value_name("FILE")->default_value("-"),
          "the file to write; - is standard output");
      break;
    case OptionGroup::selection:
      add("matrix", po::value<std::vector<std::string>>(&options.selection.matrices)->value_name("MATRIX"),
          "of this matrix, by its fingerprint or its label; may be given again");
      add("device", po::value<std::string>(&options.selection.device)->value_name("NAME"), "of this device");
      add("value-type", po::value<std::string>()->value_name("TYPE")->notifier([&](const std::string& name) {
        options.selection.value_type = parse_value_type(name);
      }),
          "of values of this type, float or double, however few bits they take");
      add("format", po::value<std::string>(&options.selection.format)->value_name("NAME"), "of this format");
      add("newer-than", po::value<std::string>()->value_name("AGE")->notifier([&](const std::string& age) {
        options.selection.since = moment_before_now(age);
      }),
          "recorded no longer ago than 90s, 15m, 12h, 30d or 8w");
      add("older-than", po::value<std::string>()->value_name("AGE")->notifier([&](const std::string& age) {
        options.selection.before = moment_before_now(age);
      }),
          "recorded longer ago than that");
      add("suspects", po::bool_switch(&options.selection.suspects),
          "forget: only which candidates may have killed a process");
      add("all", po::bool_switch(&options.selection.all), "forget: everything; takes --yes");
      add("yes", po::bool_switch(&options.selection.yes), "forget: --all is meant");
      break;
  }
}

bool contains(std::span<const OptionGroup> groups, OptionGroup group) {
  return std::find(groups.begin(), groups.end(), group) != groups.end();
}

po::options_description describe(std::span<const OptionGroup> groups, Options& options) {
  po::options_description all("Options", 100);
  for (const auto group : groups) add_group(all, group, options);
  auto add = all.add_options();
  add("json", po::bool_switch(&options.json), "JSON in place of text");
  add("quiet", po::bool_switch(&options.quiet), "no progress line and no warnings");
  add("help,h", po::bool_switch(&options.help), "this text");
  return all;
}

/// The candidates that the options name, by their order: parameters belong to the format before them.
std::vector<FormatChoice> choices_of(const po::parsed_options& parsed) {
  std::vector<FormatChoice> choices;
  for (const auto& option : parsed.options) {
    if (option.string_key == "format") choices.push_back(FormatChoice::of(option.value.at(0)));
    if (option.string_key == "only") choices.push_back(FormatChoice::parse(option.value.at(0)));
    if (option.string_key != "params") continue;
    if (choices.empty()) throw InvalidArgument("--params belongs to the --format before it, and there is none");
    if (!choices.back().values.empty()) choices.push_back(FormatChoice::of(choices.back().format));
    choices.back().add(option.value.at(0));
  }
  return choices;
}

}  // namespace

Options parse_options(const std::vector<std::string>& words, std::span<const OptionGroup> groups) {
  Options options;
  const auto described = describe(groups, options);
  // Without guessing: an abbreviation that works today must not become ambiguous with tomorrow's option.
  constexpr int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
  try {
    const auto parsed = po::command_line_parser(words).options(described).style(style).run();
    for (const auto& option : parsed.options) {
      if (option.string_key.empty()) options.arguments.push_back(option.value.at(0));
    }
    po::variables_map values;
    po::store(parsed, values);
    po::notify(values);
    // The format of a selection may be one that this build does not have.
    if (!contains(groups, OptionGroup::selection)) options.only = choices_of(parsed);
  } catch (const po::error& error) {
    throw InvalidArgument(error.what());
  }
  return options;
}

std::vector<OptionInfo> option_infos(std::span<const OptionGroup> groups) {
  Options unused;
  const auto described = describe(groups, unused);
  std::vector<OptionInfo> infos;
  infos.reserve(described.options().size());
  for (const auto& option : described.options()) {
    OptionInfo info{.name = option->canonical_display_name(po::command_line_style::allow_long),
                    .letter = option->canonical_display_name(po::command_line_style::allow_dash_for_short),
                    .placeholder = option->format_parameter(),
                    .otherwise = {},
                    .meaning = option->description(),
                    .values = listed_values(option->long_name())};
    if (info.letter.front() != '-') info.letter.clear();  // there is none, and it is the name
    // "NAME (=default)"
    if (const auto at = info.placeholder.find(" (="); at != std::string::npos) {
      info.otherwise = info.placeholder.substr(at + 3, info.placeholder.size() - at - 4);
      info.placeholder.resize(at);
    }
    infos.push_back(std::move(info));
  }
  return infos;
}

void print_options(std::ostream& out, std::span<const OptionGroup> groups) {
  Options unused;
  out << describe(groups, unused);
}

}  // namespace autospmv::tools
