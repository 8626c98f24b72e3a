#include "formats/csr/csr_merge/csr_merge.hpp"

#include "core/cuda/check.hpp"
#include "core/cuda/early.cuh"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/cuda/warp_search.cuh"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/dispatch.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "formats/common/kernels/segmented.cuh"
#include "formats/csr/csr_rows.hpp"

namespace autospmv::formats::csr_merge::device {

namespace {

using cuda::warp_size;

constexpr int most_block = 256;
constexpr int most_warps = most_block / warp_size;
constexpr int most_items = 15;

// ---- Setup

// A block for each of a product's blocks, and a warp for each of its tiles. The first product of a matrix may wait for
// this: so it is one kernel, and nothing has to be cleared before it.
template <class Offset>
__global__ void __launch_bounds__(most_block)
    lay_tiles_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t steps, int items, std::uint32_t* path,
                     std::int32_t* tile_rows, Crossing* crossings) {
  __shared__ std::uint32_t words[most_warps * most_items];
  __shared__ std::int64_t borders[2];
  __shared__ int ends_of_tile[most_warps];
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int tiles_of_block = static_cast<int>(blockDim.x) / warp_size;
  const std::int64_t tile_steps = std::int64_t{warp_size} * items;
  const std::int64_t block_steps = tile_steps * tiles_of_block;
  const std::int64_t first_step = blockIdx.x * block_steps;
  const std::int64_t next_step = first_step + block_steps;
  std::uint32_t* const tile_words = words + warp * items;
  if (lane < items) tile_words[lane] = 0;
  if (warp < 2) {
    const std::int64_t border = warp == 0 ? first_step : next_step;
    const std::int64_t row = cuda::partition_point_by_warp(
        std::int64_t{0}, rows, [=](std::int64_t before) { return end_step(row_ptr, before) < border; });
    if (lane == 0) borders[warp] = row;
  }
  __syncthreads();
  const auto end_row_at = [&](std::int64_t step) {
    const auto bit = static_cast<int>(step - first_step);
    atomicOr(words + bit / 32, 1U << (bit % 32));
  };
  for (auto row = borders[0] + threadIdx.x; row < borders[1]; row += blockDim.x) end_row_at(end_step(row_ptr, row));
  // Rows that do not exist end in what is left of the last tile.
  const std::int64_t filled = (steps + tile_steps - 1) / tile_steps * tile_steps;
  const std::int64_t last_step = filled < next_step ? filled : next_step;
  for (auto step = steps + threadIdx.x; step < last_step; step += blockDim.x) end_row_at(step);
  __syncthreads();
  const std::uint32_t word = lane < items ? tile_words[lane] : 0;
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) * tiles_of_block + warp;
  if (lane < items) path[tile * items + lane] = word;
  const int ends = sum_lanes<warp_size>(__popc(word));
  if (lane == 0) ends_of_tile[warp] = ends;
  __syncthreads();
  if (lane == 0) {
    std::int64_t row = borders[0];
    for (int before = 0; before < warp; ++before) row += ends_of_tile[before];
    tile_rows[tile] = static_cast<std::int32_t>(row < rows ? row : rows);
  }
  if (threadIdx.x > 0) return;
  const auto blocks = static_cast<std::int32_t>(gridDim.x);
  if (blockIdx.x > 0) crossings[blockIdx.x] = crossing_of(row_ptr, borders[0], block_steps, blocks);
  if (next_step < steps) return;
  const std::int64_t tiles = std::int64_t{blocks} * tiles_of_block;
  path[tiles * items] = 0;
  tile_rows[tiles] = static_cast<std::int32_t>(rows);
}

// ---- Product

template <class T>
struct TilesView {
  std::int64_t steps;  ///< rows + nonzeros
  const std::uint32_t* path;
  const std::int32_t* rows;
  const Crossing* crossings;
  T* parts;
  std::int32_t* parts_arrived;  ///< nullptr: a second kernel adds the parts

  // A block has one part or two: of the row that goes on in it, where that ends there, and of the row it does not end.
  __device__ T* part_begun_before(unsigned block) const { return parts + 2 * static_cast<std::int64_t>(block); }
  __device__ T* part_not_ended(unsigned block) const { return part_begun_before(block) + 1; }
};

/// y = alpha sum + beta y.
template <class T>
struct Output {
  T alpha;
  T beta;
  T* y;

  __device__ __forceinline__ void store(std::int64_t row, T sum) const { store_row(y, row, alpha, sum, beta); }
};

/// What a warp leaves to its block.
template <class T>
struct TileSum {
  T first;        ///< of the first row that ends in the tile, less what tiles before have of it
  T rest;         ///< of the row that does not end in it
  bool ends_row;  ///< otherwise all of the tile is in `rest`
};

