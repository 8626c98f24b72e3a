#include "formats/csr/csr_padded/csr_padded.hpp"

#include <algorithm>
#include <cmath>

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "core/machine/simd.hpp"
#include "formats/common/host/pack.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/common/row_length.hpp"

namespace autospmv::formats::csr_padded {

namespace host {

namespace {

// Slots that are taken together; every row is a multiple of them.
constexpr int group = 16;

template <class T>
struct RowSum {
  using Vector = typename Pack<T>::Vector;
  Vector even = {};
  Vector odd = {};

  template <class Element>
  AUTOSPMV_INLINE void add(const T* values, const Element& element) {
    constexpr int size = Pack<T>::size;
    for (int i = 0; i < group; i += 2 * size) {
      add_product(even, values + i, [&](int k) AUTOSPMV_INLINE_LAMBDA { return element(i + k); });
      add_product(odd, values + i + size, [&](int k) AUTOSPMV_INLINE_LAMBDA { return element(i + size + k); });
    }
  }

  [[nodiscard]] AUTOSPMV_INLINE T total() const {
    const Vector both = even + odd;
    T sum = 0;
    for (int i = 0; i < Pack<T>::size; ++i) sum += both[i];
    return sum;
  }

 private:
  template <class Element>
  static AUTOSPMV_INLINE void add_product(Vector& sum, const T* values, const Element& element) {
    Pack<T> value;
    Pack<T> factor;
    value.load(values);
    factor.fill(element);
    sum += value.elements * factor.elements;
  }
};

// Ends of rows are no branches: in the last unit of a row, padding reads an element of x that is there and drops it.
template <class T>
AUTOSPMV_INLINE void multiply_rows(const PaddedCsr<T>& padded, Share rows, T alpha, const T* x, T beta, T* y) {
  const std::int32_t* columns = padded.columns.data();
  const T* values = padded.values.data();
  std::int64_t slot = static_cast<std::int64_t>(padded.units[static_cast<std::size_t>(rows.first)]) * padded.pad;
  for (auto row = rows.first; row < rows.last; ++row) {
    const auto last = static_cast<std::int64_t>(padded.units[static_cast<std::size_t>(row) + 1]) * padded.pad;
    RowSum<T> sum;
    for (; slot < last - padded.pad; slot += group) {
      sum.add(values + slot, [&](int i) AUTOSPMV_INLINE_LAMBDA { return x[columns[slot + i]]; });
    }
    for (; slot < last; slot += group) {
      sum.add(values + slot, [&](int i) AUTOSPMV_INLINE_LAMBDA {
        const auto column = columns[slot + i];
        const T element = x[std::max(column, 0)];
        return column >= 0 ? element : T{0};
      });
    }
    y[row] = beta == T{0} ? alpha * sum.total() : alpha * sum.total() + beta * y[row];
  }
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_ROWS(T)                                                                                              \
  AUTOSPMV_MULTIVERSION_SCALAR void rows_version(const PaddedCsr<T>& padded, Share rows, T alpha, const T* x, T beta, \
                                                 T* y) {                                                              \
    multiply_rows(padded, rows, alpha, x, beta, y);                                                                   \
  }
AUTOSPMV_ROWS(float)
AUTOSPMV_ROWS(double)
#undef AUTOSPMV_ROWS

}  // namespace

template <class T>
std::int64_t count_units(const CsrView<T>& matrix, PaddedCsr<T>& padded) {
  padded.units = Array<std::int32_t>(static_cast<std::size_t>(matrix.rows) + 1, Place{});
  std::int64_t units = 0;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      padded.units[static_cast<std::size_t>(row)] = static_cast<std::int32_t>(units);
      units += (row_length(row_ptr, row) + padded.pad - 1) / padded.pad;
    }
  });
  padded.units[static_cast<std::size_t>(matrix.rows)] = static_cast<std::int32_t>(units);
  return units;
}

template <class T>
void fill(const CsrView<T>& matrix, PaddedCsr<T>& padded) {
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for_each_share(row_ptr, matrix.rows, [&](Share rows) {
      for (auto row = rows.first; row < rows.last; ++row) {
        const auto first = static_cast<std::int64_t>(padded.units[static_cast<std::size_t>(row)]) * padded.pad;
        const auto last = static_cast<std::int64_t>(padded.units[static_cast<std::size_t>(row) + 1]) * padded.pad;
        const auto end =
            std::copy(matrix.col_idx + row_ptr[row], matrix.col_idx + row_ptr[row + 1], padded.columns.data() + first);
        std::fill(end, padded.columns.data() + last, -1);
        const auto end_of_values =
            std::copy(matrix.values + row_ptr[row], matrix.values + row_ptr[row + 1], padded.values.data() + first);
        std::fill(end_of_values, padded.values.data() + last, T{0});
      }
    });
  });
}

template <class T>
void multiply(const PaddedCsr<T>& padded, T alpha, const T* x, T beta, T* y) {
  for_each_share(
      padded.units.data(), padded.rows, [&](Share rows) { rows_version(padded, rows, alpha, x, beta, y); }, padded.pad);
}

}  // namespace host

