#include "formats/diagonals/dia/symmetric.hpp"

#include <algorithm>

#include "core/machine/on_backend.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/diagonals/host.hpp"

namespace autospmv::formats::dia {

namespace host {

namespace {

using formats::host::add_diagonals;
using formats::host::add_slots;
using formats::host::DiagonalRun;
using formats::host::fetched_ahead;
using formats::host::PlainSlots;
using formats::host::tile_rows;

template <class T>
AUTOSPMV_INLINE void multiply_tile(const HalfView<T>& half, Share rows, T alpha, const T* x, T beta, T* y) {
  T sum[tile_rows];
  const auto count = rows.last - rows.first;
  std::fill_n(sum, count, T{0});
  const auto& shape = half.shape;
  const T* const lower = *half.lower;
  // Offsets increase, so the diagonals that all rows meet on both sides come first; the main one has but one.
  const std::int64_t main = shape.diagonals > 0 && shape.offsets[0] == 0 ? 1 : 0;
  std::int64_t inner = main;
  while (inner < shape.diagonals && shape.offsets[inner] <= std::min(rows.first, shape.cols - rows.last)) ++inner;
  const auto above = [&](std::int64_t j) AUTOSPMV_INLINE_LAMBDA {
    return DiagonalRun<T>{half.upper + j * shape.hack + rows.first, x + rows.first + shape.offsets[j]};
  };
  const auto below = [&](std::int64_t i) AUTOSPMV_INLINE_LAMBDA {
    const auto j = main + i;
    const auto mate = rows.first - shape.offsets[j];
    return DiagonalRun<T>{lower + j * shape.hack + mate, x + mate};
  };
  add_diagonals(inner, above, count, fetched_ahead<T>(shape.hack, shape.diagonals * shape.hack), sum);
  add_diagonals(inner - main, below, count, 0, sum);  // in a cache since they were above
  for (auto j = inner; j < shape.diagonals; ++j) {
    const std::int64_t offset = shape.offsets[j];
    const auto slot = j * shape.hack;
    const auto last = std::min(rows.last, shape.cols - offset);
    add_slots(PlainSlots<T>{half.upper}, slot + rows.first, x + rows.first + offset, last - rows.first, sum);
    const auto first = std::max(rows.first, offset);
    add_slots(PlainSlots<T>{lower}, slot + first - offset, x + first - offset, rows.last - first,
              sum + (first - rows.first));
  }
  formats::host::store_sums(sum, rows, alpha, beta, y);
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_TILE(T)                                                                                            \
  AUTOSPMV_MULTIVERSION void tile_version(const HalfView<T>& half, Share rows, T alpha, const T* x, T beta, T* y) { \
    multiply_tile(half, rows, alpha, x, beta, y);                                                                   \
  }
AUTOSPMV_TILE(float)
AUTOSPMV_TILE(double)
#undef AUTOSPMV_TILE

template <class T>
void multiply(const HalfView<T>& half, T alpha, const T* x, T beta, T* y) {
  const auto rows = half.shape.rows;
  const auto tiles = (rows + tile_rows - 1) / tile_rows;
  parallel_region(rows * (2 * half.shape.diagonals + 1), [&](int thread, int threads) {
    const auto share = share_of(tiles, thread, threads);
    formats::host::for_each_tile({share.first * tile_rows, std::min(rows, share.last * tile_rows)},
                                 [&](Share tile) { tile_version(half, tile, alpha, x, beta, y); });
  });
}

}  // namespace

}  // namespace host

namespace {

template <class T>
bool may_be_symmetric(const CsrView<T>& matrix, Place place, Stream stream) {
  if (matrix.nnz == 0) return true;
  const auto on_host = [&](const auto* row_ptr) {
    for (std::int64_t i = 0; i < mates_sampled; ++i) {
      if (lacks_mate(matrix, row_ptr, i)) return false;
    }
    return true;
  };
  return on_backend(
      place, [&] { return std::visit(on_host, matrix.row_ptr); },
      [&] {
        Array<Faults> faults(1, place);
        fill_bytes(faults.data(), 0, sizeof(Faults), place, stream);
        device::sample_mates(matrix, faults.data(), stream);
        return faults.to_vector().front().none();
      });
}

Refusal refuse_values() { return Refusal{"values: not symmetric bit for bit, or columns not in order"}; }

}  // namespace

template <class T>
void Half<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (upper.rows == 0) return;
  const HalfView<T> half{upper.shape(), upper.values.data(), lower_at.data()};
  on_backend(
      place, [&] { host::multiply(half, alpha, x, beta, y); },
      [&] { device::multiply(half, upper.layout, alpha, x, beta, y, stream); });
}

// Stores the upper half, and looks whether the nonzeros below the main diagonal are the same: waits for the stream, as
// only then it is known.
template <class T>
bool Half<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  const StoreSlots<T> store{upper.shape(), upper.values.data(), 0, Check::mates};
  return on_backend(
      place, [&] { return formats::host::visit_nonzeros(matrix, store).none(); },
      [&] {
        fill_bytes(faults.data(), 0, sizeof(Faults), place, stream);
        cuda_steps::store(matrix, store, faults.data(), stream);
        Faults found;
        copy_bytes(&found, faults.data(), sizeof found, place, stream);
        synchronize(place, stream);
        return found.none();
      });
}

template <class T>
Result<Half<T>> build_symmetric(const CsrView<T>& matrix, const DiagonalLayout& layout, const Device& device) {
  if (matrix.rows != matrix.cols) return Refusal{"pattern: not symmetric, for it is not square"};
  if (auto refusal = refuse_offsets(matrix.rows, matrix.cols)) return *refusal;
  const DeviceScope scope(device);
  if (!may_be_symmetric(matrix, device, setup_stream(device))) return refuse_values();
  Half<T> half{{}, Array<const T*>(1, device), Array<Faults>(1, device)};
  auto& upper = half.upper;
  upper.layout = layout;
  upper.rows = matrix.rows;
  upper.cols = matrix.cols;
  upper.hack = whole_hack(matrix.rows);
  upper.hacks = 1;
  upper.offsets = find_offsets(matrix, 0, device);
  const double bytes = diagonal_bytes<T>(matrix.rows, static_cast<double>(upper.offsets.size()));
  if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
  upper.values = Array<T>(upper.offsets.size() * static_cast<std::size_t>(upper.hack), device);
  if (device.backend == Backend::host) formats::host::clear(upper.values);
  const T* const values = upper.values.data();
  copy_bytes(half.lower_at.data(), &values, sizeof values, device, setup_stream(device));
  if (!half.refresh(matrix, device, setup_stream(device))) return refuse_values();
  return half;
}

template struct Half<float>;
template struct Half<double>;
template Result<Half<float>> build_symmetric(const CsrView<float>&, const DiagonalLayout&, const Device&);
template Result<Half<double>> build_symmetric(const CsrView<double>&, const DiagonalLayout&, const Device&);

}  // namespace autospmv::formats::dia
