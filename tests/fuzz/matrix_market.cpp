// The bytes are a Matrix Market file. What is taken must be what a slow and simple reader takes it for.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "autospmv/plan.hpp"
#include "io/matrix_market.hpp"
#include "tests/fuzz/support.hpp"

namespace autospmv::fuzzing {
namespace {

// The reader allocates offsets on the word of the size line, and nothing else.
constexpr std::int64_t most_rows = 1 << 16;
constexpr std::int64_t most_of_product = 1 << 10;

struct Triplet {
  std::int64_t row;
  std::int64_t col;
  double value;
};

std::vector<std::string> lines_of(std::string_view text) {
  std::istringstream stream{std::string(text)};
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(std::move(line));
  return lines;
}

// Those of the lines that are neither blank nor a comment, as words; the banner is the first.
std::vector<std::vector<std::string>> words_of(std::string_view text) {
  std::vector<std::vector<std::string>> all;
  for (const auto& line : lines_of(text)) {
    if (!all.empty() && line.find_first_not_of(" \t\r") != std::string::npos &&
        line[line.find_first_not_of(" \t\r")] == '%') {
      continue;
    }
    std::vector<std::string> words;
    for (std::size_t at = 0; (at = line.find_first_not_of(" \t\r", at)) != std::string::npos;) {
      const auto end = std::min(line.size(), line.find_first_of(" \t\r", at));
      words.push_back(line.substr(at, end - at));
      at = end;
    }
    if (!words.empty()) all.push_back(std::move(words));
  }
  return all;
}

std::string lower_case(std::string word) {
  for (char& c : word) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return word;
}

std::int64_t integer(const std::string& word) { return std::strtoll(word.c_str(), nullptr, 10); }
double real(const std::string& word) { return std::strtod(word.c_str(), nullptr); }

/// Reads whatever the real reader has taken; of other texts, the sizes at most.
class SimpleReader {
 public:
  explicit SimpleReader(std::string_view text) : lines_(words_of(text)) {
    if (lines_.size() < 2 || lines_[1].size() < 2) return;
    rows_ = integer(lines_[1][0]);
    cols_ = integer(lines_[1][1]);
  }

  [[nodiscard]] std::int64_t rows() const { return rows_; }
  [[nodiscard]] std::int64_t cols() const { return cols_; }

  /// Those of one place in the order of the text.
  [[nodiscard]] std::vector<Triplet> triplets() const {
    const bool coordinate = lower_case(lines_[0][2]) == "coordinate";
    const auto symmetry = lower_case(lines_[0][4]);
    const bool general = symmetry == "general";
    const std::int64_t below = symmetry == "skew-symmetric" ? 1 : 0;
    std::vector<Triplet> triplets;
    std::int64_t row = general ? 0 : below;
    std::int64_t col = 0;
    for (std::size_t line = 2; line < lines_.size(); ++line) {
      const auto& words = lines_[line];
      Triplet one{row, col, value(words, coordinate ? 2 : 0)};
      if (coordinate) {
        one.row = integer(words[0]) - 1;
        one.col = integer(words[1]) - 1;
      } else if (++row == rows_) {
        ++col;
        row = general ? 0 : col + below;
      }
      triplets.push_back(one);
      if (general || one.row == one.col) continue;
      std::swap(one.row, one.col);
      if (symmetry == "skew-symmetric") one.value = -one.value;
      triplets.push_back(one);
    }
    std::stable_sort(triplets.begin(), triplets.end(), [](const Triplet& a, const Triplet& b) {
      return std::tuple(a.row, a.col) < std::tuple(b.row, b.col);
    });
    return triplets;
  }

 private:
  [[nodiscard]] double value(const std::vector<std::string>& words, std::size_t at) const {
    const auto field = lower_case(lines_[0][3]);
    if (field == "pattern") return 1;
    if (field == "integer") return static_cast<double>(integer(words[at]));
    return real(words[at]);
  }