template <class T>
void PaddedCsr<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  on_backend(
      place, [&] { host::multiply(*this, alpha, x, beta, y); },
      [&] { device::multiply(*this, shape, alpha, x, beta, y, stream); });
}

template <class T>
bool PaddedCsr<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  on_backend(
      place, [&] { host::fill(matrix, *this); }, [&] { device::fill(matrix, *this, stream); });
  return true;
}

namespace {

template <class T>
double padded_bytes(std::int64_t rows, double slots) {
  return 4 * (static_cast<double>(rows) + 1) + slots * (4 + sizeof(T));
}

// The mean of what rows of `from` to `to` nonzeros lack to a multiple of `pad`; it repeats every `pad` of them.
double mean_padding(std::int64_t from, std::int64_t to, std::int64_t pad) {
  to = std::min(to, from + pad - 1);
  double padding = 0;
  for (auto length = from; length <= to; ++length) padding += static_cast<double>((pad - length % pad) % pad);
  return padding / static_cast<double>(to - from + 1);
}

// The rows between two percentiles of npr are about equally many of every length between the two.
double slots_of(const Features& features, std::int64_t pad) {
  double padding = 0;
  std::int64_t from = features.npr_min;
  int from_percent = 0;
  const auto add = [&](std::int64_t to, int percent) {
    padding += mean_padding(from, to, pad) * (percent - from_percent) / 100;
    from = to;
    from_percent = percent;
  };
  for (std::size_t i = 0; i < npr_percentiles.size(); ++i) add(features.npr_percentile[i], npr_percentiles[i]);
  add(features.npr_max, 100);
  return static_cast<double>(features.nnz) + padding * static_cast<double>(features.rows);
}

template <class T>
class CsrPadded final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr_padded",
        .version = 1,
        .summary = "CSR, rows padded to a multiple of 16, T threads a row",
        .paper =
            "Baskaran, Bordawekar, \"Optimizing sparse matrix-vector multiplication on GPUs\", 2009: SpMV4GPU, with "
            "T = 16 and load = 1"};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    if (device.backend == Backend::host) return {{"pad", {16}}};
    const std::vector<std::int64_t> pads = features.npr_mean < 32 ? Values{16} : Values{16, 32};
    // Four loads of four slots a thread, and the paper's half warp.
    const auto threads = std::max<std::int64_t>(4, power_of_two_above(features.npr_mean / 16, 32));
    return {
        {"pad", pads}, {"load", {4, 1}}, {"T", threads == 16 ? Values{16, 8} : Values{threads, 16}}, {"block", {256}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_size(features.rows, features.nnz, params)) return *refusal;
    const double slots = slots_of(features, params["pad"]);
    Cost cost;
    cost.storage_bytes = padded_bytes<T>(features.rows, slots);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes = cost.storage_bytes + vector_bytes<T>(features);
    if (device.backend == Backend::cuda && slots > 0) {
      // One load brings so many columns and values, but not the elements of x.
      const double at_once = std::sqrt(static_cast<double>(params["load"]));
      cost.walk = walk_of_rows(features, static_cast<double>(params["T"]), false, at_once);
    }
    if (device.backend == Backend::host) cost.work = work_of_rows(features, {.entry = 0.08, .row = 3.7});
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_size(matrix.rows, matrix.nnz, params)) return *refusal;
    const DeviceScope scope(device);
    PaddedCsr<T> padded;
    padded.rows = matrix.rows;
    padded.cols = matrix.cols;
    padded.pad = static_cast<int>(params["pad"]);
    padded.shape = shape_of(params);
    const auto units = on_backend(
        device, [&] { return host::count_units(matrix, padded); },
        [&] { return device::count_units(matrix, padded, device, setup_stream(device)); });
    const auto slots = units * padded.pad;
    const double bytes = padded_bytes<T>(matrix.rows, static_cast<double>(slots));
    if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
    padded.columns = Array<std::int32_t>(static_cast<std::size_t>(slots), device);
    padded.values = Array<T>(static_cast<std::size_t>(slots), device);
    padded.refresh(matrix, device, setup_stream(device));
    synchronize(device, setup_stream(device));
    return operator_of(std::move(padded), device);
  }

 private:
  using Values = std::vector<std::int64_t>;

  static Shape shape_of(const Params& params) {
    Shape shape;
    shape.threads = static_cast<int>(params.find("T").value_or(shape.threads));
    shape.load = static_cast<int>(params.find("load").value_or(shape.load));
    shape.block = static_cast<int>(params.find("block").value_or(shape.block));
    return shape;
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    std::vector<Allowed> all{{"pad", {16, 32}}};
    if (device.backend == Backend::cuda) {
      all.push_back({"load", {1, 4}});
      all.push_back({"T", {4, 8, 16, 32}});
      all.push_back({"block", {128, 256, 512}});
    }
    return all;
  }

  static std::optional<Refusal> refuse_size(std::int64_t rows, std::int64_t nnz, const Params& params) {
    // No more units than this, whatever the rows.
    if (nnz / params["pad"] + rows > max_narrow_nnz) return Refusal{"size: 32 bits may not count the units of rows"};
    return std::nullopt;
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrPadded);

}  // namespace autospmv::formats::csr_padded
