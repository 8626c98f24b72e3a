#include "formats/csc/csc.hpp"
#include "formats/common/host_work.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "formats/common/nonzeros.hpp"
#include "formats/common/row_panels.hpp"
#include "formats/common/rules.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::csc {

namespace host {

namespace {

template <class T>
Panel<T> make_panel(const CsrView<T>& matrix, Share rows, const std::int32_t* row_of) {
  const auto first_of = [&](std::int64_t row) {
    return std::visit([&](const auto* row_ptr) { return static_cast<std::int64_t>(row_ptr[row]); }, matrix.row_ptr);
  };
  const auto source =
      formats::host::sort_by_column(matrix.col_idx, first_of(rows.first), first_of(rows.last), matrix.cols);
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
  panel.first_row = rows.first;
  panel.last_row = rows.last;
  panel.columns = Array<std::int32_t>::copy_of(columns, Place{});
  panel.col_ptr = Array<std::int64_t>::copy_of(col_ptr, Place{});
  panel.source = Array<std::uint32_t>::copy_of(source, Place{});
  panel.rows = Array<std::int32_t>(source.size(), Place{});
  for (std::size_t entry = 0; entry < source.size(); ++entry) panel.rows[entry] = row_of[source[entry]];
  panel.values = Array<T>(source.size(), Place{});
  return panel;
}

template <class T>
void multiply_panel(const Panel<T>& panel, T alpha, const T* x, T beta, T* y) {
  for (auto row = panel.first_row; row < panel.last_row; ++row) y[row] = beta == T{0} ? T{0} : beta * y[row];
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

template <class T>
std::vector<Panel<T>> transpose(const CsrView<T>& matrix, int panels) {
  Array<std::int32_t> row_of(static_cast<std::size_t>(matrix.nnz), Place{});
  formats::host::expand_rows(matrix.row_ptr, matrix.rows, row_of.data());
  return formats::host::make_panels<Panel<T>>(matrix, panels,
                                              [&](Share rows) { return make_panel(matrix, rows, row_of.data()); });
}

template <class T>
void refresh(const CsrView<T>& matrix, std::vector<Panel<T>>& panels) {
  formats::host::refresh_panels(matrix, panels);
}

template <class T>
void multiply(const std::vector<Panel<T>>& panels, std::int64_t work, T alpha, const T* x, T beta, T* y) {
  formats::host::for_each_part(work, panels.size(),
                               [&](std::size_t i) { multiply_panel(panels[i], alpha, x, beta, y); });
}

}  // namespace host

namespace {

// The conversion, on either backend, holds about this many bytes a nonzero beside what is stored in the end: rows, keys
// and nonzeros, as they are and sorted, and the scratch of the sort.
constexpr double conversion_bytes = 24;

template <class T>
double storage_bytes(double nnz, double columns, const Device& device) {
  return nnz * (8 + sizeof(T)) + columns * (device.backend == Backend::host ? 12 : 8);
}

template <class T>
class CscOperator final : public Operator<T> {
 public:
  CscOperator(const CsrView<T>& matrix, const Params& params, const Device& device)
      : rows_(matrix.rows),
        work_(matrix.nnz + matrix.rows),
        threads_(static_cast<int>(params.find("T").value_or(0))),
        block_(static_cast<int>(params.find("block").value_or(0))),
        place_(device) {
    if (rows_ == 0) return;
    const auto stream = setup_stream(device);
    if (device.backend == Backend::host) {
      panels_ = host::transpose(matrix, static_cast<int>(params["panels"]) * std::max(1, device.multiprocessors));
    } else {
      if constexpr (built_with_cuda) panels_.push_back(device::transpose(matrix, device, stream));
    }
    refresh(matrix, stream);
    synchronize(device, stream);
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if (rows_ == 0) return;
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) {
        device::multiply(panels_.front(), threads_, block_, alpha, x, beta, y, stream);
        return;
      }
    }
    host::multiply(panels_, work_, alpha, x, beta, y);
  }

