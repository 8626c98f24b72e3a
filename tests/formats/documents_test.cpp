// Whether docs/formats.md says of every format what the format itself says: its parameters, on either backend, and its
// paper. A table is read by its rows "| `name` | what it is | on a GPU | on the host | source |".

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "features/features.hpp"
#include "formats/format.hpp"
#include "io/generators.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

using Names = std::set<std::string>;

struct Row {
  std::string on_gpu;
  std::string on_host;
  std::string source;
};

std::string text_of(const std::string& file) {
  std::ifstream stream(std::string(AUTOSPMV_SOURCE_DIR "/") + file);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// Of the first table whose rows begin with the name of a format.
std::map<std::string, Row> table_of_formats() {
  std::map<std::string, Row> rows;
  std::istringstream lines(text_of("docs/formats.md"));
  const std::regex row(R"(\| `([a-z0-9_]+)` \|[^|]*\|([^|]*)\|([^|]*)\|([^|]*)\|)");
  for (std::string line; std::getline(lines, line);) {
    std::smatch parts;
    if (line.rfind("| `", 0) != 0) continue;
    EXPECT_TRUE(std::regex_match(line, parts, row)) << line;
    if (parts.empty()) continue;
    EXPECT_TRUE(rows.emplace(parts[1], Row{parts[2], parts[3], parts[4]}).second) << parts[1] << " has two rows";
  }
  return rows;
}

/// All that an expression matches, each once.
Names matches(const std::string& text, const char* expression) {
  const std::regex pattern(expression);
  Names found;
  for (std::sregex_iterator at(text.begin(), text.end(), pattern), end; at != end; ++at) found.insert(at->str());
  return found;
}

/// "T, block, bits", where bits are those of columns and of values.
Names params_of_row(const std::string& text) {
  auto names = matches(text, "[A-Za-z_]+");
  if (names.erase("bits") > 0) names.insert({"column_bits", "value_bits"});
  return names;
}

/// Those that a refusal lists, and those that the format offers, which are the same.
Names params_of(const Format<double>& format, const Device& device) {
  static const auto features = extract_features(generate<double>("gen:dense:64").view(), host_device());
  const auto cost = format.predict(features, {{"no_such_parameter", 1}}, device);
  EXPECT_FALSE(cost.admitted());
  const std::string listed = ", but ";
  const auto at = cost.reason().find(listed);
  auto names = at == std::string::npos ? Names{} : matches(cost.reason().substr(at + listed.size()), "[A-Za-z_]+");
  Names offered;
  const auto space = format.params(features, device);
  for (const auto& axis : space.axes()) offered.insert(axis.name);
  EXPECT_EQ(names, offered) << format.info().name;
  return names;
}

std::string text_of(const Names& names) {
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

TEST(Documents, ListTheParametersOfEveryFormat) {
  const auto table = table_of_formats();
  for (const auto* format : all_formats<double>()) {
    const auto& info = format->info();
    ASSERT_TRUE(table.contains(info.name)) << info.name << " has no row";
    const auto& row = table.at(info.name);
    const auto expected = [&](const Device& device) {
      return info.runs_on(device.backend) ? text_of(params_of(*format, device)) : "";
    };
    EXPECT_EQ(text_of(params_of_row(row.on_gpu)), expected(described_gpu())) << info.name << " on a GPU";
    EXPECT_EQ(text_of(params_of_row(row.on_host)), expected(host_device())) << info.name << " on the host";
  }
}

// Its surnames, years and sections are in what the format says in full, the first author among them; of the vendor's,
// its name.
TEST(Documents, NameThePaperOfEveryFormat) {
  const auto table = table_of_formats();
  for (const auto* format : all_formats<double>()) {
    const auto& info = format->info();
    ASSERT_TRUE(table.contains(info.name)) << info.name << " has no row";
    const auto& source = table.at(info.name).source;
    const char* const surname = info.vendor ? "NVIDIA" : R"([A-Z][A-Za-z-]+[a-z])";
    const auto named = matches(source, surname);
    for (const auto& name : named) EXPECT_NE(info.paper.find(name), std::string::npos) << info.name << ": " << name;
    for (const auto& number : matches(source, R"(\b((19|20)\d\d|\d\.\d)\b)")) {
      EXPECT_NE(info.paper.find(number), std::string::npos) << info.name << ": " << number;
    }
    std::smatch first;
    ASSERT_TRUE(std::regex_search(info.paper, first, std::regex(surname))) << info.name;
    EXPECT_TRUE(named.contains(first.str())) << info.name << ": " << first.str() << " is not in " << source;
    EXPECT_TRUE(info.vendor || !matches(source, R"(\b(19|20)\d\d\b)").empty()) << info.name << " has no year";
  }
}

// But those of the vendor that this build lacks.
TEST(Documents, HaveNoRowWithoutAFormat) {
  const auto table = table_of_formats();
  EXPECT_GE(table.size(), all_formats<double>().size());
  for (const auto& [name, row] : table) {
    EXPECT_TRUE(find_format<double>(name) != nullptr || name.rfind("cusparse_", 0) == 0) << name;
  }
}

TEST(Documents, CountTheFormats) {
  std::smatch count;
  const auto text = text_of("README.md");
  ASSERT_TRUE(std::regex_search(text, count, std::regex(R"(\[(\d+) formats\]\(docs/formats\.md\))")));
  EXPECT_EQ(count[1], std::to_string(table_of_formats().size()));
}

}  // namespace
}  // namespace autospmv::testing
