#include "formats/sliced/storage.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "core/machine/offsets.hpp"
#include "core/machine/on_backend.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/sliced/convert.hpp"

namespace autospmv::formats {

namespace {

template <class T>
std::int64_t layout_slices(const CsrView<T>& matrix, SlicedMatrix<T>& sliced) {
  const auto& layout = sliced.layout;
  sliced.rows = matrix.rows;
  sliced.cols = matrix.cols;
  sliced.slice_rows = layout.slice_rows;
  if (layout.slice_rows == 0) {
    // ELLPACK-R's own rule, so that every chunk begins on a boundary that loads like.
    constexpr std::int64_t alignment = 16;
    sliced.slice_rows = std::max(alignment, (matrix.rows + alignment - 1) / alignment * alignment);
    return matrix.rows > 0 ? 1 : 0;
  }
  return (matrix.rows + layout.slice_rows - 1) / layout.slice_rows;
}

// Sorted rows are scattered over their window when they are stored. Two threads that write into one would share all of
// its cache lines, which takes up to a fifth of a product that caches serve: each thread sorts its own rows.
template <class T>
void sort_for_threads(const CsrView<T>& matrix, SlicedMatrix<T>& sliced) {
  constexpr std::int64_t rows_of_line = 16;
  const auto parts = host::equal_parts(matrix, std::lcm(rows_of_line, sliced.slice_rows));
  sliced.row_order = host::sort_rows(matrix, sliced.layout.sort_window, parts);
  sliced.parts.clear();
  for (const auto row : parts) sliced.parts.push_back((row + sliced.slice_rows - 1) / sliced.slice_rows);
}

// Where work happens decides which of two functions runs; the steps are the same.
template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Place place, Stream stream) {
  const auto window = sliced.layout.sort_window;
  const bool sorts = window > 1 && matrix.rows > 0;
  on_backend(
      place,
      [&] {
        sliced.parts = {0, sliced.slices};
        if (sorts) sort_for_threads(matrix, sliced);
        host::count_chunks(matrix, sliced);
      },
      [&] {
        if (sorts) sliced.row_order = cuda_steps::sort_rows(matrix, window, place, stream);
        cuda_steps::count_chunks(matrix, sliced, stream);
      });
  return offsets_from_counts(sliced.slice_chunks, stream);
}

template <class T>
void fill_values(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Array<std::int32_t>& columns, Array<T>& values,
                 Place place, Stream stream) {
  on_backend(
      place, [&] { host::fill_values(matrix, sliced, values); },
      [&] { cuda_steps::fill(matrix, sliced, columns, values, stream); });
}

// In one pass: the host writes slots in their bits.
template <class T>
std::optional<Refusal> fill_on_host(const CsrView<T>& matrix, SlicedMatrix<T>& sliced) {
  const auto slots = static_cast<std::size_t>(sliced.slots);
  auto& columns = sliced.columns;
  columns.bits = sliced.layout.column_bits;
  if (columns.bits == full_column_bits) columns.full = Array<std::int32_t>(slots, Place{});
  if (columns.bits == 16) {
    columns.words = Array<std::uint16_t>(slots, Place{});
    columns.bases = Array<std::int32_t>(static_cast<std::size_t>(sliced.slices), Place{});
  }
  const int value_bits = value_bits_of<T>(sliced.layout.value_bits);
  const bool is_looked_up = value_bits == 8;
  EncodedValues<T> values;
  values.bits = is_looked_up ? full_value_bits<T> : value_bits;
  if (value_bits == 0 && !encode_one_value(values, matrix)) return refuse_encoding(value_bits);
  if (values.in_full()) {
    values.full = Array<T>(slots, Place{});
  } else if (value_bits > 0) {
    values.narrow = Array<float>(slots, Place{});
  }
  if (columns.bits == 0) {
    if (auto refusal = host::fill_column_chunks(matrix, sliced)) return refusal;
  }
  if (auto refusal = host::fill(matrix, sliced, columns, values)) return refusal;
  if (!is_looked_up) {
    sliced.values = std::move(values);
  } else if (!encode(sliced.values, std::move(values.full), value_bits, nullptr, {})) {
    return refuse_encoding(value_bits);
  }
  return std::nullopt;
}

// Slots that are written are encoded after.
template <class T>
std::optional<Refusal> fill_on_cuda(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Place place, Stream stream) {
  const auto& layout = sliced.layout;
  Array<std::int32_t> columns(static_cast<std::size_t>(sliced.slots), place);
  Array<T> values(static_cast<std::size_t>(sliced.slots), place);
  if constexpr (built_with_cuda) cuda_steps::fill(matrix, sliced, columns, values, stream);
  const int value_bits = value_bits_of<T>(layout.value_bits);
  if (!encode(sliced.values, std::move(values), value_bits, columns.data(), stream)) return refuse_encoding(value_bits);
  const SlotUnits slices{sliced.slice_chunks.data(), sliced.slices, sliced.slice_rows * layout.threads};
  if (!encode(sliced.columns, std::move(columns), layout.column_bits, slices, stream)) {
    return refuse_columns("slice", layout.column_bits);
  }
  return std::nullopt;
}

}  // namespace

