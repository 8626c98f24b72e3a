#include "formats/common/diagonals.hpp"

#include <algorithm>

#include "formats/common/diagonals_host.hpp"
#include "formats/common/rules.hpp"
#include "formats/common/sliced_steps.hpp"

namespace autospmv::formats {

namespace {

constexpr std::int64_t every_offset = std::numeric_limits<std::int32_t>::min();

// Where work happens decides which of two functions runs; the steps are the same. `kept` is what one step leaves to the
// other.
template <class T>
std::int64_t lay_out_hacks(const CsrView<T>& matrix, std::int64_t most, Diagonals<T>& diagonals,
                           Array<std::int32_t>& kept, Place place, Stream stream) {
  diagonals.first = Array<std::int32_t>(static_cast<std::size_t>(diagonals.hacks) + 1, place);
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      kept = cuda_steps::count_diagonals(matrix, diagonals, stream);
      return cuda_steps::scan_chunks(diagonals.first, stream);
    }
  }
  host::count_diagonals(matrix, most, diagonals);
  return host::scan_chunks(diagonals.first);
}

template <class T>
void list_offsets(const CsrView<T>& matrix, Diagonals<T>& diagonals, Array<std::int32_t>& kept, Place place,
                  Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda_steps::list_offsets(matrix, diagonals, kept, stream);
  }
  host::list_offsets(matrix, diagonals);
}

template <class T>
std::optional<Refusal> find_in_hacks(const CsrView<T>& matrix, Diagonals<T>& diagonals, const Device& device) {
  const auto stream = setup_stream(device);
  diagonals.hack = diagonals.layout.hack;
  diagonals.hacks = (matrix.rows + diagonals.hack - 1) / diagonals.hack;
  const double csr = csr_bytes<T>(matrix.rows, matrix.nnz);
  const double largest = std::max(small_storage_bytes, largest_growth * csr);
  const double most = largest / (static_cast<double>(diagonals.hack) * sizeof(T));
  Array<std::int32_t> kept;
  const auto total = lay_out_hacks(matrix, static_cast<std::int64_t>(most) + 1, diagonals, kept, device, stream);
  if (total >= too_many_diagonals) {
    return Refusal{"padding: hacks of " + std::to_string(diagonals.hack) + " rows meet too many diagonals"};
  }
  const double bytes = hack_bytes<T>(matrix.rows, diagonals.hack, static_cast<double>(total));
  if (auto refusal = refuse_allocation(bytes, csr, device)) return refusal;
  diagonals.offsets = Array<std::int32_t>(static_cast<std::size_t>(total), device);
  list_offsets(matrix, diagonals, kept, device, stream);
  return std::nullopt;
}

template <class T>
std::optional<Refusal> find_in_whole(const CsrView<T>& matrix, Diagonals<T>& diagonals, const Device& device) {
  diagonals.hack = std::max(hack_unit, (matrix.rows + hack_unit - 1) / hack_unit * hack_unit);
  diagonals.hacks = 1;
  diagonals.offsets = find_offsets(matrix, every_offset, device);
  const double bytes = diagonal_bytes<T>(matrix.rows, static_cast<double>(diagonals.offsets.size()));
  return refuse_allocation(bytes, csr_bytes<T>(matrix.rows, matrix.nnz), device);
}

// Whether every nonzero has a slot of its own.
template <class T>
bool fill(const CsrView<T>& matrix, Diagonals<T>& diagonals, Place place, Stream stream) {
  const StoreSlots<T> store{diagonals.shape(), diagonals.values.data(), every_offset, Check::duplicates};
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      Array<Faults> faults(1, place);
      fill_bytes(faults.data(), 0, sizeof(Faults), place, stream);
      cuda_steps::store(matrix, store, faults.data(), stream);
      return faults.to_vector().front().none();
    }
  }
  host::clear(diagonals.values);
  return host::visit_nonzeros(matrix, store).none();
}

}  // namespace

template <class T>
Array<std::int32_t> find_offsets(const CsrView<T>& matrix, std::int64_t least, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda_steps::find_offsets(matrix, least, place, setup_stream(place));
  }
  return host::find_offsets(matrix, least);
}

template <class T>
Result<Diagonals<T>> build_diagonals(const CsrView<T>& matrix, const DiagonalLayout& layout, const Device& device) {
  if (auto refusal = refuse_offsets(matrix.rows, matrix.cols)) return *refusal;
  const DeviceScope scope(device);
  Diagonals<T> diagonals;
  diagonals.layout = layout;
  diagonals.rows = matrix.rows;
  diagonals.cols = matrix.cols;
  auto refusal = layout.hack == 0 ? find_in_whole(matrix, diagonals, device) : find_in_hacks(matrix, diagonals, device);
  if (refusal) return *refusal;
  diagonals.values = Array<T>(diagonals.offsets.size() * static_cast<std::size_t>(diagonals.hack), device);
  diagonals.full = static_cast<double>(matrix.nnz) >= full_share * static_cast<double>(diagonals.values.size());
  if (!fill(matrix, diagonals, device, setup_stream(device))) {
    return Refusal{"duplicates: two nonzeros at one place have one slot between them"};
  }
  return diagonals;
}

template <class T>
void refresh_diagonals(Diagonals<T>& diagonals, const CsrView<T>& matrix, Place place, Stream stream) {
  const StoreSlots<T> store{diagonals.shape(), diagonals.values.data(), every_offset, Check::none};
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda_steps::store(matrix, store, nullptr, stream);
  }
  host::visit_nonzeros(matrix, store);
}

template <class T>
void multiply_diagonals(const Diagonals<T>& diagonals, T alpha, const T* x, T beta, T* y, Place place, Stream stream) {
  if (diagonals.rows == 0) return;
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda_steps::multiply(diagonals, alpha, x, beta, y, stream);
  }
  host::multiply(diagonals, alpha, x, beta, y);
}

#define AUTOSPMV_DIAGONALS(T)                                                                             \
  template Array<std::int32_t> find_offsets(const CsrView<T>&, std::int64_t, Place);                      \
  template Result<Diagonals<T>> build_diagonals(const CsrView<T>&, const DiagonalLayout&, const Device&); \
  template void refresh_diagonals(Diagonals<T>&, const CsrView<T>&, Place, Stream);                       \
  template void multiply_diagonals(const Diagonals<T>&, T, const T*, T, T*, Place, Stream);
AUTOSPMV_DIAGONALS(float)
AUTOSPMV_DIAGONALS(double)
#undef AUTOSPMV_DIAGONALS

}  // namespace autospmv::formats