// The exclusive scan over lanes of what each has of a row that it does not end; `inclusive` goes up to the lane itself.
// `enders` has a bit for every lane that ends a row.
template <class T>
__device__ __forceinline__ T carry_from_before(T rest, unsigned enders, int lane, T& inclusive) {
  inclusive = segmented_sum(rest, enders | 1U, lane);
  const T carry = __shfl_up_sync(cuda::all_lanes, inclusive, 1);
  return lane == 0 ? T{0} : carry;
}

__device__ __forceinline__ int exclusive_sum(int value, int lane) {
  int sum = value;
#pragma unroll
  for (int distance = 1; distance < warp_size; distance *= 2) {
    const int before = __shfl_up_sync(cuda::all_lanes, sum, static_cast<unsigned>(distance));
    if (lane >= distance) sum += before;
  }
  return sum - value;
}

// The products of a tile, `Items` a lane, of nonzeros lane, lane + 32, ... Past the last nonzero it is the last again,
// from a line that is there anyway: as no load depends on a condition, all of them are under way before the first is
// needed. The barriers only keep the compiler from putting the use of one before the next.
template <int Items, class T, class Values>
__device__ __forceinline__ void load_products(T (&product)[Items], const FullColumns& columns, const Values& values,
                                              int nonzeros, int lane, const T* x) {
  std::int32_t column[Items];
  T value[Items];
#pragma unroll
  for (int i = 0; i < Items; ++i) {
    const int slot = min(lane + i * warp_size, nonzeros - 1);
    column[i] = columns.at(slot);
    value[i] = values.at(slot);
  }
  __syncwarp();
#pragma unroll
  for (int i = 0; i < Items; ++i) product[i] = load_x(x + column[i]);
  __syncwarp();
#pragma unroll
  for (int i = 0; i < Items; ++i) product[i] *= value[i];
}

// A tile with ends of rows: walks its path, of which a lane has `bits`, and stores the rows that end in it but the
// first. The slots hold products, and behind them sums of rows, as many in all as there are steps.
template <int Items, class T>
__device__ __forceinline__ TileSum<T> sum_rows(T (&product)[Items], std::uint32_t bits, T* slots, int nonzeros,
                                               std::int32_t first_row, int rows, int lane, const Output<T>& out) {
  const int rows_before = exclusive_sum(__popc(bits), lane);
#pragma unroll
  for (int i = 0; i < Items; ++i) slots[lane + i * warp_size] = product[i];
  __syncwarp();
  read_products(bits, slots + (lane * Items - rows_before), product);
  __syncwarp();
  T* row_sums = slots + (nonzeros + rows_before);
  const T rest = sum_path(bits, product, row_sums);
  T inclusive;
  const T carry = carry_from_before(rest, __ballot_sync(cuda::all_lanes, bits != 0), lane, inclusive);
  if (bits != 0) *row_sums += carry;
  __syncwarp();
#pragma unroll 1
  for (int row = lane; row < rows; row += warp_size) {
    if (row > 0) out.store(std::int64_t{first_row} + row, slots[nonzeros + row]);
  }
  return {slots[nonzeros], __shfl_sync(cuda::all_lanes, inclusive, warp_size - 1), true};
}

// Adds the parts of a row that crosses blocks and stores it; called by a warp. Other blocks of the same kernel may have
// written the parts, so they are read where these have met.
template <class T>
__device__ __forceinline__ void add_parts(const TilesView<T>& tiles, Crossing crossing, int tiles_of_block, int lane,
                                          const Output<T>& out) {
  T sum = 0;
#pragma unroll 8
  for (auto block = crossing.first + lane; block <= crossing.last; block += warp_size) {
    sum += __ldcg(tiles.part_not_ended(static_cast<unsigned>(block) - 1));
  }
  sum = sum_lanes<warp_size>(sum);
  if (lane == 0) {
    sum += __ldcg(tiles.part_begun_before(static_cast<unsigned>(crossing.last)));
    out.store(tiles.rows[static_cast<std::int64_t>(crossing.last) * tiles_of_block], sum);
  }
}

