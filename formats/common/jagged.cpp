#include "formats/common/jagged.hpp"
#include "formats/common/host_work.hpp"

#include <algorithm>
#include <string>

#include "core/parallel.hpp"
#include "core/simd.hpp"
#include "formats/common/jagged_steps.hpp"
#include "formats/common/rules.hpp"
#include "formats/common/sliced_steps.hpp"
#include "formats/common/walks.hpp"

namespace autospmv::formats {

namespace host {

namespace {

// Positions whose sums are kept while the diagonals go by.
constexpr std::int64_t strip = 128;

// Positions [first, last), at most a strip of them: diagonal by diagonal, as far as each of them reaches.
template <class T, class Values>
AUTOSPMV_INLINE void multiply_strip(const JaggedMatrix<T>& jagged, Values values, std::int64_t first, std::int64_t last,
                                    T alpha, const T* x, T beta, T* y) {
  values.open();
  T sum[strip] = {};
  const std::int32_t* columns = jagged.columns.full.data();
  auto reach = last;
  for (std::size_t diagonal = 0; diagonal < jagged.starts.size(); ++diagonal) {
    // Lengths decrease, so ever fewer positions take part.
    while (reach > first &&
           jagged.lengths[static_cast<std::size_t>(reach) - 1] <= static_cast<std::int64_t>(diagonal)) {
      --reach;
    }
    if (reach == first) break;
    const auto start = jagged.starts[diagonal];
    for (auto p = first; p < reach; ++p) sum[p - first] += values.at(start + p) * x[columns[start + p]];
  }
  for (auto p = first; p < last; ++p) {
    const auto row = jagged.row_order[static_cast<std::size_t>(p)];
    y[row] = beta == T{0} ? alpha * sum[p - first] : alpha * sum[p - first] + beta * y[row];
  }
}

// Multiversioned functions cannot be templates, so one overload stands for each type and encoding.
#define AUTOSPMV_STRIP(T, Values)                                                                                   \
  AUTOSPMV_MULTIVERSION_SCALAR void strip_version(const JaggedMatrix<T>& jagged, Values values, std::int64_t first, \
                                                  std::int64_t last, T alpha, const T* x, T beta, T* y) {           \
    multiply_strip(jagged, values, first, last, alpha, x, beta, y);                                                 \
  }
AUTOSPMV_STRIP(float, FullValues<float>)
AUTOSPMV_STRIP(float, DictionaryValues<float>)
AUTOSPMV_STRIP(float, OneValue<float>)
AUTOSPMV_STRIP(double, FullValues<double>)
AUTOSPMV_STRIP(double, NarrowValues<double>)
AUTOSPMV_STRIP(double, DictionaryValues<double>)
AUTOSPMV_STRIP(double, OneValue<double>)
#undef AUTOSPMV_STRIP

}  // namespace

template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, JaggedMatrix<T>& jagged) {
  jagged.row_order = sort_rows(matrix, std::max<std::int64_t>(1, matrix.rows));
  jagged.lengths = Array<std::int32_t>(static_cast<std::size_t>(matrix.rows), Place{});
  std::visit(
      [&](const auto* row_ptr) {
        parallel_for(matrix.rows, [&](std::int64_t p) {
          const auto row = jagged.row_order[static_cast<std::size_t>(p)];
          jagged.lengths[static_cast<std::size_t>(p)] = static_cast<std::int32_t>(row_ptr[row + 1] - row_ptr[row]);
        });
      },
      matrix.row_ptr);
  const std::int64_t diagonals = matrix.rows > 0 ? jagged.lengths[0] : 0;
  jagged.starts = Array<std::int64_t>(static_cast<std::size_t>(diagonals), Place{});
  std::int64_t slots = 0;
  std::int64_t reach = matrix.rows;
  for (std::int64_t diagonal = 0; diagonal < diagonals; ++diagonal) {
    while (jagged.lengths[static_cast<std::size_t>(reach) - 1] <= diagonal) --reach;
    jagged.starts[static_cast<std::size_t>(diagonal)] = slots;
    slots += (reach + jagged.layout.pad - 1) / jagged.layout.pad * jagged.layout.pad;
  }
  return slots;
}

template <class T>
void fill(const CsrView<T>& matrix, const JaggedMatrix<T>& jagged, Array<std::int32_t>& columns, Array<T>& values) {
  if (jagged.layout.pad > 1) {
    parallel_for(jagged.slots, [&](std::int64_t slot) {
      columns[static_cast<std::size_t>(slot)] = -1;
      values[static_cast<std::size_t>(slot)] = 0;
    });
  }
  std::visit(
      [&](const auto* row_ptr) {
        parallel_for(matrix.rows, [&](std::int64_t p) {
          const auto first = static_cast<std::int64_t>(row_ptr[jagged.row_order[static_cast<std::size_t>(p)]]);
          for (std::int64_t k = 0; k < jagged.lengths[static_cast<std::size_t>(p)]; ++k) {
            const auto slot = static_cast<std::size_t>(jagged.starts[static_cast<std::size_t>(k)] + p);
            columns[slot] = matrix.col_idx[first + k];
            values[slot] = matrix.values[first + k];
          }
        });
      },
      matrix.row_ptr);
}

template <class T>
void multiply(const JaggedMatrix<T>& jagged, T alpha, const T* x, T beta, T* y) {
  const std::int64_t strips = (jagged.rows + strip - 1) / strip;
  with_values(jagged.values, [&](auto values) {
    // The first strips hold the longest rows: dealt out in turn, so that no thread gets them all.
    parallel_region(jagged.slots + jagged.rows, [&](int thread, int threads) {
      for (std::int64_t s = thread; s < strips; s += threads) {
        strip_version(jagged, values, s * strip, std::min(jagged.rows, (s + 1) * strip), alpha, x, beta, y);
      }
    });
  });
}

}  // namespace host

