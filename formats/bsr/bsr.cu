#include <type_traits>

#include "core/cuda/check.hpp"
#include "formats/bsr/bsr.hpp"
#include "formats/common/blocks.cuh"
#include "formats/common/dispatch.hpp"

namespace autospmv::formats::bsr::device {

namespace {

// So many lanes as hold whole blocks, up to T of them, walk the blocks of a block row; a warp takes as many block rows
// as it has room for: 27 lanes and one, or 9 lanes and three, for blocks of 3 x 3 in double. Each lane stays at the
// same place of every block that it reads: lane = (block * J + column) * (r / N) + pack loads N rows of one column, N
// rows being up to 16 bytes, J columns side by side: all C of them, or half as many where a block is larger than a warp
// and a lane takes K = 2. A step is as many whole blocks as the lanes hold.
//
// Why so, for the 3 x 3 blocks of a mesh in double, 76 bytes each:
// - Bytes: a step of a warp reads three blocks, 216 neighbouring bytes; five lanes are idle. Block columns and elements
//   of x come from the caches for all but the first lane that asks.
// - Instructions: a lane's column within the block never changes, so that a step is a load of a block column, one of x,
//   one of the matrix, and a multiplication.
// - Order: x is read by plain loads, which stay behind those of the matrix; the compiler moves read-only ones ahead.
// - Latency: a round of steps costs that of a block column and then of x, so that few rounds are worth a comparison a
//   step. The forms differ in how they go from round to round: see bsr.hpp.

// Without a bound on the blocks that run at once, the compiler saves registers: it waits for a load before it asks for
// the next ones.
constexpr int largest_block = 512;

// What a lane reads of the matrix in a round.
template <int Steps, int K, int N, class T>
struct Round {
  static constexpr int steps = Steps;
  std::uint32_t column[Steps];
  T value[Steps][K][N];
};

template <Form form, int C, int N, int K, class T, class Values>
__global__ void __launch_bounds__(largest_block, 1)
    multiply_kernel(BlockView blocks, Values matrix_values, int lanes, T alpha, const T* x, T beta, T* y) {
  constexpr unsigned whole_warp = 0xffffffffU;
  constexpr int J = (C + K - 1) / K;
  constexpr int most = form == Form::ahead ? 4 : 8;  // values of a lane and round
  constexpr int steps = most > N * K ? most / (N * K) : 1;
  const int block_rows_of_warp = cuda::warp_size / lanes;
  const auto warp = (static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x) / cuda::warp_size;
  const int lane_of_warp = static_cast<int>(threadIdx.x) % cuda::warp_size;
  const int group = lane_of_warp / lanes;
  const int lane = lane_of_warp - group * lanes;
  const auto block_row = warp * block_rows_of_warp + group;
  const int packs = blocks.r / N;
  const int at_once = lanes / (packs * J);
  const int phase = lane / packs;
  const int which = phase / J;
  const int j = phase - which * J;
  const bool inside = group < block_rows_of_warp && block_row < blocks.block_rows;
  const std::int32_t first = inside ? blocks.slice_chunks[block_row] : 0;
  const int count = inside ? blocks.slice_chunks[block_row + 1] - first : 0;
  const std::int32_t* block_column = blocks.block_columns + first + which;
  int left = count - which;
  std::int64_t slot =
      (static_cast<std::int64_t>(first) + which) * C * blocks.r + j * blocks.r + (lane - phase * packs) * N;
  const int stride = at_once * C * blocks.r;
  const auto last_column = static_cast<std::uint32_t>(blocks.cols - 1);

  // `all`: no step of the round is past the end. Those that are read nothing of the matrix, and any element of x.
  const auto load_columns = [&](auto& round, int from, bool all) {
#pragma unroll
    for (int s = 0; s < round.steps; ++s) {
      const int step = (from + s) * at_once;
      round.column[s] = all || step < left ? static_cast<std::uint32_t>(load_stream(block_column + step)) : 0;
    }
  };
  const auto load_round = [&](auto& round, int from, bool all) {
#pragma unroll
    for (int s = 0; s < round.steps; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
#pragma unroll
        for (int n = 0; n < N; ++n) round.value[s][k][n] = 0;
        if ((all || (from + s) * at_once < left) && (C % K == 0 || j + k * J < C)) {
          load_values(matrix_values, slot + (from + s) * stride + k * J * blocks.r, round.value[s][k]);
        }
      }
    }
  };
  T sum[N] = {};
  const auto add_round = [&](const auto& round) {
    // Loads do not move past these: all of a round are asked for before any is waited for.
    const auto keep_order = [] {
      if constexpr (form != Form::whole) __syncwarp();
    };
    T element[round.steps][K];
    keep_order();
#pragma unroll
    for (int s = 0; s < round.steps; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        // Past the last column there is no nonzero: any element will do.
        element[s][k] = x[min(round.column[s] * C + j + k * J, last_column)];
      }
    }
    keep_order();
#pragma unroll
    for (int s = 0; s < round.steps; ++s) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
#pragma unroll
        for (int n = 0; n < N; ++n) {
          if (!is_absent(round.value[s][k][n])) sum[n] += round.value[s][k][n] * element[s][k];
        }
      }
    }
    block_column += round.steps * at_once;
    slot += round.steps * stride;
    left -= round.steps * at_once;
  };

  // All lanes of a warp go through their rounds together.
  const auto any_left = [&] { return __any_sync(whole_warp, static_cast<int>(left > 0)) != 0; };
  if constexpr (form == Form::whole) {
    const auto add_steps = [&](auto round) {
      load_columns(round, 0, true);
      load_round(round, 0, true);
      add_round(round);
    };
    while (left > (steps - 1) * at_once) add_steps(Round<steps, K, N, T>{});
    while (left > 0) add_steps(Round<1, K, N, T>{});
  } else if constexpr (form == Form::checked) {
    while (any_left()) {
      Round<steps, K, N, T> round;
      load_columns(round, 0, false);
      load_round(round, 0, false);
      add_round(round);
    }
  } else if constexpr (form == Form::ahead) {
    Round<steps, K, N, T> round;
    load_columns(round, 0, false);
    load_round(round, 0, false);
    while (any_left()) {
      Round<steps, K, N, T> next;
      load_columns(next, steps, false);
      load_round(next, steps, false);
      add_round(round);
      round = next;
    }
  } else {
    // Steps whose block columns the lanes of a block row, packs * J a block, can hold: r is odd where N is 1.
    constexpr int fewest = (N == 1 ? 3 : 1) * J;
    constexpr int held = fewest < steps ? fewest : steps;
    constexpr int loads = (steps + held - 1) / held;
    const std::int32_t* columns = blocks.block_columns + first;
    std::uint32_t next[loads];
    const auto load_next = [&](int from) {
#pragma unroll
      for (int l = 0; l < loads; ++l) {
        const int mine = from + l * held * at_once + lane;
        next[l] = lane < held * at_once && mine < count ? static_cast<std::uint32_t>(load_stream(columns + mine)) : 0;
      }
    };
    load_next(0);
    for (int from = steps * at_once; any_left(); from += steps * at_once) {
      Round<steps, K, N, T> round;
      load_round(round, 0, false);
#pragma unroll
      for (int s = 0; s < steps; ++s) {
        const int holder = lane_of_warp - lane + s % held * at_once + which;
        round.column[s] = __shfl_sync(whole_warp, next[s / held], holder);
      }
      load_next(from);
      add_round(round);
    }
  }

  // Over the columns of all blocks of a step, whose number need not be a power of two.
  for (int live = at_once * J; live > 1;) {
    const int half = (live + 1) / 2;
#pragma unroll
    for (int n = 0; n < N; ++n) {
      const T other = __shfl_down_sync(whole_warp, sum[n], static_cast<unsigned>(half * packs));
      if (phase + half < live) sum[n] += other;
    }
    live = half;
  }
  if (!inside || phase > 0) return;
