#include "formats/dia/dia.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/parallel.hpp"
#include "formats/common/rules.hpp"
#include "formats/common/simd.hpp"

namespace autospmv::formats::dia {

namespace host {

template <class T>
void find_diagonals(const CsrView<T>& matrix, DiaMatrix<T>& dia) {
  const auto range = static_cast<std::size_t>(matrix.rows + matrix.cols);
  std::vector<std::uint8_t> used(range, 0);
  std::visit(
      [&](const auto* row_ptr) {
        parallel_for(matrix.rows, [&](std::int64_t row) {
          for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
            // Threads may write the same byte, but only ever the same value.
            __atomic_store_n(&used[static_cast<std::size_t>(matrix.col_idx[k] - row + matrix.rows - 1)], 1,
                             __ATOMIC_RELAXED);
          }
        });
      },
      matrix.row_ptr);
  dia.diagonal_of = Array<std::int32_t>(range, Place{});
  std::vector<std::int32_t> offsets;
  for (std::size_t d = 0; d < range; ++d) {
    dia.diagonal_of[d] = static_cast<std::int32_t>(offsets.size());
    if (used[d] != 0) offsets.push_back(static_cast<std::int32_t>(static_cast<std::int64_t>(d) - matrix.rows + 1));
  }
  dia.offsets = Array<std::int32_t>::copy_of(offsets, Place{});
}

namespace {

// The one value that marks a slot without a nonzero: see the note on zeros in the header.
template <class T>
AUTOSPMV_INLINE bool absent(T value) {
  return value == T{0} && !std::signbit(value);
}

// Rows [first, last) of a diagonal at a time keep their sums in the first-level cache.
constexpr std::int64_t tile_rows = 512;

template <class T>
AUTOSPMV_INLINE void add_diagonal(const T* values, const T* x, std::int64_t count, T* sum) {
#pragma omp simd
  for (std::int64_t i = 0; i < count; ++i) {
    if (!absent(values[i])) sum[i] += values[i] * x[i];
  }
}

#define AUTOSPMV_DIAGONAL(T)                                                                             \
  AUTOSPMV_MULTIVERSION void diagonal_version(const T* values, const T* x, std::int64_t count, T* sum) { \
    add_diagonal(values, x, count, sum);                                                                 \
  }
AUTOSPMV_DIAGONAL(float)
AUTOSPMV_DIAGONAL(double)
#undef AUTOSPMV_DIAGONAL

template <class T>
void multiply_tile(const DiaMatrix<T>& dia, Share rows, T alpha, const T* x, T beta, T* y) {
  T sum[tile_rows] = {};
  for (std::int64_t d = 0; d < dia.diagonals(); ++d) {
    const std::int64_t offset = dia.offsets[static_cast<std::size_t>(d)];
    const auto first = std::max(rows.first, -offset);
    const auto last = std::min(rows.last, dia.cols - offset);
    if (first >= last) continue;
    diagonal_version(dia.values.data() + d * dia.stride + first, x + first + offset, last - first,
                     sum + (first - rows.first));
  }
  for (auto row = rows.first; row < rows.last; ++row) {
    const T product = alpha * sum[row - rows.first];
    y[row] = beta == T{0} ? product : product + beta * y[row];
  }
}

}  // namespace

template <class T>
bool fill(const CsrView<T>& matrix, DiaMatrix<T>& dia) {
  parallel_for(static_cast<std::int64_t>(dia.values.size()), [&](std::int64_t i) { dia.values.data()[i] = T{0}; });
  return std::visit(
      [&](const auto* row_ptr) {
        return parallel_reduce(
            matrix.rows, true,
            [&](Share share) {
              bool unique = true;
              for (auto row = share.first; row < share.last; ++row) {
                for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
                  const auto d = dia.diagonal_of[static_cast<std::size_t>(matrix.col_idx[k] - row + matrix.rows - 1)];
                  T& slot = dia.values[static_cast<std::size_t>(d * dia.stride + row)];
                  unique = unique && absent(slot);
                  slot = absent(matrix.values[k]) ? -T{0} : matrix.values[k];
                }
              }
              return unique;
            },
            [](bool a, bool b) { return a && b; });
      },
      matrix.row_ptr);
}

template <class T>
void multiply(const DiaMatrix<T>& dia, T alpha, const T* x, T beta, T* y) {
  const std::int64_t tiles = (dia.rows + tile_rows - 1) / tile_rows;
  parallel_region(static_cast<std::int64_t>(dia.values.size()), [&](int thread, int threads) {
    const auto share = share_of(tiles, thread, threads);
    for (auto tile = share.first; tile < share.last; ++tile) {
      multiply_tile(dia, {tile * tile_rows, std::min(dia.rows, (tile + 1) * tile_rows)}, alpha, x, beta, y);
    }
  });
}

}  // namespace host

