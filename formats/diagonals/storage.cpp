#include "formats/diagonals/storage.hpp"

#include <algorithm>

#include "core/machine/offsets.hpp"
#include "core/machine/on_backend.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/diagonals/host.hpp"

namespace autospmv::formats {

namespace {

// Where work happens decides which of two functions runs; the steps are the same. `kept` is what one step leaves to the
// other.
template <class T>
std::int64_t lay_out_hacks(const CsrView<T>& matrix, std::int64_t most, Diagonals<T>& diagonals,
                           Array<std::int32_t>& kept, Place place, Stream stream) {
  diagonals.first = Array<std::int32_t>(static_cast<std::size_t>(diagonals.hacks) + 1, place);
  on_backend(
      place, [&] { kept = host::count_diagonals(matrix, most, diagonals); },
      [&] { kept = cuda_steps::count_diagonals(matrix, diagonals, stream); });
  return offsets_from_counts(diagonals.first, stream);
}

template <class T>
std::optional<Refusal> find_in_hacks(const CsrView<T>& matrix, Diagonals<T>& diagonals, const Device& device) {
  const auto stream = setup_stream(device);
  diagonals.hack = diagonals.layout.hack;
  diagonals.hacks = (matrix.rows + diagonals.hack - 1) / diagonals.hack;
  const double csr = csr_bytes<T>(matrix.rows, matrix.nnz);
  const double largest = device.any_padding ? static_cast<double>(free_memory(device))
                                            : std::max(small_storage_bytes, largest_growth * csr);
  const double most = largest / (static_cast<double>(diagonals.hack) * sizeof(T));
  Array<std::int32_t> kept;
  const auto total = lay_out_hacks(matrix, static_cast<std::int64_t>(most) + 1, diagonals, kept, device, stream);
  if (total >= too_many_diagonals) {
    return Refusal{"padding: hacks of " + std::to_string(diagonals.hack) + " rows meet too many diagonals"};
  }
  const double bytes = hack_bytes<T>(matrix.rows, diagonals.hack, static_cast<double>(total));
  if (auto refusal = refuse_allocation(bytes, matrix, device)) return refusal;
  diagonals.offsets = Array<std::int32_t>(static_cast<std::size_t>(total), device);
  on_backend(
      device, [&] { host::list_offsets(matrix, diagonals, kept); },
      [&] { cuda_steps::list_offsets(matrix, diagonals, kept, stream); });
  return std::nullopt;
}

template <class T>
std::optional<Refusal> find_in_whole(const CsrView<T>& matrix, Diagonals<T>& diagonals, const Device& device) {
  // A warp reads the slots of all its rows.
  diagonals.hack = whole_hack(matrix.rows, hack_unit * diagonals.layout.rows);
  diagonals.hacks = 1;
  diagonals.offsets = find_offsets(matrix, every_offset, device);
  const double bytes = diagonal_bytes<T>(matrix.rows, static_cast<double>(diagonals.offsets.size()));
  return refuse_allocation(bytes, matrix, device);
}

}  // namespace

template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least, Place place) {
  return on_backend(
      place, [&] { return host::find_offsets(matrix, least); },
      [&] { return cuda_steps::find_offsets(matrix, least, place, setup_stream(place)); });
}

template <class T>
bool fill_diagonals(Diagonals<T>& diagonals, const CsrView<T>& matrix, Place place, Stream stream) {
  diagonals.values = Array<T>(diagonals.offsets.size() * static_cast<std::size_t>(diagonals.hack), place);
  const StoreSlots<T> store{diagonals.shape(), diagonals.values.data(), every_offset, Check::duplicates};
  return on_backend(
      place,
      [&] {
        host::clear(diagonals.values);
        return host::visit_nonzeros(matrix, store).none();
      },
      [&] {
        Array<Faults> faults(1, place);
        fill_bytes(faults.data(), 0, sizeof(Faults), place, stream);
        cuda_steps::store(matrix, store, faults.data(), stream);
        return faults.to_vector().front().none();
      });
}

template <class T>
Result<Diagonals<T>> place_diagonals(const CsrView<T>& matrix, const DiagonalLayout& layout, const Device& device) {
  if (auto refusal = refuse_offsets(matrix.rows, matrix.cols)) return *refusal;
  const DeviceScope scope(device);
  Diagonals<T> diagonals;
  diagonals.layout = layout;
  diagonals.rows = matrix.rows;
  diagonals.cols = matrix.cols;
  auto refusal = layout.hack == 0 ? find_in_whole(matrix, diagonals, device) : find_in_hacks(matrix, diagonals, device);
  if (refusal) return *refusal;
  return diagonals;
}

template <class T>
Result<Diagonals<T>> build_diagonals(const CsrView<T>& matrix, const DiagonalLayout& layout, const Device& device) {
  auto placed = place_diagonals(matrix, layout, device);
  if (placed && !fill_diagonals(*placed, matrix, device, setup_stream(device))) return refuse_duplicates();
  return placed;
}

template <class T>
bool Diagonals<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  const StoreSlots<T> store{shape(), values.data(), every_offset, Check::none};
  on_backend(
      place, [&] { host::visit_nonzeros(matrix, store); }, [&] { cuda_steps::store(matrix, store, nullptr, stream); });
  return true;
}

template <class T>
void Diagonals<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (rows == 0) return;
  on_backend(
      place, [&] { host::multiply(*this, alpha, x, beta, y); },
      [&] { cuda_steps::multiply(*this, alpha, x, beta, y, stream); });
}

#define AUTOSPMV_DIAGONALS(T)                                                                             \
  template struct Diagonals<T>;                                                                           \
  template Array<std::int32_t> find_offsets(const CsrView<T>&, std::int64_t, Place);                      \
  template Result<Diagonals<T>> place_diagonals(const CsrView<T>&, const DiagonalLayout&, const Device&); \
  template Result<Diagonals<T>> build_diagonals(const CsrView<T>&, const DiagonalLayout&, const Device&); \
  template bool fill_diagonals(Diagonals<T>&, const CsrView<T>&, Place, Stream);
AUTOSPMV_DIAGONALS(float)
AUTOSPMV_DIAGONALS(double)
#undef AUTOSPMV_DIAGONALS

}  // namespace autospmv::formats
