#include "formats/columns/tjds/tjds.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "core/machine/on_backend.hpp"
#include "formats/columns/family.hpp"
#include "formats/columns/host.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"

namespace autospmv::formats::tjds {

namespace {

// block = 0: one block of all columns, which is TJDS itself.
constexpr std::int64_t whole = 0;

std::int64_t width_of(std::int64_t block, std::int64_t cols) {
  return block == whole ? std::max<std::int64_t>(1, cols) : block;
}

}  // namespace

namespace host {

namespace {

// The positions ordered by their key, which lies in [0, buckets), stably.
template <class Key>
std::vector<std::uint32_t> counting_sort(const std::vector<std::uint32_t>& positions, std::int64_t buckets,
                                         const Key& key_of) {
  std::vector<std::size_t> next(static_cast<std::size_t>(buckets) + 1);
  for (const auto position : positions) ++next[static_cast<std::size_t>(key_of(position)) + 1];
  std::partial_sum(next.begin(), next.end(), next.begin());
  std::vector<std::uint32_t> sorted(positions.size());
  for (const auto position : positions) sorted[next[static_cast<std::size_t>(key_of(position))]++] = position;
  return sorted;
}

// The entries of one column, from `first` on among those sorted by column.
struct Column {
  std::int32_t index;
  std::size_t first;
  std::size_t length;
};

// Makes one panel, block by block.
template <class T>
class PanelMaker {
 public:
  PanelMaker(const CsrView<T>& matrix, Share rows, std::int64_t width)
      : col_idx_(matrix.col_idx), width_(width), blocks_((matrix.cols + width - 1) / width) {
    with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
      base_ = static_cast<std::int64_t>(row_ptr[rows.first]);
      row_of_.resize(static_cast<std::size_t>(static_cast<std::int64_t>(row_ptr[rows.last]) - base_));
      for (auto row = rows.first; row < rows.last; ++row) {
        std::fill(row_of_.begin() + (row_ptr[row] - base_), row_of_.begin() + (row_ptr[row + 1] - base_),
                  static_cast<std::int32_t>(row));
      }
    });
  }

  Panel<T> make() {
    // By column within its block first, by block then: two short tables of counters instead of one of all columns.
    std::vector<std::uint32_t> entries(row_of_.size());
    std::iota(entries.begin(), entries.end(), 0U);
    entries = counting_sort(entries, width_, [&](std::uint32_t entry) { return column_of(entry) % width_; });
    entries_ = counting_sort(entries, blocks_, [&](std::uint32_t entry) { return column_of(entry) / width_; });
    rows_of_entries_.reserve(entries_.size());
    source_.reserve(entries_.size());
    for (std::size_t first = 0; first < entries_.size();) first = add_block(first);
    Panel<T> panel;
    panel.block_columns = Array<std::int64_t>::copy_of(block_columns_, Place{});
    panel.block_diagonals = Array<std::int64_t>::copy_of(block_diagonals_, Place{});
    panel.diagonals = Array<std::int64_t>::copy_of(diagonals_, Place{});
    panel.columns = Array<std::int32_t>::copy_of(columns_, Place{});
    panel.rows = Array<std::int32_t>::copy_of(rows_of_entries_, Place{});
    panel.source = Array<std::uint32_t>::copy_of(source_, Place{});
    panel.values = Array<T>(source_.size(), Place{});
    return panel;
  }

 private:
  [[nodiscard]] std::int32_t column_of(std::uint32_t entry) const { return col_idx_[base_ + entry]; }