namespace {

// Where work happens decides which of two functions runs; the steps are the same.
template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, JaggedMatrix<T>& jagged, Place place, [[maybe_unused]] Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda_steps::lay_out(matrix, jagged, place, stream);
  }
  return host::lay_out(matrix, jagged);
}

template <class T>
void fill(const CsrView<T>& matrix, const JaggedMatrix<T>& jagged, Array<std::int32_t>& columns, Array<T>& values,
          Place place, [[maybe_unused]] Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda_steps::fill(matrix, jagged, columns, values, stream);
  }
  host::fill(matrix, jagged, columns, values);
}

}  // namespace

template <class T>
Result<JaggedMatrix<T>> build_jagged(const CsrView<T>& matrix, const JaggedLayout& layout, const Device& device) {
  const DeviceScope scope(device);
  const auto stream = setup_stream(device);
  JaggedMatrix<T> jagged;
  jagged.layout = layout;
  jagged.rows = matrix.rows;
  jagged.cols = matrix.cols;
  jagged.slots = lay_out(matrix, jagged, device, stream);
  const auto slots = static_cast<std::size_t>(jagged.slots);
  const double bytes = static_cast<double>(slots) * (4 + sizeof(T)) + static_cast<double>(jagged.bytes());
  if (auto refusal = refuse_allocation(bytes, csr_bytes<T>(matrix.rows, matrix.nnz), device)) return *refusal;
  Array<std::int32_t> columns(slots, device);
  Array<T> values(slots, device);
  fill(matrix, jagged, columns, values, device, stream);
  if (!encode(jagged.values, std::move(values), value_bits_of<T>(layout.value_bits), columns.data(), stream)) {
    return refuse_encoding(value_bits_of<T>(layout.value_bits));
  }
  encode(jagged.columns, std::move(columns), 32, {}, stream);
  synchronize(device, stream);
  return jagged;
}

