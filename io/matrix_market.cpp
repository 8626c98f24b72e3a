#include "io/matrix_market.hpp"

#include <omp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>
#include <ostream>
#include <vector>

#include "core/array.hpp"
#include "core/error.hpp"
#include "core/printable.hpp"
#include "io/archive.hpp"
#include "io/assemble.hpp"

namespace autospmv {

namespace {

constexpr std::int64_t max_dimension = std::numeric_limits<std::int32_t>::max();

// Below this many bytes a part is not worth a thread.
constexpr std::int64_t min_part_bytes = std::int64_t{1} << 16;

template <class T>
inline constexpr bool is_complex = false;
template <class R>
inline constexpr bool is_complex<std::complex<R>> = true;

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};

enum class Layout : std::uint8_t { coordinate, array };
enum class Field : std::uint8_t { real, integer, complex, pattern };
enum class Symmetry : std::uint8_t { general, symmetric, skew, hermitian };

struct Header {
  Layout layout = Layout::coordinate;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;  // stored ones, as promised
  const char* body = nullptr;
  std::int64_t lines = 0;  // before the body
};

// What is wrong with a line; whoever knows which line it is turns it into an Error.
class BadLine : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void fail(const std::string& name, std::int64_t line, const std::string& what) {
  throw Error(name + ':' + std::to_string(line) + ": " + what);
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

const char* line_end(const char* at, const char* last) {
  if (at == last) return last;
  const void* end = std::memchr(at, '\n', static_cast<std::size_t>(last - at));
  return end != nullptr ? static_cast<const char*>(end) : last;
}

const char* next_line(const char* end, const char* last) { return end == last ? last : end + 1; }

// A word as an error shows it: short and printable, whatever the file is.
std::string quoted(std::string_view word) {
  constexpr std::size_t longest = 40;
  return '\'' + printable(word.substr(0, longest)) + (word.size() > longest ? "...'" : "'");
}

// std::from_chars calls values that are too small out of range like those that are too large. Tells them apart by the
// power of ten of the leading digit: it is far below zero or far above.
bool is_tiny(std::string_view number) {
  const auto mantissa_size = std::min(number.find_first_of("eE"), number.size());
  const auto mantissa = number.substr(0, mantissa_size);
  const auto leading = static_cast<std::int64_t>(mantissa.find_first_of("123456789"));
  const auto point = static_cast<std::int64_t>(std::min(mantissa.find('.'), mantissa.size()));
  if (mantissa_size == number.size()) return leading > point;
  auto exponent_digits = number.substr(mantissa_size + 1);
  if (exponent_digits.starts_with('+')) exponent_digits.remove_prefix(1);
  std::int64_t exponent = 0;
  const auto code = std::from_chars(exponent_digits.begin(), exponent_digits.end(), exponent).ec;
  if (code == std::errc::result_out_of_range) return exponent_digits.starts_with('-');
  // An exponent near the end of its own range outweighs any mantissa that fits into memory.
  return exponent / 2 + (point - leading) / 2 < 0;
}

// The words of one line, read from left to right.
class Line {
 public:
  Line(const char* first, const char* last) : at_(first), last_(last) {}

  [[nodiscard]] bool empty() {
    skip_blanks();
    return at_ == last_;
  }
  [[nodiscard]] bool empty_or_comment() { return empty() || *at_ == '%'; }

  std::string_view word() {
    skip_blanks();
    const char* first = at_;
    while (at_ != last_ && !is_blank(*at_)) ++at_;
    return {first, static_cast<std::size_t>(at_ - first)};
  }

  template <class V>
  V number(const char* what) {
    if (empty()) throw BadLine(std::string("the line ends where ") + what + " should be");
    // from_chars takes a minus sign but no plus sign.
    const char* first = at_ + (*at_ == '+' ? 1 : 0);
    V value{};
    const auto [end, code] = std::from_chars(first, last_, value);
    const bool whole = end == last_ || is_blank(*end);
    if (code == std::errc::invalid_argument || !whole || (first != at_ && *first == '-')) refuse<V>(what);
    if (code == std::errc::result_out_of_range) value = out_of_range<V>({first, end}, what);
    at_ = end;
    return value;
  }

  std::int64_t number_within(std::int64_t least, std::int64_t most, const char* what) {
    const auto value = number<std::int64_t>(what);
    if (value < least || value > most) {
      throw BadLine(std::string(what) + ' ' + std::to_string(value) + " is not in " + std::to_string(least) + " to " +
                    std::to_string(most));
    }
    return value;
  }

