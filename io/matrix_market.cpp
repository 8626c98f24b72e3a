#include "io/matrix_market.hpp"

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "io/archive.hpp"
#include "io/assemble.hpp"
#include "io/matrix_market/header.hpp"
#include "io/matrix_market/line.hpp"

namespace autospmv {

namespace matrix_market {

namespace {

// Below this many bytes a part is not worth a thread.
constexpr std::int64_t min_part_bytes = std::int64_t{1} << 16;

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
      if (row == col && header_.symmetry == Symmetry::skew && value != T{0}) {
        throw BadLine("the diagonal of a skew-symmetric matrix is zero");
      }
      entries_.rows[slot] = row;
      entries_.cols[slot] = col;
      entries_.values[slot] = value;
    } else {
      entries_.values[slot] = read_value(line);
    }
    line.end();
  }

  T read_value(Line& line) const {
    if (header_.field == Field::pattern) return T{1};
    if (header_.field == Field::integer) return static_cast<T>(line.number<std::int64_t>("value"));
    return line.number<T>("value");
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
        entries_.rows[k] = static_cast<std::int32_t>(row);
        entries_.cols[k] = static_cast<std::int32_t>(col);
        if (++row < header_.rows) continue;
        ++col;
        row = header_.symmetry == Symmetry::general ? 0 : col + below;
      }
    }
  }

  [[nodiscard]] T mirrored(T value) const { return header_.symmetry == Symmetry::skew ? -value : value; }

  const Header& header_;
  const std::string& name_;
  const char* last_;
  std::vector<Part> parts_;
  std::int64_t lines_;  // of the file
  Entries<T> entries_;
};

}  // namespace

}  // namespace matrix_market

template <class T>
HostCsr<T> parse_matrix_market(std::span<const char> text, const std::string& name) {
  try {
    const auto header = matrix_market::read_header(text, name);
    return matrix_market::BodyReader<T>(header, text, name).read();
  } catch (const std::bad_alloc&) {
    throw Error(name + ": out of memory");
  }
}

template <class T>
HostCsr<T> read_matrix_market(const std::string& path) {
  return parse_matrix_market<T>(read_text(path), display_name(path));
}

template HostCsr<float> parse_matrix_market(std::span<const char>, const std::string&);
template HostCsr<double> parse_matrix_market(std::span<const char>, const std::string&);

template HostCsr<float> read_matrix_market(const std::string&);
template HostCsr<double> read_matrix_market(const std::string&);

}  // namespace autospmv