  std::vector<std::vector<std::string>> lines_;
  std::int64_t rows_ = 0;
  std::int64_t cols_ = 0;
};

bool is_same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }
bool is_same(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

template <class T>
bool is_same(const HostCsr<T>& a, const HostCsr<T>& b) {
  return a.rows == b.rows && a.cols == b.cols && a.row_ptr == b.row_ptr && a.col_idx == b.col_idx &&
         std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end(),
                    [](const T& x, const T& y) { return is_same(x, y); });
}

void require_triplets(const HostCsr<double>& matrix, const std::vector<Triplet>& triplets) {
  require(std::ssize(triplets) == matrix.nnz(), "as many nonzeros as the text has");
  std::size_t k = 0;
  for (std::int64_t r = 0; r < matrix.rows; ++r) {
    for (; k < static_cast<std::size_t>(matrix.row_ptr[static_cast<std::size_t>(r) + 1]); ++k) {
      require(triplets[k].row == r && triplets[k].col == matrix.col_idx[k], "places are those of the text");
      require(is_same(triplets[k].value, matrix.values[k]), "values are those of the text");
    }
  }
}

// By plain CSR, since nothing is known.
void require_product(const HostCsr<double>& matrix, const std::vector<Triplet>& triplets) {
  static const Context context({.device = Place{},
                                .database = DatabaseChoice::memory(),
                                .effort = Effort::cached,
                                .background = false,
                                .logger = [](LogLevel, std::string_view) {}});
  const auto x = ramp<double>(matrix.cols);
  std::vector<double> y(static_cast<std::size_t>(matrix.rows));
  make_plan(Matrix<double>::from_csr(matrix.rows, matrix.cols, matrix.row_ptr, matrix.col_idx, matrix.values), context)(
      x, y);
  DirectSum sum(matrix.rows);
  for (const auto& one : triplets) sum.add(one.row, one.value, x[static_cast<std::size_t>(one.col)]);
  require(sum.is_like(y), "the product is the sum of the triplets");
}

template <class T>
std::optional<HostCsr<T>> read(std::string_view text) {
  std::optional<HostCsr<T>> matrix;
  if (is_taken([&] { matrix = parse_matrix_market<T>(text, "matrix.mtx"); })) require_sound(*matrix, Columns::sorted);
  return matrix;
}

template <class T>
void require_read_back(const HostCsr<T>& matrix) {
  std::ostringstream text;
  write_matrix_market(text, matrix.view(), "as it was read");
  const auto again = read<T>(text.str());
  require(again && is_same(matrix, *again), "what is written reads back the same");
}

// Cut into parts, as large files are for many threads: comments between the lines change nothing.
std::string stretched(std::string_view text) {
  static const std::string comment = "\n%" + std::string((1 << 16) - 3, '.') + '\n';
  std::string longer;
  for (const char c : text) {
    if (c == '\n') {
      longer += comment;
    } else {
      longer += c;
    }
  }
  return longer;
}

void check(std::string_view text) {
  const SimpleReader simple(text);
  if (simple.rows() > most_rows) return;
  const auto matrix = read<double>(text);
  if (matrix) {
    const auto triplets = simple.triplets();
    require_triplets(*matrix, triplets);
    require_read_back(*matrix);
    if (matrix->rows <= most_of_product && matrix->cols <= most_of_product) require_product(*matrix, triplets);
  }
  if (const auto in_float = read<float>(text)) require_read_back(*in_float);
  // A few of them, since it takes long.
  constexpr std::size_t one_in = 16;
  if (text.size() % one_in == 0 && std::count(text.begin(), text.end(), '\n') <= 16) {
    const auto in_parts = read<double>(stretched(text));
    require(in_parts.has_value() == matrix.has_value() && (!matrix || is_same(*matrix, *in_parts)),
            "it does not matter how a file is cut");
  }
}

}  // namespace
}  // namespace autospmv::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  autospmv::fuzzing::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
