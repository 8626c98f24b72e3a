// What the first lines of a Matrix Market file say of the rest.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace autospmv::matrix_market {

enum class Layout : std::uint8_t { coordinate, array };
// No header that is read says complex or hermitian.
enum class Field : std::uint8_t { real, integer, complex, pattern };
enum class Symmetry : std::uint8_t { general, symmetric, skew, hermitian };

struct Header {
  Layout layout = Layout::coordinate;
  Field field = Field::real;
  Symmetry symmetry = Symmetry::general;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t entries = 0;  ///< stored ones, as promised
  const char* body = nullptr;
  std::int64_t lines = 0;  ///< before the body
};

/// Throws Error "NAME:LINE: what" for what is no header, or that of a matrix that cannot be read.
Header read_header(std::span<const char> text, const std::string& name);

}  // namespace autospmv::matrix_market
