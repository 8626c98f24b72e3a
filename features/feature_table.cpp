#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "features/features.hpp"
#include "features/recorded.hpp"

namespace autospmv {

namespace {

constexpr std::string_view bin_prefix = "npr_bin_";

/// How one feature is read as a number, and set from one.
struct Access {
  double (*read)(const Features&);
  void (*write)(Features&, double);
};

/// Integers as far as double tells them apart; records hold no others.
template <class Number>
void set(Number& target, double value) {
  if constexpr (std::is_same_v<Number, bool>) {
    target = value != 0;
  } else if constexpr (std::is_integral_v<Number>) {
    target = static_cast<Number>(std::llround(value));
  } else {
    target = value;
  }
}

template <auto Member>
constexpr Access field{.read = [](const Features& features) { return static_cast<double>(features.*Member); },
                       .write = [](Features& features, double value) { set(features.*Member, value); }};

template <auto Member, std::size_t I>
constexpr Access element{.read = [](const Features& features) { return static_cast<double>((features.*Member)[I]); },
                         .write = [](Features& features, double value) { set((features.*Member)[I], value); }};

/// One access for every element of an array member.
template <auto Member, std::size_t... I>
std::vector<Access> elements(std::index_sequence<I...> /*indices*/) {
  return {element<Member, I>...};
}

/// The table and the text that its string views refer to.
class Table {
 public:
  Table() {
    add_size();
    add_npr();
    add_positions();
    add_fill();
    add_values();
    for (const auto& row : rows_) {
      infos_.push_back({row.name, row.unit, row.meaning, row.access.read});
      writes_.emplace(row.name, row.access.write);
    }
  }
  [[nodiscard]] std::span<const FeatureInfo> infos() const { return infos_; }
  [[nodiscard]] const auto& writes() const { return writes_; }

 private:
  struct Row {
    std::string name;
    std::string unit;
    std::string meaning;
    Access access;
  };

  void add(std::string name, std::string unit, std::string meaning, Access access) {
    rows_.push_back({std::move(name), std::move(unit), std::move(meaning), access});
  }

  void add_size() {
    add("rows", "rows", "rows of the matrix", field<&Features::rows>);
    add("cols", "columns", "columns of the matrix", field<&Features::cols>);
    add("nnz", "nonzeros", "stored nonzeros, repeated ones each counted", field<&Features::nnz>);
  }

  void add_npr() {
    add("npr_mean", "nonzeros", "mean nonzeros per row", field<&Features::npr_mean>);
    add("npr_variance", "nonzeros^2", "population variance of the nonzeros per row", field<&Features::npr_variance>);
    add("npr_min", "nonzeros", "nonzeros of the shortest row", field<&Features::npr_min>);
    add("npr_max", "nonzeros", "nonzeros of the longest row", field<&Features::npr_max>);
    const auto percentiles = elements<&Features::npr_percentile>(std::make_index_sequence<npr_percentiles.size()>());
    for (std::size_t i = 0; i < npr_percentiles.size(); ++i) {
      const auto percent = std::to_string(npr_percentiles[i]);
      add("npr_p" + percent, "nonzeros", "at least " + percent + " % of the rows have at most this many nonzeros",
          percentiles[i]);
    }
    const auto bins = elements<&Features::npr_histogram>(std::make_index_sequence<npr_bins>());
    for (std::size_t b = 0; b < bins.size(); ++b) {
      add(std::string(bin_prefix) + std::to_string(b), "rows", bin_meaning(static_cast<int>(b)), bins[b]);
    }
    add("empty_rows", "rows", "rows without nonzeros", field<&Features::empty_rows>);
  }

  static std::string bin_meaning(int bin) {
    if (bin == 0) return "rows without nonzeros";
    const auto from = std::to_string(std::int64_t{1} << (bin - 1));
    if (bin == npr_bins - 1) return "rows of " + from + " nonzeros and more";
    return "rows of " + from + " to " + std::to_string((std::int64_t{1} << bin) - 1) + " nonzeros";
  }

  void add_positions() {
    add("diagonals", "diagonals",
        "diagonals that hold a nonzero; " + std::to_string(diagonals_cap + 1) + " means more than " +
            std::to_string(diagonals_cap),
        field<&Features::diagonals>);
    add("lower_bandwidth", "columns", "largest row - column of a nonzero, at least 0",
        field<&Features::lower_bandwidth>);
    add("upper_bandwidth", "columns", "largest column - row of a nonzero, at least 0",
        field<&Features::upper_bandwidth>);
    add("symmetric_pattern", "", "1 where (i, j) is stored as often as (j, i)", field<&Features::symmetric_pattern>);
    add("sorted_columns", "", "1 where the columns of every row strictly increase", field<&Features::sorted_columns>);
    add("slice_span_mean", "columns", "mean over slices of 32 rows of their largest column - smallest column",
        field<&Features::slice_span_mean>);
    add("slice_span_max", "columns", "longest of these spans", field<&Features::slice_span_max>);
    add("slice_diagonals_mean", "diagonals",
        "mean over slices of 32 rows of the diagonals they meet; more than " + std::to_string(slice_diagonals_cap) +
            " count as one more",
        field<&Features::slice_diagonals_mean>);
  }