  // The columns of the block whose entries begin at `first`, those of no entry left out; returns where it ends.
  std::size_t add_block(std::size_t first) {
    const auto block = column_of(entries_[first]) / width_;
    std::vector<Column> columns;
    std::size_t at = first;
    while (at < entries_.size() && column_of(entries_[at]) / width_ == block) {
      const auto column = column_of(entries_[at]);
      const auto begin = at;
      while (at < entries_.size() && column_of(entries_[at]) == column) ++at;
      columns.push_back({column, begin, at - begin});
    }
    std::stable_sort(columns.begin(), columns.end(),
                     [](const Column& a, const Column& b) { return a.length > b.length; });
    for (const auto& column : columns) columns_.push_back(column.index);
    for (std::size_t depth = 0; depth < columns.front().length; ++depth) add_diagonal(columns, depth);
    block_columns_.push_back(static_cast<std::int64_t>(columns_.size()));
    block_diagonals_.push_back(static_cast<std::int64_t>(diagonals_.size()) - 1);
    return at;
  }

  void add_diagonal(const std::vector<Column>& columns, std::size_t depth) {
    for (const auto& column : columns) {
      if (column.length <= depth) break;
      const auto entry = entries_[column.first + depth];
      rows_of_entries_.push_back(row_of_[entry]);
      source_.push_back(static_cast<std::uint32_t>(base_ + entry));
    }
    diagonals_.push_back(static_cast<std::int64_t>(source_.size()));
  }

  const std::int32_t* col_idx_;
  std::int64_t width_;
  std::int64_t blocks_;
  std::int64_t base_ = 0;               // of the panel's entries among the nonzeros
  std::vector<std::int32_t> row_of_;    // of each entry
  std::vector<std::uint32_t> entries_;  // in the order of their columns
  std::vector<std::int64_t> block_columns_{0};
  std::vector<std::int64_t> block_diagonals_{0};
  std::vector<std::int64_t> diagonals_{0};
  std::vector<std::int32_t> columns_;
  std::vector<std::int32_t> rows_of_entries_;
  std::vector<std::uint32_t> source_;
};

template <class T>
void add(const Panel<T>& panel, T alpha, const T* x, T* y) {
  for (std::int64_t block = 0; block < panel.blocks(); ++block) {
    const auto at = static_cast<std::size_t>(block);
    const std::int32_t* columns = panel.columns.data() + panel.block_columns[at];
    for (auto diagonal = panel.block_diagonals[at]; diagonal < panel.block_diagonals[at + 1]; ++diagonal) {
      const std::int64_t first = panel.diagonals[static_cast<std::size_t>(diagonal)];
      const std::int64_t length = panel.diagonals[static_cast<std::size_t>(diagonal) + 1] - first;
      const std::int32_t* rows = panel.rows.data() + first;
      const T* values = panel.values.data() + first;
      for (std::int64_t i = 0; i < length; ++i) y[rows[i]] += alpha * (values[i] * x[columns[i]]);
    }
  }
}

}  // namespace

}  // namespace host

template <class T>
void Panels<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (this->rows == 0) return;
  on_backend(
      place, [&] { this->add_on_host(beta, y, [&](const Panel<T>& panel) { host::add(panel, alpha, x, y); }); },
      [&] { device::multiply(this->panels.front(), alpha, x, beta, y, stream); });
}