// Says that this block's parts are there, lane 0 for the row that it begins in and lane 1 for the one that it stops in.
// Whoever says so last for a row adds its parts.
template <class T>
__device__ __forceinline__ void arrive(const TilesView<T>& tiles, bool ends_row, int tiles_of_block, int lane,
                                       const Output<T>& out) {
  const bool has_part = lane == 0 ? ends_row && blockIdx.x > 0 : lane == 1 && blockIdx.x + 1 < gridDim.x;
  Crossing crossing{};
  bool complete = false;
  if (has_part) {
    crossing = tiles.crossings[blockIdx.x + static_cast<unsigned>(lane)];
    const int parts = crossing.last - crossing.first + 2;
    __threadfence();
    complete = atomicAdd(tiles.parts_arrived + crossing.last, 1) == parts - 1;
  }
  for (unsigned left = __ballot_sync(cuda::all_lanes, complete); left != 0; left &= left - 1) {
    const int leader = __ffs(static_cast<int>(left)) - 1;
    const Crossing whole{__shfl_sync(cuda::all_lanes, crossing.first, leader),
                         __shfl_sync(cuda::all_lanes, crossing.last, leader)};
    __threadfence();
    add_parts(tiles, whole, tiles_of_block, lane, out);
    if (lane == 0) tiles.parts_arrived[whole.last] = 0;
  }
}

// Joins the tiles of a block: stores the first rows that end in each, and leaves parts of those that cross blocks.
template <class T>
__device__ __forceinline__ void join_tiles(const TilesView<T>& tiles, const TileSum<T>* sums, int tiles_of_block,
                                           int lane, const Output<T>& out) {
  const bool inside = lane < tiles_of_block;
  const TileSum<T> sum = inside ? sums[lane] : TileSum<T>{};
  const unsigned enders = __ballot_sync(cuda::all_lanes, sum.ends_row);
  T inclusive;
  const T carry = carry_from_before(sum.rest, enders, lane, inclusive);
  if (sum.ends_row) {
    const bool begun_before = blockIdx.x > 0 && (enders & ((1U << lane) - 1)) == 0;
    if (begun_before) {
      *tiles.part_begun_before(blockIdx.x) = carry + sum.first;
    } else {
      out.store(tiles.rows[static_cast<std::int64_t>(blockIdx.x) * tiles_of_block + lane], carry + sum.first);
    }
  }
  if (lane == tiles_of_block - 1) *tiles.part_not_ended(blockIdx.x) = inclusive;
  if (tiles.parts_arrived == nullptr) return;
  __syncwarp();
  arrive(tiles, enders != 0, tiles_of_block, lane, out);
}

// Blocks of a multiprocessor whose threads have registers for all values and elements of x that are under way. Left to
// itself, the compiler saves registers by waiting in between.
template <int Items, class T>
constexpr int resident_blocks() {
  constexpr int registers_under_way = 2 * Items * static_cast<int>(sizeof(T)) / 4;
  constexpr int fitting = registers_under_way <= 22 ? 6 : registers_under_way <= 44 ? 4 : 3;
  return cuda::resident_blocks(fitting, most_block);
}

template <int Items, class T, class Values>
__global__ void __launch_bounds__(most_block, (resident_blocks<Items, T>()))
    multiply_kernel(TilesView<T> tiles, FullColumns columns, Values values, CachePolicy policy, const T* x,
                    Output<T> out) {
  extern __shared__ __align__(16) unsigned char dynamic_shared[];
  __shared__ TileSum<T> sums[most_warps];
  constexpr int tile_steps = warp_size * Items;
  const int lane = static_cast<int>(threadIdx.x) % warp_size;
  const int warp = static_cast<int>(threadIdx.x) / warp_size;
  const int tiles_of_block = static_cast<int>(blockDim.x) / warp_size;
  const auto tile = static_cast<std::int64_t>(blockIdx.x) * tiles_of_block + warp;
  const std::uint32_t bits = path_bits(tiles.path + tile * Items, lane * Items, Items);
  const std::int32_t first_row = tiles.rows[tile];
  const std::int32_t last_row = tiles.rows[tile + 1];
  const auto first_step = min(static_cast<long long>(tile * tile_steps), static_cast<long long>(tiles.steps));
  const auto last_step = min(static_cast<long long>(first_step + tile_steps), static_cast<long long>(tiles.steps));
  const int rows = last_row - first_row;
  const int nonzeros = static_cast<int>(last_step - first_step) - rows;

  columns.open(0, policy);
  cuda::await_before();
  values.open(policy);
  T product[Items] = {};
  if (nonzeros > 0) {
    const std::int64_t first = first_step - first_row;
    load_products(product, columns.from(first), values.from(first), nonzeros, lane, x);
  }
  TileSum<T> sum{T{0}, T{0}, false};
  if (rows > 0) {
    T* slots = reinterpret_cast<T*>(dynamic_shared) + warp * tile_steps;
    sum = sum_rows(product, bits, slots, nonzeros, first_row, rows, lane, out);
  } else {
#pragma unroll
    for (int i = 0; i < Items; ++i) sum.rest += product[i];
    sum.rest = sum_lanes<warp_size>(sum.rest);
  }
  if (lane == 0) sums[warp] = sum;
  __syncthreads();
  if (warp == 0) join_tiles(tiles, sums, tiles_of_block, lane, out);
}