  void add_fill() {
    const auto fills = elements<&Features::block_fill>(std::make_index_sequence<block_sizes.size()>());
    for (std::size_t i = 0; i < block_sizes.size(); ++i) {
      const auto b = std::to_string(block_sizes[i]);
      add("block_fill_" + b, "ratio",
          "nonzeros over the elements of the aligned square blocks of " + b + " rows with any", fills[i]);
    }
    add("sampled", "", "1 where block_fill and slice_diagonals_mean were read from a sample of the rows",
        field<&Features::sampled>);
    add("ell_padding", "ratio", "slots over nonzeros with every row padded to the longest",
        field<&Features::ell_padding>);
    const auto paddings = elements<&Features::sliced_ell_padding>(std::make_index_sequence<slice_sizes.size()>());
    for (std::size_t i = 0; i < slice_sizes.size(); ++i) {
      const auto c = std::to_string(slice_sizes[i]);
      add("sliced_ell_padding_" + c, "ratio",
          "slots over nonzeros with every row padded to the longest of its slice of " + c + " rows", paddings[i]);
    }
  }

  void add_values() {
    add("values_all_equal", "", "1 where all values have one bit pattern", field<&Features::values_all_equal>);
    add("distinct_values", "values",
        "bit patterns among the values; " + std::to_string(distinct_values_cap + 1) + " means more than " +
            std::to_string(distinct_values_cap),
        field<&Features::distinct_values>);
    add("values_exact_in_float", "", "1 where every value survives double -> float -> double bit for bit",
        field<&Features::values_exact_in_float>);
  }

  std::vector<Row> rows_;
  std::vector<FeatureInfo> infos_;
  std::map<std::string_view, void (*)(Features&, double)> writes_;
};

// Never destroyed: contexts may be as static as it is, and use it in the background until they end.
const Table& table() {
  static const auto& instance = *new Table;
  return instance;
}

constexpr std::int64_t most_rows = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t most_nnz = std::int64_t{1} << 40;  // that fit into any memory

template <class Number>
bool is_within(Number value, std::type_identity_t<Number> least, std::type_identity_t<Number> most) {
  return value >= least && value <= most;
}

// But for what rounding does to a quotient.
bool is_ratio(double value, double part, double whole) { return std::abs(value * whole - part) <= 1e-6 * part; }

bool is_possible_npr(const Features& f) {
  const auto nnz = static_cast<double>(f.nnz);
  const auto longest = static_cast<double>(f.npr_max);
  const auto& percentiles = f.npr_percentile;
  const auto& bins = f.npr_histogram;
  std::int64_t rows = 0;
  for (const auto count : bins) {
    if (!is_within(count, 0, f.rows)) return false;
    rows += count;
  }
  return rows == f.rows && f.empty_rows == bins.front() && is_within(f.npr_min, 0, f.npr_max) &&
         is_within(f.npr_max, f.nnz > 0 ? 1 : 0, f.nnz) && is_ratio(f.npr_mean, nnz, static_cast<double>(f.rows)) &&
         is_within(f.npr_variance, 0, longest * longest) && is_within(percentiles.front(), f.npr_min, f.npr_max) &&
         is_within(percentiles.back(), f.npr_min, f.npr_max) &&
         std::is_sorted(percentiles.begin(), percentiles.end()) &&
         is_ratio(f.ell_padding, static_cast<double>(f.rows) * longest, nnz);
}

bool is_possible_positions(const Features& f) {
  const auto most_padding = f.ell_padding * slice_sizes.back();
  const bool any = f.nnz > 0;
  return is_within(f.diagonals, any ? 1 : 0, diagonals_cap + 1) &&
         is_within(f.lower_bandwidth, 0, std::max<std::int64_t>(0, f.rows - 1)) &&
         is_within(f.upper_bandwidth, 0, std::max<std::int64_t>(0, f.cols - 1)) &&
         is_within(f.slice_span_max, 0, std::max<std::int64_t>(0, f.cols - 1)) &&
         is_within(f.slice_span_mean, 0, static_cast<double>(f.slice_span_max)) &&
         is_within(f.slice_diagonals_mean, 0, double{slice_diagonals_cap + 1}) &&
         std::all_of(f.sliced_ell_padding.begin(), f.sliced_ell_padding.end(),
                     [&](double padding) { return is_within(padding, any ? 1 : 0, most_padding); }) &&
         std::equal(f.block_fill.begin(), f.block_fill.end(), block_sizes.begin(), [&](double fill, int size) {
           return is_within(fill, any ? 0.999 / (size * size) : 0, static_cast<double>(f.nnz));
         });
}

// Whether some matrix may have them: what divides by a number of rows, or counts slots, can rely on it.
bool is_possible(const Features& f) {
  return is_within(f.rows, 0, most_rows) && is_within(f.cols, 0, most_rows) &&
         is_within(f.nnz, 0, f.rows > 0 && f.cols > 0 ? most_nnz : 0) && is_possible_npr(f) &&
         is_possible_positions(f) && is_within(f.distinct_values, f.nnz > 0 ? 1 : 0, distinct_values_cap + 1);
}

}  // namespace

std::span<const FeatureInfo> feature_table() { return table().infos(); }

namespace {

// Most bins of most matrices hold no rows. What others hold tells whether one is missing: all of them hold all rows.
bool is_bin(std::string_view name) { return name.starts_with(bin_prefix); }

}  // namespace

std::vector<std::pair<std::string, double>> record_of(const Features& features) {
  std::vector<std::pair<std::string, double>> record;
  record.reserve(feature_table().size());
  for (const auto& feature : feature_table()) {
    const double value = feature.read(features);
    if (value != 0 || !is_bin(feature.name)) record.emplace_back(feature.name, value);
  }
  return record;
}

std::optional<Features> features_of_record(std::span<const std::pair<std::string, double>> record) {
  Features features;
  std::size_t known = 0;
  for (const auto& [name, value] : record) {
    const auto write = table().writes().find(name);
    if (write == table().writes().end() || !(std::abs(value) <= largest_recorded)) continue;
    write->second(features, value);
    known += is_bin(name) ? 0 : 1;
  }
  if (known + npr_bins < table().writes().size() || !is_possible(features)) return std::nullopt;
  return features;
}

}  // namespace autospmv