  void end() {
    if (!empty()) throw BadLine(quoted(word()) + " is left over at the end of the line");
  }

 private:
  void skip_blanks() {
    while (at_ != last_ && is_blank(*at_)) ++at_;
  }

  template <class V>
  [[noreturn]] void refuse(const char* what) {
    throw BadLine(std::string(what) + ' ' + quoted(word()) +
                  (std::is_integral_v<V> ? " is not an integer" : " is not a number"));
  }

  template <class V>
  V out_of_range(std::string_view number, const char* what) {
    if constexpr (std::is_floating_point_v<V>) {
      if (is_tiny(number)) return number.starts_with('-') ? -V{0} : V{0};
    }
    throw BadLine(std::string(what) + ' ' + quoted(number) + ": value out of range");
  }

  const char* at_;
  const char* last_;
};

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

template <class T>
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

  if (header.field == Field::complex && !is_complex<T>) throw BadLine("complex values cannot be read as real ones");
  if (header.field != Field::complex && header.symmetry == Symmetry::hermitian) {
    throw BadLine("a hermitian matrix has complex values");
  }
  if (header.field == Field::pattern && header.layout == Layout::array) throw BadLine("an array matrix has values");
  if (header.field == Field::pattern && header.symmetry == Symmetry::skew) {
    throw BadLine("a skew-symmetric matrix has values");
  }
}

std::int64_t stored_in_array(const Header& header) {
  const std::int64_t n = header.rows;
  switch (header.symmetry) {
    case Symmetry::general:
      return header.rows * header.cols;
    case Symmetry::skew:
      return n * (n - 1) / 2;
    case Symmetry::symmetric:
    case Symmetry::hermitian:
      break;
  }
  return n * (n + 1) / 2;
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

template <class T>
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
        read_banner<T>(line, header);
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

// Whole lines of the body, read by one thread.
struct Part {
  const char* first = nullptr;
  const char* last = nullptr;
  std::int64_t lines_before = 0;  // in the file
  std::int64_t slot = 0;          // where its entries begin
  std::int64_t entries = 0;       // read before the first bad line
  std::int64_t bad_line = 0;      // in the file, 0 where all are good
  std::string problem;
};

std::int64_t count_lines(const char* first, const char* last) {
  if (first == last) return 0;
  return std::count(first, last, '\n') + (last[-1] == '\n' ? 0 : 1);
}

/// Calls body(part, its number) for every part, on several threads at once.
template <class Body>
void for_each_part(std::vector<Part>& parts, const Body& body) {
  const std::int64_t work = parts.size() > 1 ? serial_below : 0;
  parallel_parts(work, std::ssize(parts), [&](std::int64_t p) { body(parts[p], p); });
}

std::vector<Part> cut_at_lines(const char* first, const char* last, std::int64_t lines_before) {
  const std::int64_t size = last - first;
  // Several parts a thread, so that a thread that is slowed down by others keeps nobody waiting.
  const std::int64_t most = std::int64_t{8} * omp_get_max_threads();
  std::vector<Part> parts(std::clamp<std::int64_t>(size / min_part_bytes, 1, most));
  const char* at = first;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    const auto share = share_of(size, static_cast<int>(p), static_cast<int>(parts.size()));
    const char* end = std::max(at, first + share.last);
    end = next_line(line_end(end, last), last);
    parts[p].first = std::exchange(at, end);
    parts[p].last = end;
  }
  std::vector<std::int64_t> lines(parts.size());
  for_each_part(parts, [&](const Part& part, std::int64_t p) { lines[p] = count_lines(part.first, part.last); });
  std::int64_t slot = 0;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    parts[p].slot = slot;
    parts[p].lines_before = lines_before + slot;
    slot += lines[p];
  }
  return parts;
}

// The stored entries; a part's begin at its slot, since no part has more entries than lines.
template <class T>
struct Entries {
  explicit Entries(std::int64_t slots) : rows(slots, Place{}), cols(slots, Place{}), values(slots, Place{}) {}

  Array<std::int32_t> rows;
  Array<std::int32_t> cols;
  Array<T> values;
};

template <class T>
class BodyReader {
 public:
  BodyReader(const Header& header, std::span<const char> text, const std::string& name)
      : header_(header),
        name_(name),
        last_(text.data() + text.size()),
        parts_(cut_at_lines(header.body, last_, header.lines)),
        lines_(parts_.back().lines_before + count_lines(parts_.back().first, parts_.back().last)),
        entries_(lines_ - header.lines) {}