template <class T>
Result<SlicedMatrix<T>> build_sliced(const CsrView<T>& matrix, const SlicedLayout& layout, const Device& device) {
  if (matrix.rows > std::numeric_limits<std::int32_t>::max()) return Refusal{"rows: 2^31 or more"};
  const DeviceScope scope(device);
  const auto stream = setup_stream(device);
  SlicedMatrix<T> sliced;
  sliced.layout = layout;
  sliced.slices = layout_slices(matrix, sliced);
  sliced.slice_chunks = Array<std::int32_t>(static_cast<std::size_t>(sliced.slices) + 1, device);
  const auto chunks = lay_out(matrix, sliced, device, stream);
  if (chunks > std::numeric_limits<std::int32_t>::max()) return Refusal{"more than 2^31 chunks of slots"};

  const auto slots = chunks * sliced.slice_rows * layout.threads;
  const double bytes =
      sliced_bytes<T>(layout, matrix.rows, static_cast<double>(slots), most_column_bits(layout, device.backend));
  if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
  sliced.slots = slots;
  if (layout.keep_lengths || (device.backend == Backend::host && sliced.slice_rows > 1)) {
    sliced.lengths = Array<std::int32_t>(static_cast<std::size_t>(sliced.slices * sliced.slice_rows), device);
  }
  auto refusal = on_backend(
      device, [&] { return fill_on_host(matrix, sliced); },
      [&] { return fill_on_cuda(matrix, sliced, device, stream); });
  if (refusal) return *std::move(refusal);
  synchronize(device, stream);
  return sliced;
}

template <class T>
bool SlicedMatrix<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  const bool on_host = place.backend == Backend::host;
  if (values.bits == 0 && on_host) return encode_one_value(values, matrix);
  // To encode values, it must be known which slots are padding, where that is marked.
  Array<std::int32_t> again;
  if (columns.bits < 32 && !values.in_full() && !on_host)
    again = Array<std::int32_t>(static_cast<std::size_t>(slots), place);
  auto& full = columns.bits < 32 ? again : columns.full;
  return refill_values(values, static_cast<std::size_t>(slots), full.data(), place, stream,
                       [&](Array<T>& to, Stream on) { fill_values(matrix, *this, full, to, place, on); });
}

template <class T>
void SlicedMatrix<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (rows == 0) return;
  on_backend(
      place, [&] { host::multiply(*this, alpha, x, beta, y); },
      [&] { cuda_steps::multiply(*this, alpha, x, beta, y, stream); });
}

template struct SlicedMatrix<float>;
template struct SlicedMatrix<double>;
template Result<SlicedMatrix<float>> build_sliced(const CsrView<float>&, const SlicedLayout&, const Device&);
template Result<SlicedMatrix<double>> build_sliced(const CsrView<double>&, const SlicedLayout&, const Device&);

}  // namespace autospmv::formats
