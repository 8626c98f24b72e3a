#include "formats/dia/symmetric.hpp"

#include <algorithm>

#include "formats/common/diagonals_host.hpp"
#include "formats/common/rules.hpp"

namespace autospmv::formats::dia {

namespace host {

namespace {

using formats::host::add_slots;
using formats::host::PlainSlots;
using formats::host::tile_rows;

template <class T>
AUTOSPMV_INLINE void multiply_tile(const HalfView<T>& half, Share rows, T alpha, const T* x, T beta, T* y) {
  T sum[tile_rows];
  std::fill_n(sum, rows.last - rows.first, T{0});
  const auto& shape = half.shape;
  const PlainSlots<T> upper{half.upper};
  const PlainSlots<T> lower{*half.lower};
  for (std::int64_t j = 0; j < shape.diagonals; ++j) {
    const std::int64_t offset = shape.offsets[j];
    const auto slot = j * shape.hack;
    const auto last = std::min(rows.last, shape.cols - offset);
    add_slots(upper, slot + rows.first, x + rows.first + offset, last - rows.first, sum);
    const auto first = std::max(rows.first, offset);
    if (offset == 0) continue;
    add_slots(lower, slot + first - offset, x + first - offset, rows.last - first, sum + (first - rows.first));
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
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      Array<Faults> faults(1, place);
      fill_bytes(faults.data(), 0, sizeof(Faults), place, stream);
      device::sample_mates(matrix, faults.data(), stream);
      return faults.to_vector().front().none();
    }
  }
  return std::visit(
      [&](const auto* row_ptr) {
        for (std::int64_t i = 0; i < mates_sampled; ++i) {
          if (lacks_mate(matrix, row_ptr, i)) return false;
        }
        return true;
      },
      matrix.row_ptr);
}

Refusal refuse_values() { return Refusal{"values: not symmetric bit for bit, or columns not in order"}; }

template <class T>
class SymmetricOperator final : public Operator<T> {
 public:
  SymmetricOperator(Diagonals<T> upper, Place place)
      : upper_(std::move(upper)), lower_at_(1, place), faults_(1, place), place_(place) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if (upper_.rows == 0) return;
    const HalfView<T> half{upper_.shape(), upper_.values.data(), lower_at_.data()};
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) {
        return device::multiply(half, upper_.layout, alpha, x, beta, y, stream);
      }
    }
    host::multiply(half, alpha, x, beta, y);
  }

  // Waits for the stream: only then is it known whether the values are symmetric still.
  bool update_values(const CsrView<T>& matrix, Stream stream) override { return store_upper(matrix, stream); }

  [[nodiscard]] bool takes_any_values() const override { return false; }

  [[nodiscard]] std::int64_t bytes() const override { return upper_.bytes(); }

  // Whether all is stored in the upper half; to be called once before the first product.
  bool fill(const CsrView<T>& matrix, Stream stream) {
    if (place_.backend == Backend::host) formats::host::clear(upper_.values);
    const T* values = upper_.values.data();
    copy_bytes(lower_at_.data(), &values, sizeof values, place_, stream);
    return store_upper(matrix, stream);
  }

 private:
  // Whether the nonzeros below the main diagonal are the same.
  bool store_upper(const CsrView<T>& matrix, Stream stream) {
    const StoreSlots<T> store{upper_.shape(), upper_.values.data(), 0, Check::mates};
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) {
        fill_bytes(faults_.data(), 0, sizeof(Faults), place_, stream);
        cuda_steps::store(matrix, store, faults_.data(), stream);
        Faults faults;
        copy_bytes(&faults, faults_.data(), sizeof faults, place_, stream);
        synchronize(place_, stream);
        return faults.none();
      }
    }
    return formats::host::visit_nonzeros(matrix, store).none();
  }

  Diagonals<T> upper_;
  Array<const T*> lower_at_;  ///< where HalfView::lower points
  Array<Faults> faults_;
  Place place_;
};

}  // namespace

template <class T>
Result<std::unique_ptr<Operator<T>>> build_symmetric(const CsrView<T>& matrix, const DiagonalLayout& layout,
                                                     const Device& device) {
  if (matrix.rows != matrix.cols) return Refusal{"pattern: not symmetric, for it is not square"};
  if (auto refusal = refuse_offsets(matrix.rows, matrix.cols)) return *refusal;
  const DeviceScope scope(device);
  if (!may_be_symmetric(matrix, device, setup_stream(device))) return refuse_values();
  Diagonals<T> upper;
  upper.layout = layout;
  upper.rows = matrix.rows;
  upper.cols = matrix.cols;
  upper.hack = std::max(hack_unit, (matrix.rows + hack_unit - 1) / hack_unit * hack_unit);
  upper.hacks = 1;
  upper.offsets = find_offsets(matrix, 0, device);
  const double bytes = diagonal_bytes<T>(matrix.rows, static_cast<double>(upper.offsets.size()));
  if (auto refusal = refuse_allocation(bytes, csr_bytes<T>(matrix.rows, matrix.nnz), device)) return *refusal;
  upper.values = Array<T>(upper.offsets.size() * static_cast<std::size_t>(upper.hack), device);
  auto built = std::make_unique<SymmetricOperator<T>>(std::move(upper), device);
  if (!built->fill(matrix, setup_stream(device))) {
    return refuse_values();
  }
  return std::unique_ptr<Operator<T>>(std::move(built));
}

template Result<std::unique_ptr<Operator<float>>> build_symmetric(const CsrView<float>&, const DiagonalLayout&,
                                                                  const Device&);
template Result<std::unique_ptr<Operator<double>>> build_symmetric(const CsrView<double>&, const DiagonalLayout&,
                                                                   const Device&);

}  // namespace autospmv::formats::dia