  bool update_values(const CsrView<T>& matrix, Stream stream) override {
    refresh(matrix, stream);
    return true;
  }

  [[nodiscard]] std::int64_t bytes() const override {
    std::int64_t bytes = 0;
    for (const auto& panel : panels_) bytes += panel.bytes();
    return bytes;
  }

 private:
  void refresh(const CsrView<T>& matrix, [[maybe_unused]] Stream stream) {
    if (rows_ == 0) return;
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) return device::refresh(matrix, panels_.front(), stream);
    }
    host::refresh(matrix, panels_);
  }

  std::int64_t rows_;
  std::int64_t work_;
  int threads_;
  int block_;
  Place place_;
  std::vector<Panel<T>> panels_;
};

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
        .backends = {Backend::host, Backend::cuda},
        .deterministic = false,  // on CUDA, atomics add the products of a row in any order
        .baseline = false};
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

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse_csc_params(params, device)) return *refusal;
    if (auto refusal = refuse_size(features.nnz)) return *refusal;
    const auto nnz = static_cast<double>(features.nnz);
    Cost cost;
    cost.storage_bytes = storage_bytes<T>(nnz, stored_columns(features, params, device), device);
    if (auto refusal = refuse_storage(cost.storage_bytes, csr_bytes<T>(features.rows, features.nnz), device)) {
      return *refusal;
    }
    // The nonzeros' sources stay where they are; the scaling passes over y once more.
    cost.bytes =
        cost.storage_bytes - nnz * 4 + vector_bytes<T>(features) + 2 * static_cast<double>(features.rows) * sizeof(T);
    if (device.backend == Backend::cuda) {
      // An addition to y moves a sector of the cache, there and back, wherever its row is.
      constexpr double sector = 32;
      cost.bytes += nnz * sector;
      const auto threads = static_cast<double>(params["T"]);
      const double idle = std::max(1.0, threads / std::max(1.0, mean_length(features)));
      const double walk = longest_walk(features, longest_column(features) / threads, device);
      cost.imbalance = std::max(contention(features), idle * walk);
      cost.launches = 2;
    } else {
      // Columns one by one: an addition to y is about as much work as a multiplication, and rows have no ends.
      cost.work = 0.55 * nnz + 3.6 * static_cast<double>(features.rows);
      cost.conversion = 2.5;
    }
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse_csc_params(params, device)) return *refusal;
    if (auto refusal = refuse_size(matrix.nnz)) return *refusal;
    const DeviceScope scope(device);
    const auto nnz = static_cast<double>(matrix.nnz);
    const double bytes = storage_bytes<T>(nnz, static_cast<double>(matrix.cols), device);
    if (auto refusal = refuse_allocation(bytes, csr_bytes<T>(matrix.rows, matrix.nnz), device)) return *refusal;
    if (bytes + nnz * conversion_bytes > static_cast<double>(free_memory(device))) {
      return Refusal{"memory: " + megabytes(bytes + nnz * conversion_bytes) +
                     " for the conversion are more than is free"};
    }
    return std::unique_ptr<Operator<T>>(std::make_unique<CscOperator<T>>(matrix, params, device));
  }

 private:
  static std::optional<Refusal> refuse_size(std::int64_t nnz) {
    if (nnz <= std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
    return Refusal{"size: nonzeros are numbered in 32 bits"};
  }

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

  // Additions to one element of y wait for each other, about 1 ns each; everything else streams meanwhile.
  static double contention(const Features& features) {
    constexpr double streamed_meanwhile = 100;  // nonzeros
    return std::max(1.0, streamed_meanwhile * static_cast<double>(features.npr_max) /
                             std::max(1.0, static_cast<double>(features.nnz)));
  }

  static std::optional<Refusal> refuse_csc_params(const Params& params, const Device& device) {
    if (device.backend == Backend::host) return refuse_params(params, {{"panels", {1, 2, 4, 8, 16}}});
    return refuse_params(params, {{"T", {1, 2, 4, 8, 16, 32, 64, 128, 256}}, {"block", {64, 128, 256, 512}}});
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const Csc<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::csc