  HostCsr<T> read() {
    for_each_part(parts_, [&](Part& part, std::int64_t /*number*/) { read_part(part); });
    check();
    if (header_.layout == Layout::array) number_array_entries();
    const auto part_count = static_cast<std::int64_t>(parts_.size());
    return detail::assemble_csr<T>(header_.rows, header_.cols, part_count, [this](std::int64_t p, const auto& visit) {
      const Part& part = parts_[p];
      for (std::int64_t k = part.slot; k < part.slot + part.entries; ++k) {
        const std::int32_t row = entries_.rows[k];
        const std::int32_t col = entries_.cols[k];
        visit(row, col, entries_.values[k]);
        if (header_.symmetry != Symmetry::general && row != col) visit(col, row, mirrored(entries_.values[k]));
      }
    });
  }

 private:
  void read_part(Part& part) {
    std::int64_t line_number = part.lines_before;
    try {
      for (const char* at = part.first; at < part.last;) {
        const char* end = line_end(at, part.last);
        Line line(at, end);
        ++line_number;
        at = next_line(end, part.last);
        if (line.empty_or_comment()) continue;
        read_entry(line, part.slot + part.entries);
        ++part.entries;
      }
    } catch (const BadLine& bad) {
      part.bad_line = line_number;
      part.problem = bad.what();
    }
  }

  void read_entry(Line& line, std::int64_t slot) {
    if (header_.layout == Layout::coordinate) {
      const auto row = static_cast<std::int32_t>(line.number_within(1, header_.rows, "row") - 1);
      const auto col = static_cast<std::int32_t>(line.number_within(1, header_.cols, "column") - 1);
      const T value = read_value(line);
      if (row == col) check_diagonal(value);
      entries_.rows[slot] = row;
      entries_.cols[slot] = col;
      entries_.values[slot] = value;
    } else {
      entries_.values[slot] = read_value(line);
    }
    line.end();
  }

  T read_value(Line& line) const {
    using Real = typename RealOf<T>::type;
    switch (header_.field) {
      case Field::pattern:
        return T{1};
      case Field::integer:
        return T{static_cast<Real>(line.number<std::int64_t>("value"))};
      case Field::real:
        return T{line.number<Real>("value")};
      case Field::complex:
        break;
    }
    const auto real = line.number<Real>("value");
    if constexpr (is_complex<T>) return {real, line.number<Real>("imaginary part")};
    return T{real};
  }

  void check_diagonal(const T& value) const {
    if (header_.symmetry == Symmetry::skew && value != T{0}) {
      throw BadLine("the diagonal of a skew-symmetric matrix is zero");
    }
    if constexpr (is_complex<T>) {
      if (header_.symmetry == Symmetry::hermitian && value.imag() != 0) {
        throw BadLine("the diagonal of a hermitian matrix is real");
      }
    }
  }

  // The first line that is wrong, in the order of the file, whatever the parts are.
  void check() const {
    std::int64_t found = 0;
    for (const Part& part : parts_) {
      if (part.entries > header_.entries - found) {
        fail(name_, line_of_entry(part, header_.entries - found), promise() + ", found more");
      }
      if (part.bad_line > 0) fail(name_, part.bad_line, part.problem);
      found += part.entries;
    }
    if (found < header_.entries) fail(name_, lines_, promise() + ", found " + std::to_string(found));
  }

  [[nodiscard]] std::string promise() const { return "promised " + std::to_string(header_.entries) + " entries"; }

  static std::int64_t line_of_entry(const Part& part, std::int64_t entry) {
    std::int64_t line_number = part.lines_before;
    for (const char* at = part.first; entry >= 0; ++line_number) {
      const char* end = line_end(at, part.last);
      if (!Line(at, end).empty_or_comment()) --entry;
      at = next_line(end, part.last);
    }
    return line_number;
  }

  // Array entries come by column: all rows, or those from the diagonal (skew-symmetric: from below it) on.
  void number_array_entries() {
    const std::int64_t below = header_.symmetry == Symmetry::skew ? 1 : 0;
    std::int64_t col = 0;
    std::int64_t row = header_.symmetry == Symmetry::general ? 0 : below;
    for (const Part& part : parts_) {
      for (std::int64_t k = part.slot; k < part.slot + part.entries; ++k) {
        if (row == col) check_array_diagonal(part, k);
        entries_.rows[k] = static_cast<std::int32_t>(row);
        entries_.cols[k] = static_cast<std::int32_t>(col);
        if (++row < header_.rows) continue;
        ++col;
        row = header_.symmetry == Symmetry::general ? 0 : col + below;
      }
    }
  }

