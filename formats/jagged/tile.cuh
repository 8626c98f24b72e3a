// Rows turned into columns on the way from CSR to formats that store neighbouring rows beside one another.
#pragma once

#include <cstdint>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/matrix/csr.hpp"
#include "formats/common/kernels/kernel.cuh"

namespace autospmv::formats::cuda_steps {

/// Neighbouring rows that a warp reads together, and nonzeros of each of them at a time.
inline constexpr int tile_rows = cuda::warp_size;
inline constexpr int tile_entries = 16;

/// What a lane has read of one nonzero of each of several rows, before the first of them is used.
template <class T>
struct Entry {
  std::int32_t column = 0;
  T value = 0;
};

/// Nonzeros beside one another in memory belong to one row, slots beside one another to neighbouring rows. A warp reads
/// half a row of the tile after the other, and lets every lane visit the nonzeros of a row of its own.
template <class T>
class Tile {
 public:
  __device__ void load(const CsrView<T>& matrix, std::int64_t start, std::int64_t length) {
    constexpr int rows_at_once = cuda::warp_size / tile_entries;
    constexpr int in_flight = 8;
    const int lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
    const int entry = lane % tile_entries;
    for (int first = 0; first < tile_rows; first += rows_at_once * in_flight) {
      Entry<T> read[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        const int row = first + i * rows_at_once + lane / tile_entries;
        const auto row_start = __shfl_sync(cuda::all_lanes, static_cast<long long>(start), row);
        const auto row_length = __shfl_sync(cuda::all_lanes, static_cast<long long>(length), row);
        if (entry < row_length) {
          read[i] = {load_stream(matrix.col_idx + row_start + entry), load_stream(matrix.values + row_start + entry)};
        }
      }
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        const int row = first + i * rows_at_once + lane / tile_entries;
        columns_[row][entry] = read[i].column;
        values_[row][entry] = read[i].value;
      }
    }
    __syncwarp();
  }

  __device__ std::int32_t column(int entry) const { return columns_[threadIdx.x % cuda::warp_size][entry]; }
  __device__ T value(int entry) const { return values_[threadIdx.x % cuda::warp_size][entry]; }

 private:
  // One more than is used, so that lanes that look at the same entry of their rows look into different banks.
  std::int32_t columns_[tile_rows][tile_entries + 1];
  T values_[tile_rows][tile_entries + 1];
};

}  // namespace autospmv::formats::cuda_steps