#pragma unroll
  for (int n = 0; n < N; ++n) {
    const auto row = block_row * blocks.r + lane * N + n;
    if (row < blocks.rows) store_row(y, row, alpha, sum[n], beta);
  }
}

template <int N, int K, class T>
void launch_lanes(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
                  Stream stream) {
  const int of_block = lanes_of_block<T>(blocks.layout.r, blocks.layout.c);
  const int lanes = launch.threads / of_block * of_block;
  const int block_rows_of_warp = cuda::warp_size / lanes;
  const auto warps = (blocks.block_rows + block_rows_of_warp - 1) / block_rows_of_warp;
  const auto grid = cuda::grid_for(warps * cuda::warp_size, launch.block);
  dispatch<AUTOSPMV_BLOCK_SIZES>(blocks.layout.c, [&](auto c) {
    // Of five or seven rows, for the others are loaded two at once.
    if constexpr (K == 1 || columns_of_lane<T>(7, c.value) == K) {
      dispatch<0, 1, 2, 3>(launch.form, [&](auto form) {
        with_block_values(blocks.values, [&](auto values) {
          multiply_kernel<Form{form.value}, c.value, N, K>
              <<<grid, launch.block, 0, stream.handle>>>(view_of(blocks), values, lanes, alpha, x, beta, y);
        });
      });
    }
  });
}

template <int N, class T>
void launch_packs(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
                  Stream stream) {
  if (columns_of_lane<T>(blocks.layout.r, blocks.layout.c) == 1) {
    launch_lanes<N, 1>(blocks, launch, alpha, x, beta, y, stream);
  } else if constexpr (N == 1) {
    launch_lanes<N, 2>(blocks, launch, alpha, x, beta, y, stream);
  }
}

}  // namespace

template <class T>
void multiply(const BlockMatrix<T>& blocks, const BlockLaunch& launch, T alpha, const T* x, T beta, T* y,
              Stream stream) {
  const int rows = rows_of_lane<T>(blocks.layout.r);
  if (rows == 1) {
    launch_packs<1>(blocks, launch, alpha, x, beta, y, stream);
  } else if (rows == 2) {
    launch_packs<2>(blocks, launch, alpha, x, beta, y, stream);
  } else if constexpr (sizeof(T) == 4) {
    launch_packs<4>(blocks, launch, alpha, x, beta, y, stream);
  }
  cuda::check_launch();
}

template void multiply(const BlockMatrix<float>&, const BlockLaunch&, float, const float*, float, float*, Stream);
template void multiply(const BlockMatrix<double>&, const BlockLaunch&, double, const double*, double, double*, Stream);

}  // namespace autospmv::formats::bsr::device
