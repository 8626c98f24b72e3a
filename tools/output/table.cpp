#include "tools/output/table.hpp"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <ostream>
#include <sstream>
#include <utility>

#include "core/printable.hpp"

namespace autospmv::tools {

namespace {

// A label or a reason may come from any file.
Row printable_cells(const Row& cells) {
  Row shown;
  shown.reserve(cells.size());
  for (const auto& cell : cells) shown.push_back(printable(cell));
  return shown;
}

}  // namespace

Table::Table(std::ostream& out, std::vector<Column> columns) : out_(out), columns_(std::move(columns)) {
  for (auto& column : columns_) column.width = std::max(column.width, column.title.size());
}

void Table::header() {
  Row titles;
  for (const auto& column : columns_) titles.push_back(column.title);
  row(titles);
}

void Table::row(const Row& row) {
  const auto cells = printable_cells(row);
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto padding = std::string(columns_[i].width - std::min(columns_[i].width, cells[i].size()), ' ');
    if (i > 0) line += "  ";
    line += columns_[i].left ? cells[i] + padding : padding + cells[i];
  }
  line.erase(line.find_last_not_of(' ') + 1);
  out_ << line << std::endl;
}

void print_table(std::ostream& out, std::vector<Column> columns, const std::vector<Row>& rows) {
  for (const auto& row : rows) {
    const auto cells = printable_cells(row);
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].width = std::max(columns[i].width, cells[i].size());
  }
  Table table(out, std::move(columns));
  table.header();
  for (const auto& cells : rows) table.row(cells);
}

// By value as print_table() takes them: callers choose between the two.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
void print_markdown(std::ostream& out, std::vector<Column> columns, const std::vector<Row>& rows) {
  const auto line = [&](const auto& cells, const auto& text) {
    for (const auto& cell : cells) out << "| " << text(cell) << ' ';
    out << "|\n";
  };
  line(columns, [](const Column& column) { return column.title; });
  for (const auto& column : columns) out << (column.left ? "|---" : "|--:");
  out << "|\n";
  for (const auto& cells : rows) line(cells, [](const std::string& cell) { return cell; });
}

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  std::ostringstream text;
  text << std::fixed << std::setprecision(decimals) << value;
  return text.str();
}

std::string brief(double value) {
  if (!std::isfinite(value)) return "-";
  std::ostringstream text;
  text << std::setprecision(4) << value;
  return text.str();
}

}  // namespace autospmv::tools