  void check_array_diagonal(const Part& part, std::int64_t slot) const {
    try {
      check_diagonal(entries_.values[slot]);
    } catch (const BadLine& bad) {
      fail(name_, line_of_entry(part, slot - part.slot), bad.what());
    }
  }

  [[nodiscard]] T mirrored(const T& value) const {
    if (header_.symmetry == Symmetry::skew) return -value;
    if constexpr (is_complex<T>) {
      if (header_.symmetry == Symmetry::hermitian) return std::conj(value);
    }
    return value;
  }

  const Header& header_;
  const std::string& name_;
  const char* last_;
  std::vector<Part> parts_;
  std::int64_t lines_;  // of the file
  Entries<T> entries_;
};

// Collects text and hands it to the stream in large pieces.
class Writer {
 public:
  explicit Writer(std::ostream& out) : out_(out), buffer_(capacity) {}
  ~Writer() = default;
  Writer(const Writer&) = delete;
  Writer& operator=(const Writer&) = delete;

  // A number, and the character behind it.
  template <class V>
  void number(V value, char behind) {
    if (size_ + longest_number >= capacity) flush();
    char* first = buffer_.data() + size_;
    char* end = std::to_chars(first, first + longest_number, value).ptr;
    *end++ = behind;
    size_ += end - first;
  }

  void value(double real, char behind) { number(real, behind); }
  void value(float real, char behind) { number(real, behind); }
  template <class R>
  void value(const std::complex<R>& value, char behind) {
    number(value.real(), ' ');
    number(value.imag(), behind);
  }

  void flush() {
    out_.write(buffer_.data(), size_);
    size_ = 0;
  }

 private:
  static constexpr std::int64_t capacity = std::int64_t{1} << 20;
  static constexpr std::int64_t longest_number = 64;  // the shortest digits of a double take at most 24 characters

  std::ostream& out_;
  std::vector<char> buffer_;
  std::int64_t size_ = 0;
};

void write_comment(std::ostream& out, std::string_view comment) {
  while (!comment.empty()) {
    const auto line = comment.substr(0, comment.find('\n'));
    out << '%' << (line.empty() ? "" : " ") << line << '\n';
    comment.remove_prefix(std::min(comment.size(), line.size() + 1));
  }
}

}  // namespace

template <class T>
HostCsr<T> parse_matrix_market(std::span<const char> text, const std::string& name) {
  try {
    const auto header = read_header<T>(text, name);
    return BodyReader<T>(header, text, name).read();
  } catch (const std::bad_alloc&) {
    throw Error(name + ": out of memory");
  }
}

template <class T>
HostCsr<T> read_matrix_market(const std::string& path) {
  return parse_matrix_market<T>(read_text(path), display_name(path));
}

template <class T>
void write_matrix_market(std::ostream& out, const CsrView<T>& matrix, std::string_view comment) {
  out << "%%MatrixMarket matrix coordinate " << (is_complex<T> ? "complex" : "real") << " general\n";
  write_comment(out, comment);
  out << matrix.rows << ' ' << matrix.cols << ' ' << matrix.nnz << '\n';
  Writer writer(out);
  std::visit(
      [&](const auto* row_ptr) {
        for (std::int64_t row = 0; row < matrix.rows; ++row) {
          for (std::int64_t k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
            writer.number(row + 1, ' ');
            writer.number(std::int64_t{matrix.col_idx[k]} + 1, ' ');
            writer.value(matrix.values[k], '\n');
          }
        }
      },
      matrix.row_ptr);
  writer.flush();
  if (!out.flush()) throw Error("the matrix could not be written");
}

template HostCsr<float> parse_matrix_market(std::span<const char>, const std::string&);
template HostCsr<double> parse_matrix_market(std::span<const char>, const std::string&);
template HostCsr<std::complex<float>> parse_matrix_market(std::span<const char>, const std::string&);
template HostCsr<std::complex<double>> parse_matrix_market(std::span<const char>, const std::string&);

template HostCsr<float> read_matrix_market(const std::string&);
template HostCsr<double> read_matrix_market(const std::string&);
template HostCsr<std::complex<float>> read_matrix_market(const std::string&);
template HostCsr<std::complex<double>> read_matrix_market(const std::string&);

template void write_matrix_market(std::ostream&, const CsrView<float>&, std::string_view);
template void write_matrix_market(std::ostream&, const CsrView<double>&, std::string_view);
template void write_matrix_market(std::ostream&, const CsrView<std::complex<float>>&, std::string_view);
template void write_matrix_market(std::ostream&, const CsrView<std::complex<double>>&, std::string_view);

}  // namespace autospmv
