// One line of a Matrix Market file: its words, and what is wrong with it.
#pragma once

#include <charconv>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

#include "core/error.hpp"

namespace autospmv::matrix_market {

/// What is wrong with a line; whoever knows which line it is turns it into an Error by fail().
class BadLine : public Error {
 public:
  using Error::Error;
};

[[noreturn]] void fail(const std::string& name, std::int64_t line, const std::string& what);

/// A word as an error shows it: short and printable, whatever the file is.
std::string quoted(std::string_view word);

/// Whether a number that std::from_chars calls out of range is too small rather than too large.
bool is_tiny(std::string_view number);

inline bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

inline const char* line_end(const char* at, const char* last) {
  if (at == last) return last;
  const void* end = std::memchr(at, '\n', static_cast<std::size_t>(last - at));
  return end != nullptr ? static_cast<const char*>(end) : last;
}

inline const char* next_line(const char* end, const char* last) { return end == last ? last : end + 1; }

/// The words of one line, read from left to right.
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

}  // namespace autospmv::matrix_market