namespace {

template <class T>
Panels<T> transpose(const CsrView<T>& matrix, std::int64_t width, const Device& device) {
  Panels<T> panels;
  panels.rows = matrix.rows;
  panels.nnz = matrix.nnz;
  if (matrix.rows == 0) return panels;
  on_backend(
      device,
      [&] {
        // Every panel stores the columns that it has anew: no more of them than keep the threads busy to the end.
        const int count = matrix.nnz < serial_below ? 1 : 2 * std::max(1, device.multiprocessors);
        panels.make_on_host(matrix, count, [&](Share rows) { return host::PanelMaker<T>(matrix, rows, width).make(); });
        panels.refresh(matrix, device, Stream{});
      },
      [&] {
        const auto stream = setup_stream(device);
        panels.panels.push_back(device::transpose(matrix, width, device, stream));
        synchronize(device, stream);
      });
  return panels;
}

template <class T>
double storage_bytes(double nnz, double columns, double diagonals, double blocks) {
  return nnz * (8 + sizeof(T)) + columns * 4 + diagonals * 8 + blocks * 16;
}

template <class T>
class Tjds final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "tjds",
        .version = 1,
        .summary = "transposed jagged diagonals in blocks of columns, added to y by atomics",
        .paper =
            "Abu-Sufah, Karim, \"An effective approach for implementing sparse matrix-vector multiplication on "
            "graphics processing units\", 2012; Montagne, Ekambaram, \"An optimal storage format for sparse "
            "matrices\", 2004",
        .offered = {},
        .deterministic = false};  // on CUDA, atomics add the products of a row in any order
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& device) const override {
    // Large blocks have longer diagonals; small ones make more of them, and keep the rows they write together.
    if (device.backend == Backend::host) return {{"block", {4096, 65536, whole}}};
    return {{"block", {1024, 256, 4096}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_nonzeros(features.nnz)) return *refusal;
    const auto nnz = static_cast<double>(features.nnz);
    const auto cols = static_cast<double>(features.cols);
    const double panels = device.backend == Backend::host ? 2.0 * device.multiprocessors : 1;
    const double columns = std::min(panels * columns_of_panel(features, panels), std::max(nnz, cols));
    const double blocks = std::ceil(cols / static_cast<double>(width_of(params["block"], features.cols)));
    // A column is cut into so many, one a panel, each of them that much shorter.
    const double cuts = std::max(1.0, columns / std::max(1.0, cols));
    const double parts = std::max(panels, blocks * cuts);
    const double diagonals = std::min(nnz, parts / cuts * longest_of_block(features) + longest_column(features));
    Cost cost;
    cost.storage_bytes = storage_bytes<T>(nnz, columns, diagonals, parts);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes = bytes_by_columns<T>(features, cost.storage_bytes, device);
    if (device.backend == Backend::cuda) {
      cost.imbalance = std::max(contention(features), idle_columns(features, device));
      cost.launches = 2;
    } else {
      // Every entry waits for the addition to y before it.
      cost.work = 2.3 * nnz + 1.1 * static_cast<double>(features.rows);
      cost.conversion = 6;
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_nonzeros(matrix.nnz)) return *refusal;
    const DeviceScope scope(device);
    // How long columns are is not known yet: at worst every entry has a diagonal of its own.
    const double bytes = storage_bytes<T>(static_cast<double>(matrix.nnz), static_cast<double>(matrix.cols), 0, 0);
    if (auto refusal = refuse_conversion(matrix, bytes, device)) return *refusal;
    return operator_of(transpose(matrix, width_of(params["block"], matrix.cols), device), device);
  }

 private:
  // A panel reaches as far as its rows, and the band beside them on both sides.
  static double columns_of_panel(const Features& features, double panels) {
    const auto band = static_cast<double>(features.lower_bandwidth + features.upper_bandwidth);
    return std::min(static_cast<double>(features.cols), static_cast<double>(features.rows) / panels + band);
  }

  // Columns are as long as rows where the pattern is symmetric; else the features do not tell. One block has the
  // longest of all, most have one that is merely long.
  static double longest_column(const Features& features) {
    return features.symmetric_pattern ? static_cast<double>(features.npr_max) : longest_of_block(features);
  }
  static double longest_of_block(const Features& features) {
    if (features.symmetric_pattern) return static_cast<double>(features.npr_percentile.back());
    return 2 * static_cast<double>(features.nnz) / std::max(1.0, static_cast<double>(features.cols));
  }

  // A thread a column: few columns cannot fill the device.
  static double idle_columns(const Features& features, const Device& device) {
    return std::max(1.0, 256.0 * device.multiprocessors / std::max(1.0, static_cast<double>(features.cols)));
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"block", {256, 1024, 4096, 16384, 65536, whole}}};
    return {{"block", {256, 512, 1024, 2048, 4096}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(Tjds);

}  // namespace autospmv::formats::tjds