// A warp a boundary between blocks.
template <class T>
__global__ void fix_up_kernel(TilesView<T> tiles, std::int32_t blocks, int tiles_of_block, Output<T> out) {
  const auto boundary = cuda::global_thread() / warp_size + 1;
  cuda::await_before();
  if (boundary >= blocks) return;
  const auto crossing = tiles.crossings[boundary];
  if (crossing.first != boundary) return;
  add_parts(tiles, crossing, tiles_of_block, static_cast<int>(threadIdx.x) % warp_size, out);
}

}  // namespace

template <class T>
Tiles lay_tiles(const CsrView<T>& matrix, const TileShape& shape, Place place, Stream stream) {
  Tiles tiles;
  tiles.shape = shape;
  const auto steps = matrix.rows + matrix.nnz;
  const auto tile_steps = shape.tile_steps();
  const int tiles_of_block = shape.block / warp_size;
  tiles.blocks = static_cast<std::int32_t>((steps + shape.block_steps() - 1) / shape.block_steps());
  const auto count = std::int64_t{tiles.blocks} * tiles_of_block;
  tiles.path = Array<std::uint32_t>(static_cast<std::size_t>(path_words(count * tile_steps)), place);
  tiles.rows = Array<std::int32_t>(static_cast<std::size_t>(count) + 1, place);
  tiles.crossings = Array<Crossing>(static_cast<std::size_t>(tiles.blocks), place);
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    lay_tiles_kernel<<<static_cast<unsigned>(tiles.blocks), static_cast<unsigned>(shape.block), 0,
                       cuda::InTurn(stream)>>>(row_ptr, matrix.rows, steps, shape.items, tiles.path.data(),
                                               tiles.rows.data(), tiles.crossings.data());
  });
  cuda::check_launch();
  return tiles;
}

template <class T>
Parts<T> make_parts(const Tiles& tiles, Place place, Stream stream) {
  const auto blocks = static_cast<std::size_t>(tiles.blocks);
  Parts<T> parts{Array<T>(2 * blocks, place), Array<std::int32_t>(tiles.shape.one_kernel ? blocks : 0, place)};
  fill_bytes(parts.arrived.data(), 0, static_cast<std::size_t>(parts.arrived.bytes()), place, stream);
  return parts;
}

template <class T>
void multiply(const CsrView<T>& matrix, const std::int32_t* columns, const EncodedValues<T>& values, const Tiles& tiles,
              Parts<T>& parts, T alpha, const T* x, T beta, T* y, Stream stream) {
  const auto& shape = tiles.shape;
  const TilesView<T> view{matrix.rows + matrix.nnz, tiles.path.data(),
                          tiles.rows.data(),        tiles.crossings.data(),
                          parts.sums.data(),        shape.one_kernel ? parts.arrived.data() : nullptr};
  const Output<T> out{alpha, beta, y};
  const auto policy = policy_for<T>(matrix.bytes(), matrix.rows, matrix.cols);
  dispatch<3, 7, 11, 15>(shape.items, [&](auto items) {
    with_values_of(matrix, values, [&](const auto& reader) {
      const auto shared_bytes = static_cast<std::size_t>(shape.block_steps()) * sizeof(T);
      cuda::launch_early(multiply_kernel<items.value, T, std::decay_t<decltype(reader)>>,
                         static_cast<unsigned>(tiles.blocks), shape.block, shared_bytes, stream, view,
                         FullColumns{columns}, reader, policy, x, out);
    });
  });
  if (shape.one_kernel || tiles.blocks < 2) return;
  const auto grid = cuda::grid_for(std::int64_t{tiles.blocks - 1} * warp_size);
  cuda::launch_early(fix_up_kernel<T>, grid, cuda::default_block, 0, stream, view, tiles.blocks,
                     shape.block / warp_size, out);
}

#define AUTOSPMV_MERGE(T)                                                                                             \
  template Tiles lay_tiles(const CsrView<T>&, const TileShape&, Place, Stream);                                       \
  template Parts<T> make_parts(const Tiles&, Place, Stream);                                                          \
  template void multiply(const CsrView<T>&, const std::int32_t*, const EncodedValues<T>&, const Tiles&, Parts<T>&, T, \
                         const T*, T, T*, Stream);
AUTOSPMV_MERGE(float)
AUTOSPMV_MERGE(double)
#undef AUTOSPMV_MERGE

}  // namespace autospmv::formats::csr_merge::device
