#include "formats/columns/csc/csc.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/machine/on_backend.hpp"
#include "core/matrix/nonzeros.hpp"
#include "formats/columns/family.hpp"
#include "formats/columns/host.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"

namespace autospmv::formats::csc {

namespace host {

namespace {

template <class T>
Panel<T> make_panel(const CsrView<T>& matrix, Share rows, const std::int32_t* row_of) {
  const auto first_of = [&](std::int64_t row) {
    return with_offsets(matrix.row_ptr, [&](const auto* row_ptr) { return static_cast<std::int64_t>(row_ptr[row]); });
  };
  const auto source = sort_by_column(matrix.col_idx, first_of(rows.first), first_of(rows.last), matrix.cols);
  std::vector<std::int32_t> columns;
  std::vector<std::int64_t> col_ptr;
  for (std::size_t entry = 0; entry < source.size(); ++entry) {
    const auto column = matrix.col_idx[source[entry]];
    if (!columns.empty() && columns.back() == column) continue;
    columns.push_back(column);
    col_ptr.push_back(static_cast<std::int64_t>(entry));
  }
  col_ptr.push_back(static_cast<std::int64_t>(source.size()));
  Panel<T> panel;
  panel.columns = Array<std::int32_t>::copy_of(columns, Place{});
  panel.col_ptr = Array<std::int64_t>::copy_of(col_ptr, Place{});
  panel.source = Array<std::uint32_t>::copy_of(source, Place{});
  panel.rows = Array<std::int32_t>(source.size(), Place{});
  for (std::size_t entry = 0; entry < source.size(); ++entry) panel.rows[entry] = row_of[source[entry]];
  panel.values = Array<T>(source.size(), Place{});
  return panel;
}

template <class T>
void add(const Panel<T>& panel, T alpha, const T* x, T* y) {
  const std::int32_t* rows = panel.rows.data();
  const T* values = panel.values.data();
  for (std::size_t i = 0; i < panel.columns.size(); ++i) {
    const T element = x[panel.columns[i]];
    for (auto entry = panel.col_ptr[i]; entry < panel.col_ptr[i + 1]; ++entry) {
      y[rows[entry]] += alpha * (values[entry] * element);
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
      [&] { device::multiply(this->panels.front(), threads, block, alpha, x, beta, y, stream); });
}

namespace {

template <class T>
Panels<T> transpose(const CsrView<T>& matrix, const Params& params, const Device& device) {
  Panels<T> panels;
  panels.rows = matrix.rows;
  panels.nnz = matrix.nnz;
  if (matrix.rows == 0) return panels;
  const auto stream = setup_stream(device);
  on_backend(
      device,
      [&] {
        Array<std::int32_t> row_of(static_cast<std::size_t>(matrix.nnz), Place{});
        expand_rows(matrix.row_ptr, matrix.rows, matrix.nnz, row_of.data());
        panels.make_on_host(matrix, static_cast<int>(params["panels"]) * std::max(1, device.multiprocessors),
                            [&](Share rows) { return host::make_panel(matrix, rows, row_of.data()); });
      },
      [&] {
        panels.threads = static_cast<int>(params["T"]);
        panels.block = static_cast<int>(params["block"]);
        panels.panels.push_back(device::transpose(matrix, device, stream));
      });
  panels.refresh(matrix, device, stream);
  synchronize(device, stream);
  return panels;
}

template <class T>
double storage_bytes(double nnz, double columns, const Device& device) {
  return nnz * (8 + sizeof(T)) + columns * (device.backend == Backend::host ? 12 : 8);
}

template <class T>
class Csc final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csc",
        .version = 1,
        .summary = "compressed sparse columns, added to y by atomics",
        .paper =
            "Filippone, Cardellini, Barbieri, Fanfarillo, \"Sparse matrix-vector multiplication on GPGPUs\", 2017, "
            "2.3",
        .offered = {},
        .deterministic = false};  // on CUDA, atomics add the products of a row in any order
    return info;
  }

  [[nodiscard]] bool deterministic(const Params& /*params*/, const Device& device) const override {
    return device.backend == Backend::host;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    // A panel more costs a table of columns; many of them keep y in the nearest cache.
    if (device.backend == Backend::host) return {{"panels", {2, 1, 8}}};
    const double length = mean_length(features);
    const auto middle = power_of_two_above(length / 2, 128);
    std::vector<std::int64_t> threads{middle, middle * 2};
    if (middle > 1) threads.push_back(middle / 2);
    return {{"T", threads}, {"block", {256, 128}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_nonzeros(features.nnz)) return *refusal;
    const auto nnz = static_cast<double>(features.nnz);
    Cost cost;
    cost.storage_bytes = storage_bytes<T>(nnz, stored_columns(features, params, device), device);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes = bytes_by_columns<T>(features, cost.storage_bytes, device);
    if (device.backend == Backend::cuda) {
      const auto threads = static_cast<double>(params["T"]);
      const double idle = std::max(1.0, threads / std::max(1.0, mean_length(features)));
      const double walk = longest_walk(features, longest_column(features) / threads, device);
      cost.imbalance = std::max(contention(features), idle * walk);
      cost.launches = 2;
    } else {
      // Columns one by one: an addition to y is about as much work as a multiplication, and rows have no ends.
      cost.work = 0.42 * nnz + 3.6 * static_cast<double>(features.rows);
      cost.conversion = 4;
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_nonzeros(matrix.nnz)) return *refusal;
    const DeviceScope scope(device);
    const double bytes = storage_bytes<T>(static_cast<double>(matrix.nnz), static_cast<double>(matrix.cols), device);
    if (auto refusal = refuse_conversion(matrix, bytes, device)) return *refusal;
    return operator_of(transpose(matrix, params, device), device);
  }

 private:
  static double mean_length(const Features& features) {
    return static_cast<double>(features.nnz) / std::max(1.0, static_cast<double>(features.cols));
  }

  // Columns are as long as rows where the pattern is symmetric; else the features do not tell.
  static double longest_column(const Features& features) {
    return features.symmetric_pattern ? static_cast<double>(features.npr_max) : 2 * mean_length(features);
  }

  // Host: a panel reaches as far as its rows, and the band beside them on both sides, but has no more columns than
  // entries.
  static double stored_columns(const Features& features, const Params& params, const Device& device) {
    const auto cols = static_cast<double>(features.cols);
    if (device.backend == Backend::cuda) return cols;
    const double panels = static_cast<double>(params["panels"]) * std::max(1, device.multiprocessors);
    const auto band = static_cast<double>(features.lower_bandwidth + features.upper_bandwidth);
    const double reach = std::min(cols, static_cast<double>(features.rows) / panels + band);
    // Of so many columns, entries at random leave this share without any.
    const double entries = static_cast<double>(features.nnz) / panels;
    const double missed = reach > 0 ? std::exp(-entries / reach) : 0;
    return panels * reach * (1 - missed);
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"panels", {1, 2, 4, 8, 16}}};
    return {{"T", {1, 2, 4, 8, 16, 32, 64, 128, 256}}, {"block", {64, 128, 256, 512}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(Csc);

}  // namespace autospmv::formats::csc
