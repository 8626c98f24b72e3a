#include "io/load.hpp"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "core/error.hpp"
#include "core/verify/random.hpp"
#include "io/archive.hpp"
#include "io/entry_values.hpp"
#include "io/generators.hpp"
#include "io/matrix_market.hpp"

namespace autospmv {

namespace {

template <class T>
void randomize(HostCsr<T>& matrix, std::uint64_t seed, bool in_float) {
  detail::set_values(matrix, [=](std::int64_t row, std::int64_t col) {
    const auto value = static_cast<T>(random_value(seed, detail::place_of(std::min(row, col), std::max(row, col))));
    return in_float ? static_cast<float>(value) : value;
  });
}

std::vector<std::string> matrices_in(const std::string& directory) {
  std::vector<std::string> found;
  try {
    for (const auto& file : std::filesystem::directory_iterator(directory)) {
      if (!file.is_directory() && matrix_name(file.path().string())) found.push_back(file.path().string());
    }
  } catch (const std::filesystem::filesystem_error& error) {
    throw Error(directory + ": cannot be read: " + error.code().message());
  }
  if (found.empty()) throw Error(directory + ": no matrix in this directory");
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Values Values::parse(std::string_view text) {
  if (text == "own") return {};
  const auto colon = std::min(text.find(':'), text.size());
  const auto kind = text.substr(0, colon);
  const bool known = kind == "random" || kind == "float";
  std::uint64_t seed = 0;
  const auto digits = known && colon < text.size() ? text.substr(colon + 1) : std::string_view{};
  const auto [end, code] = std::from_chars(digits.begin(), digits.end(), seed);
  if (code != std::errc{} || end != digits.end()) {
    throw InvalidArgument("values '" + std::string(text) + "' are not 'own', 'random:SEED' or 'float:SEED'");
  }
  return {seed, kind == "float"};
}

template <class T>
HostCsr<T> load_matrix(const std::string& source, const Values& values) {
  auto matrix = is_generator(source) ? generate<T>(source) : read_matrix_market<T>(source);
  if (values.seed) randomize(matrix, *values.seed, values.in_float);
  return matrix;
}

std::vector<std::string> expand_sources(const std::vector<std::string>& sources) {
  std::vector<std::string> expanded;
  for (const auto& source : sources) {
    std::error_code unknown;
    if (!is_generator(source) && std::filesystem::is_directory(source, unknown)) {
      const auto found = matrices_in(source);
      expanded.insert(expanded.end(), found.begin(), found.end());
    } else {
      expanded.push_back(source);
    }
  }
  return expanded;
}

std::string label_of(const std::string& source) {
  if (source == "-") return "stdin";
  if (is_generator(source)) return source;
  return matrix_name(source).value_or(std::filesystem::path(source).filename().string());
}

template HostCsr<float> load_matrix(const std::string&, const Values&);
template HostCsr<double> load_matrix(const std::string&, const Values&);

}  // namespace autospmv
