#include "formats/lanes/storage.hpp"

#include <limits>
#include <string>
#include <utility>

#include "core/machine/offsets.hpp"
#include "core/machine/on_backend.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/lanes/convert.hpp"
#include "formats/sliced/convert.hpp"

namespace autospmv::formats {

namespace {

// Rows sorted as one window, whatever their number.
constexpr std::int64_t all_rows = std::int64_t{1} << 31;

void count_groups(ClassTable& table) {
  for (int at = 0; at < table.classes.count; ++at) {
    const auto rows = table.first_row[at + 1] - table.first_row[at];
    const auto of_group = table.classes.rows_of_group(at);
    table.first_group[at + 1] = table.first_group[at] + (rows + of_group - 1) / of_group;
  }
}

template <class T>
void set_groups(const ClassTable& table, Place place, WarpEll<T>& ell) {
  ell.groups = table.first_group[table.classes.count];
  ell.long_groups = table.first_group[1];
  ell.block = block_for(table.longest, table.classes);
  ell.group_chunks = Array<std::int32_t>(static_cast<std::size_t>(ell.groups) + 1, place);
  ell.row_of_lane = Array<std::int32_t>(static_cast<std::size_t>(ell.groups * group_lanes), place);
}

// Where work happens decides which of two functions runs; the steps are the same. Returns the chunks in all.
template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, ClassTable& table, Place place, Stream stream, WarpEll<T>& ell) {
  const auto order = on_backend(
      place, [&] { return host::sort_rows(matrix); },
      [&] { return cuda_steps::sort_rows(matrix, all_rows, place, stream); });
  on_backend(
      place, [&] { host::find_classes(matrix, order, table); },
      [&] { cuda_steps::find_classes(matrix, order, table, stream); });
  count_groups(table);
  set_groups(table, place, ell);
  on_backend(
      place, [&] { host::assign_lanes(matrix, order, table, ell); },
      [&] { cuda_steps::assign_lanes(matrix, order, table, ell, stream); });
  return offsets_from_counts(ell.group_chunks, stream);
}

template <class T>
void fill(const CsrView<T>& matrix, const WarpEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values, Place place,
          Stream stream) {
  on_backend(
      place, [&] { host::fill(matrix, ell, columns, values); },
      [&] { cuda_steps::fill(matrix, ell, columns, values, stream); });
}

}  // namespace

template <class T>
Result<WarpEll<T>> build_warp_ell(const CsrView<T>& matrix, const LanesLayout& layout, const Device& device) {
  const DeviceScope scope(device);
  const auto stream = setup_stream(device);
  WarpEll<T> ell;
  ell.rows = matrix.rows;
  ell.cols = matrix.cols;
  if (matrix.rows == 0) return ell;
  ClassTable table{.classes = layout.classes};
  ell.chunks = lay_out(matrix, table, device, stream, ell);
  if (ell.chunks > std::numeric_limits<std::int32_t>::max()) return Refusal{"memory: more than 2^31 chunks of slots"};

  const auto slots = static_cast<std::size_t>(ell.slots());
  const double bytes =
      warp_ell_bytes<T>(layout, static_cast<double>(ell.groups), static_cast<double>(slots), most_column_bits(layout));
  if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
  Array<std::int32_t> columns(slots, device);
  Array<T> values(slots, device);
  fill(matrix, ell, columns, values, device, stream);
  const int value_bits = value_bits_of<T>(layout.value_bits);
  if (!encode(ell.values, std::move(values), value_bits, columns.data(), stream)) return refuse_encoding(value_bits);
  const SlotUnits groups{ell.group_chunks.data(), ell.groups, group_lanes};
  if (!encode(ell.columns, std::move(columns), layout.column_bits, groups, stream)) {
    return refuse_columns("group", layout.column_bits);
  }
  synchronize(device, stream);
  return ell;
}

template <class T>
bool WarpEll<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  if (chunks == 0) return true;
  return refill_slots(
      values, columns, slots(), place, stream,
      [&](Array<std::int32_t>& again, Array<T>& to, Stream on) { fill(matrix, *this, again, to, place, on); });
}

template <class T>
void WarpEll<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (rows == 0) return;
  on_backend(
      place, [&] { host::multiply(*this, alpha, x, beta, y); },
      [&] { cuda_steps::multiply(*this, alpha, x, beta, y, stream); });
}

template struct WarpEll<float>;
template struct WarpEll<double>;
template Result<WarpEll<float>> build_warp_ell(const CsrView<float>&, const LanesLayout&, const Device&);
template Result<WarpEll<double>> build_warp_ell(const CsrView<double>&, const LanesLayout&, const Device&);

}  // namespace autospmv::formats
