// Columns of text, and numbers as they stand in them.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace autospmv::tools {

struct Column {
  std::string title;
  std::size_t width = 0;  ///< at least
  bool left = false;      ///< words stand left, numbers right
};

using Row = std::vector<std::string>;

/// Rows that are printed as they come: the widths are fixed, and what is longer moves the rest of its row.
class Table {
 public:
  Table(std::ostream& out, std::vector<Column> columns);

  void header();
  /// Of any text: see printable().
  void row(const Row& row);

 private:
  std::ostream& out_;
  std::vector<Column> columns_;
};

/// Header and rows that are all known: every column is as wide as its longest cell.
void print_table(std::ostream& out, std::vector<Column> columns, const std::vector<Row>& rows);

/// The same as a table in Markdown.
void print_markdown(std::ostream& out, std::vector<Column> columns, const std::vector<Row>& rows);

/// With this many decimals; "-" for what is not finite.
std::string fixed(double value, int decimals);

/// Four significant digits, without trailing zeros, for values of unknown size; "-" for what is not finite.
std::string brief(double value);

}  // namespace autospmv::tools