namespace {

std::int64_t stride_of(std::int64_t rows) { return (rows + 31) / 32 * 32; }

template <class T>
double storage_bytes(std::int64_t rows, std::int64_t cols, std::int64_t diagonals) {
  return static_cast<double>(stride_of(rows)) * static_cast<double>(diagonals) * sizeof(T) +
         static_cast<double>(diagonals + rows + cols) * 4;
}

template <class T>
class DiaOperator final : public Operator<T> {
 public:
  DiaOperator(DiaMatrix<T> dia, Place place) : dia_(std::move(dia)), place_(place), collisions_(1, place) {}

  // False where a duplicate has no slot of its own.
  bool fill(const CsrView<T>& matrix, Stream stream) {
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) {
        device::fill(matrix, dia_, collisions_.data(), stream);
        return collisions_.to_vector().front() == 0;
      }
    }
    return host::fill(matrix, dia_);
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if (dia_.rows == 0) return;
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) {
        device::multiply(dia_, alpha, x, beta, y, stream);
        return;
      }
    }
    host::multiply(dia_, alpha, x, beta, y);
  }

  void update_values(const CsrView<T>& matrix, Stream stream) override {
    if constexpr (built_with_cuda) {
      if (place_.backend == Backend::cuda) {
        device::fill(matrix, dia_, collisions_.data(), stream);
        return;
      }
    }
    host::fill(matrix, dia_);
  }

  [[nodiscard]] std::int64_t bytes() const override { return dia_.bytes(); }

 private:
  DiaMatrix<T> dia_;
  Place place_;
  Array<std::int32_t> collisions_;
};

template <class T>
class Dia final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "dia",
        .version = 1,
        .summary = "diagonals and their offsets, no column indices",
        .paper =
            "Bell, Garland, \"Implementing sparse matrix-vector multiplication on throughput-oriented "
            "processors\", 2009, 4.1; Barbieri, Cardellini, Fanfarillo, Filippone, \"Three storage formats for "
            "sparse matrices on GPGPUs\", 2015, 3.3",
        .backends = {Backend::host, Backend::cuda},
        .deterministic = true,
        .baseline = false};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& device) const override {
    return device.backend == Backend::cuda ? ParamSpace{{"block", {256, 128, 512}}} : ParamSpace{};
  }

  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params,
                                     const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    if (features.diagonals > diagonals_cap) {
      return Refusal{"diagonals: more than " + std::to_string(diagonals_cap)};
    }
    Cost cost;
    cost.storage_bytes = storage_bytes<T>(features.rows, features.cols, features.diagonals);
    const double csr = csr_bytes<T>(features.rows, features.nnz);
    if (auto refusal = refuse_storage(cost.storage_bytes, csr, device)) return *refusal;
    cost.bytes = storage_bytes<T>(features.rows, 0, features.diagonals) + vector_bytes<T>(features);
    return cost;
  }

  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const override {
    if (auto refusal = refuse_params(params, allowed(device))) return *refusal;
    const DeviceScope scope(device);
    DiaMatrix<T> dia;
    dia.rows = matrix.rows;
    dia.cols = matrix.cols;
    dia.stride = stride_of(matrix.rows);
    dia.block = static_cast<int>(params.find("block").value_or(256));
    find_diagonals(matrix, dia, device);
    const double bytes = storage_bytes<T>(dia.rows, dia.cols, dia.diagonals());
    if (auto refusal = refuse_allocation(bytes, csr_bytes<T>(matrix.rows, matrix.nnz), device)) return *refusal;
    dia.values = Array<T>(static_cast<std::size_t>(dia.diagonals() * dia.stride), device);
    auto built = std::make_unique<DiaOperator<T>>(std::move(dia), device);
    if (!built->fill(matrix, setup_stream(device))) {
      return Refusal{"duplicates: two nonzeros at one place have one slot between them"};
    }
    return std::unique_ptr<Operator<T>>(std::move(built));
  }

 private:
  static void find_diagonals(const CsrView<T>& matrix, DiaMatrix<T>& dia, Place place) {
    if constexpr (built_with_cuda) {
      if (place.backend == Backend::cuda) {
        device::find_diagonals(matrix, dia, place, setup_stream(place));
        return;
      }
    }
    host::find_diagonals(matrix, dia);
  }

  static std::vector<Allowed> allowed(const Device& device) {
    if (device.backend == Backend::host) return {};
    return {{"block", {128, 256, 512}}};
  }
};

}  // namespace

template <class T>
const Format<T>& format() {
  static const Dia<T> instance;
  return instance;
}

template const Format<float>& format();
template const Format<double>& format();

}  // namespace autospmv::formats::dia
