#include "io/matrix_market/header.hpp"

#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include "io/matrix_market/line.hpp"

namespace autospmv::matrix_market {

namespace {

constexpr std::int64_t max_dimension = std::numeric_limits<std::int32_t>::max();

std::string lower_case(std::string_view word) {
  std::string lower(word);
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return lower;
}

// The value whose name is the next word of the banner.
template <class Names>
auto next_choice(Line& line, const char* what, const Names& names) {
  const auto word = line.word();
  for (const auto& [name, value] : names) {
    if (lower_case(word) == name) return value;
  }
  std::string known;
  for (const auto& [name, value] : names) known += (known.empty() ? "" : ", ") + std::string(name);
  throw BadLine(std::string("unknown ") + what + ' ' + quoted(word) + ", not one of " + known);
}

void read_banner(Line line, Header& header) {
  using namespace std::string_view_literals;
  static constexpr std::array objects = {std::pair{"matrix"sv, true}};
  static constexpr std::array layouts = {std::pair{"coordinate"sv, Layout::coordinate},
                                         std::pair{"array"sv, Layout::array}};
  static constexpr std::array fields = {std::pair{"real"sv, Field::real}, std::pair{"double"sv, Field::real},
                                        std::pair{"integer"sv, Field::integer}, std::pair{"complex"sv, Field::complex},
                                        std::pair{"pattern"sv, Field::pattern}};
  static constexpr std::array symmetries = {
      std::pair{"general"sv, Symmetry::general}, std::pair{"symmetric"sv, Symmetry::symmetric},
      std::pair{"skew-symmetric"sv, Symmetry::skew}, std::pair{"hermitian"sv, Symmetry::hermitian}};

  if (lower_case(line.word()) != "%%matrixmarket")
    throw BadLine("no Matrix Market file: it does not begin with '%%MatrixMarket'");
  next_choice(line, "object", objects);
  header.layout = next_choice(line, "format", layouts);
  header.field = next_choice(line, "field", fields);
  header.symmetry = next_choice(line, "symmetry", symmetries);
  line.end();

  if (header.field == Field::complex) throw BadLine("complex values cannot be read as real ones");
  if (header.symmetry == Symmetry::hermitian) throw BadLine("a hermitian matrix has complex values");
  if (header.field == Field::pattern && header.layout == Layout::array) throw BadLine("an array matrix has values");
  if (header.field == Field::pattern && header.symmetry == Symmetry::skew) {
    throw BadLine("a skew-symmetric matrix has values");
  }
}

std::int64_t stored_in_array(const Header& header) {
  const std::int64_t n = header.rows;
  if (header.symmetry == Symmetry::general) return n * header.cols;
  return header.symmetry == Symmetry::skew ? n * (n - 1) / 2 : n * (n + 1) / 2;
}

void read_sizes(Line line, Header& header) {
  header.rows = line.number_within(0, max_dimension, "number of rows");
  header.cols = line.number_within(0, max_dimension, "number of columns");
  header.entries = header.layout == Layout::coordinate
                       ? line.number_within(0, std::numeric_limits<std::int64_t>::max(), "number of entries")
                       : stored_in_array(header);
  line.end();
  if (header.symmetry != Symmetry::general && header.rows != header.cols) {
    throw BadLine("a matrix of " + std::to_string(header.rows) + " x " + std::to_string(header.cols) +
                  " is not symmetric");
  }
}

}  // namespace

Header read_header(std::span<const char> text, const std::string& name) {
  Header header;
  const char* at = text.data();
  const char* last = at + text.size();
  bool have_sizes = false;
  try {
    while (!have_sizes) {
      if (at == last && header.lines > 0) throw BadLine("the file ends before the size line");
      const char* end = line_end(at, last);
      Line line(at, end);
      ++header.lines;
      at = next_line(end, last);
      if (header.lines == 1) {
        read_banner(line, header);
      } else if (!line.empty_or_comment()) {
        read_sizes(line, header);
        have_sizes = true;
      }
    }
  } catch (const BadLine& bad) {
    fail(name, header.lines, bad.what());
  }
  header.body = at;
  return header;
}

}  // namespace autospmv::matrix_market