template <class T>
bool refresh_jagged(JaggedMatrix<T>& jagged, const CsrView<T>& matrix, Place place, Stream stream) {
  auto& columns = jagged.columns.full;
  return refill_values(jagged.values, static_cast<std::size_t>(jagged.slots), columns.data(), place, stream,
                       [&](Array<T>& values, Stream on) { fill(matrix, jagged, columns, values, place, on); });
}

template <class T>
void multiply_jagged(const JaggedMatrix<T>& jagged, T alpha, const T* x, T beta, T* y, Place place,
                     [[maybe_unused]] Stream stream) {
  if (jagged.rows == 0) return;
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda_steps::multiply(jagged, alpha, x, beta, y, stream);
  }
  host::multiply(jagged, alpha, x, beta, y);
}

namespace {

template <class T>
std::vector<Allowed> allowed_jagged(const Device& device) {
  if (device.backend == Backend::host) return {{"value_bits", all_value_bits<T>()}};
  return {{"block", {128, 256, 512}}, {"value_bits", all_value_bits<T>()}};
}

}  // namespace

template <class T>
ParamSpace JaggedFormat<T>::params(const Features& features, const Device& device) const {
  const auto values = value_bits_for<T>(features);
  if (device.backend == Backend::host) return {{"value_bits", values}};
  return {{"value_bits", values}, {"block", {256, 128}}};
}

template <class T>
JaggedLayout JaggedFormat<T>::layout_of(const Params& params) const {
  return {pad_, static_cast<int>(params.find("block").value_or(256)), static_cast<int>(params["value_bits"])};
}

template <class T>
Result<Cost> JaggedFormat<T>::predict(const Features& features, const Params& params, const Device& device) const {
  if (auto refusal = refuse_params(params, allowed_jagged<T>(device))) return *refusal;
  if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
  const double padding = static_cast<double>(pad_ - 1) / 2 * static_cast<double>(features.npr_max);
  const auto layout = layout_of(params);
  Cost cost;
  cost.storage_bytes = jagged_bytes<T>(layout, features, static_cast<double>(features.nnz) + padding);
  if (auto refusal = refuse_storage(cost.storage_bytes, csr_bytes<T>(features.rows, features.nnz), device)) {
    return *refusal;
  }
  cost.bytes = jagged_bytes<T>(layout, features, static_cast<double>(features.nnz)) + vector_bytes<T>(features);
  if (device.backend == Backend::cuda) {
    cost.walk = walk_of_rows(features, 1, true);
  } else {
    // Batches of rows: their sums go to and from memory with each column of the batch.
    const auto nnz = static_cast<double>(features.nnz);
    cost.work = work_of_sorted_rows(features, {.entry = 0.62, .row = 1.8}) + work_of_far_rows(features) +
                work_of_decoding(nnz, full_column_bits, params["value_bits"]);
    cost.conversion = 1.7;
  }
  return cost;
}

template <class T>
Result<std::unique_ptr<Operator<T>>> JaggedFormat<T>::build(const CsrView<T>& matrix, const Params& params,
                                                            const Device& device) const {
  if (auto refusal = refuse_params(params, allowed_jagged<T>(device))) return *refusal;
  auto jagged = build_jagged(matrix, layout_of(params), device);
  if (!jagged) return Refusal{jagged.reason()};
  return std::unique_ptr<Operator<T>>(std::make_unique<JaggedOperator<T>>(std::move(*jagged), device));
}

#define AUTOSPMV_JAGGED(T)                                                                              \
  template Result<JaggedMatrix<T>> build_jagged(const CsrView<T>&, const JaggedLayout&, const Device&); \
  template bool refresh_jagged(JaggedMatrix<T>&, const CsrView<T>&, Place, Stream);                     \
  template void multiply_jagged(const JaggedMatrix<T>&, T, const T*, T, T*, Place, Stream);             \
  template class JaggedFormat<T>;
AUTOSPMV_JAGGED(float)
AUTOSPMV_JAGGED(double)
#undef AUTOSPMV_JAGGED

}  // namespace autospmv::formats
