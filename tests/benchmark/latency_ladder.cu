// What each step of a small product costs that waits for the step before it, on the first CUDA device, by hand:
//     benchmark_latency
// Kernels from an empty one to a whole product and on to two that follow each other, each rung one step longer than the
// rung that it is compared with ("over"), in the shapes of small matrices: so many blocks of so many threads, T of them
// a row. All data fit into the L2. Times are microseconds a product, replayed from a CUDA graph and, as "loop",
// launched one by one into a stream; "+" is the difference of the replayed ones. Every y is checked.
#include <cooperative_groups.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/array.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/threads.cuh"
#include "core/device.hpp"
#include "core/random.hpp"
#include "formats/common/kernel.cuh"
#include "formats/common/row_bins.hpp"
#include "tuner/meter.hpp"

namespace autospmv {

namespace {

using formats::load_stream;
using formats::load_x;

constexpr int grids[] = {1, 132, 528, 2112};
constexpr int blocks[] = {128, 256};
constexpr int most_threads = 2112 * 256;
constexpr int cluster = 8;             // blocks that share a row
constexpr int launches_in_a_row = 16;  // of programmatic ones, which need a kernel before them
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Columns and values wrap round, and so are few enough for the L2 whatever the shape.
constexpr int slots = 1 << 19;
constexpr int cols = 1 << 17;

// ---- Data

// What kernels read. The entries of row r are at [offsets[r], offsets[r + 1]).
struct View {
  int rows;
  const int* offsets;
  const int4* records;   // at p, of row row_ids[p]: {start, length, row, 0}
  const int* row_ids;    // neighbours change places
  const int4* bins;      // of each block: {first block, first position, 0, 0}
  const int* columns;    // neighbours for neighbouring entries
  const int* scattered;  // anywhere
  const double* values;
  const double* x;
  double* y;
  double* partial;
  unsigned* done;
  int no_index;  // what no index and no value is: the compiler cannot know, so it loads what is compared with them
  double no_value;
};

// Rows of T * `entries` entries, `entries` a thread; a row at which the slots begin anew has none.
class Data {
 public:
  Data(int T, int entries, Place place) : length_(T * entries) {
    const int rows = most_threads / T;
    offsets_.resize(rows + 1);
    for (int row = 0; row <= rows; ++row) offsets_[row] = row % (slots / length_ + 1) * length_;
    std::vector<int> row_ids(rows);
    std::vector<int4> records(rows);
    for (int p = 0; p < rows; ++p) {
      const int row = p ^ 1;
      row_ids[p] = row;
      records[p] = {offsets_[row], std::max(0, offsets_[row + 1] - offsets_[row]), row, 0};
    }
    columns_.resize(slots);
    scattered_.resize(slots);
    values_.resize(slots);
    x_.resize(cols);
    for (int i = 0; i < slots; ++i) {
      constexpr int width = 8;
      columns_[i] = static_cast<int>((i / length_ + random_bits(1, i) % width) % cols);
      scattered_[i] = static_cast<int>(random_bits(2, i) % cols);
      values_[i] = static_cast<double>(random_bits(3, i) % 8) + 1;
    }
    for (int i = 0; i < cols; ++i) x_[i] = static_cast<double>(random_bits(4, i) % 8) + 1;
    device_offsets_ = upload(offsets_, place);
    device_records_ = upload(records, place);
    device_row_ids_ = upload(row_ids, place);
    device_columns_ = upload(columns_, place);
    device_scattered_ = upload(scattered_, place);
    device_values_ = upload(values_, place);
    device_x_ = upload(x_, place);
  }

  [[nodiscard]] View view() const {
    View view{};
    view.offsets = device_offsets_.data();
    view.records = device_records_.data();
    view.row_ids = device_row_ids_.data();
    view.columns = device_columns_.data();
    view.scattered = device_scattered_.data();
    view.values = device_values_.data();
    view.x = device_x_.data();
    view.no_index = -1;
    view.no_value = -1;
    return view;
  }

  /// The sums of the first rows, exact: all are small integers.
  [[nodiscard]] std::vector<double> sums(int rows) const {
    std::vector<double> sums(rows);
    for (int row = 0; row < rows; ++row) {
      for (int k = offsets_[row]; k < offsets_[row + 1]; ++k) sums[row] += values_[k] * x_[columns_[k]];
    }
    return sums;
  }

 private:
  template <class V>
  static Array<V> upload(const std::vector<V>& from, Place place) {
    return Array<V>::copy_of(std::span<const V>(from), place);
  }

  int length_;
  std::vector<int> offsets_;
  std::vector<int> columns_;
  std::vector<int> scattered_;
  std::vector<double> values_;
  std::vector<double> x_;
  Array<int> device_offsets_;
  Array<int4> device_records_;
  Array<int> device_row_ids_;
  Array<int> device_columns_;
  Array<int> device_scattered_;
  Array<double> device_values_;
  Array<double> device_x_;
};

// ---- Steps

struct Row {
  int first;
  int last;
  int number;
};

__device__ __forceinline__ Row by_offsets(const View& v, int row) {
  return {load_stream(v.offsets + row), load_stream(v.offsets + row + 1), row};
}

__device__ __forceinline__ Row by_record(const View& v, int position) {
  const int4 record = load_stream(v.records + position);
  return {record.x, record.x + record.y, record.z};
}

__device__ __forceinline__ Row by_id(const View& v, int position) {
  return by_offsets(v, load_stream(v.row_ids + position));
}

// Waits for what was loaded, and never stores.
__device__ __forceinline__ void await(const View& v, int index) {
  if (index == v.no_index) v.y[0] = 0;
}
__device__ __forceinline__ void await(const View& v, double value) {
  if (value == v.no_value) v.y[0] = 0;
}

// The one entry of a thread.
__device__ __forceinline__ double product(const View& v, const int* columns, const Row& row, int lane) {
  const int k = row.first + lane;
  if (k >= row.last) return 0;
  const int column = load_stream(columns + k);
  const double value = load_stream(v.values + k);
  return value * load_x(v.x + column);
}

__device__ __forceinline__ void store(const View& v, const Row& row, int lane, double sum) {
  if (lane == 0) v.y[row.number] = sum;
}

// One entry after another: none is asked for before the one before it is added.
template <int T>
__device__ __forceinline__ double one_by_one(const View& v, int first, int last) {
  double sum = 0;
#pragma unroll 1
  for (int k = first; k < last; k += T) {
    sum += load_stream(v.values + k) * load_x(v.x + load_stream(v.columns + k));
  }
  return sum;
}

enum class Tail : std::uint8_t { one_by_one, masked, repeated };

// Batches of which all columns are asked for before the first element of x, and all of these before the first sum.
// What is left of a row: one by one, or a batch of which some loads are left out, or load its last entry again.
template <int T, int batch, Tail tail>
__device__ __forceinline__ double in_batches(const View& v, int first, int last) {
  double sum = 0;
  int k = first;
  const int whole = tail == Tail::one_by_one ? last - (batch - 1) * T : last;
#pragma unroll 1
  for (; k < whole; k += batch * T) {
    int column[batch];
    double value[batch];
    double element[batch];
    const int left = last - k - 1;
    const auto inside = [&](int u) { return tail == Tail::one_by_one || u * T <= left; };
    const auto at = [&](int u) { return tail == Tail::repeated ? k + min(u * T, left) : k + u * T; };
#pragma unroll
    for (int u = 0; u < batch; ++u) column[u] = tail != Tail::masked || inside(u) ? load_stream(v.columns + at(u)) : 0;
#pragma unroll
    for (int u = 0; u < batch; ++u) value[u] = tail != Tail::masked || inside(u) ? load_stream(v.values + at(u)) : 0;
#pragma unroll
    for (int u = 0; u < batch; ++u) element[u] = load_x(v.x + column[u]);
#pragma unroll
    for (int u = 0; u < batch; ++u) sum = inside(u) ? sum + value[u] * element[u] : sum;
  }
  if constexpr (tail == Tail::one_by_one) sum += one_by_one<T>(v, k, last);
  return sum;
}

struct Empty {
  template <int T>
  static __device__ void run(const View& /*v*/, int /*position*/, int /*lane*/) {}
};

struct Record {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    const auto row = by_record(v, position);
    await(v, row.first + row.last + row.number + lane);
  }
};

struct Offsets {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    const auto row = by_offsets(v, position);
    await(v, row.first + row.last + lane);
  }
};

struct Column {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    const auto row = by_offsets(v, position);
    if (row.first + lane < row.last) await(v, load_stream(v.columns + row.first + lane));
  }
};

struct Value {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    const auto row = by_offsets(v, position);
    const int k = row.first + lane;
    if (k < row.last) await(v, load_stream(v.columns + k) + load_stream(v.values + k));
  }
};

struct Gather {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    await(v, product(v, v.columns, by_offsets(v, position), lane));
  }
};

struct ScatteredGather {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    await(v, product(v, v.scattered, by_offsets(v, position), lane));
  }
};

struct Sum {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    await(v, formats::sum_lanes<T>(product(v, v.columns, by_offsets(v, position), lane)));
  }
};

template <Row (*find)(const View&, int)>
struct Product {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    const auto row = find(v, position);
    store(v, row, lane, formats::sum_lanes<T>(product(v, v.columns, row, lane)));
  }
};

struct ProductOfBin {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    const int4 bin = load_stream(v.bins + blockIdx.x);
    const int in_bin = (static_cast<int>(blockIdx.x) - bin.x) * static_cast<int>(blockDim.x / T);
    const auto row = by_id(v, bin.y + in_bin + static_cast<int>(threadIdx.x) / T);
    store(v, row, lane, formats::sum_lanes<T>(product(v, v.columns, row, lane)));
  }
};

struct OneByOne {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    const auto row = by_offsets(v, position);
    store(v, row, lane, formats::sum_lanes<T>(one_by_one<T>(v, row.first + lane, row.last)));
  }
};

template <int batch, Tail tail>
struct Batches {
  template <int T>
  static __device__ void run(const View& v, int position, int lane) {
    const auto row = by_offsets(v, position);
    store(v, row, lane, formats::sum_lanes<T>(in_batches<T, batch, tail>(v, row.first + lane, row.last)));
  }
};

// That one block a multiprocessor is enough is said for the compiler, which would spare registers by waiting for one
// load before the next.
template <class Step, int T>
__global__ void __launch_bounds__(256, 1) step_kernel(const __grid_constant__ View v) {
  const auto thread = static_cast<int>(cuda::global_thread());
  if (thread / T < v.rows) Step::template run<T>(v, thread / T, thread % T);
}

template <int T>
__global__ void table_kernel(const __grid_constant__ View v, const __grid_constant__ formats::BinTable table) {
  const auto seat = table.seat_of(blockIdx.x, static_cast<int>(threadIdx.x));
  if (!seat.inside) return;
  const auto row = by_id(v, static_cast<int>(seat.position));
  const auto lane = static_cast<int>(seat.lane);
  store(v, row, lane, formats::sum_lanes<T>(product(v, v.columns, row, lane)));
}

// ---- Two kernels, and rows that blocks share

__device__ __forceinline__ void let_next_begin() {
#if __CUDA_ARCH__ >= 900
  cudaTriggerProgrammaticLaunchCompletion();
#endif
}

__device__ __forceinline__ void await_kernel_before() {
#if __CUDA_ARCH__ >= 900
  cudaGridDependencySynchronize();
#endif
}

// A product that lets the kernel after it begin, and asks for its own part of the matrix before it waits for the kernel
// before it.
template <int T, bool into_partial>
__global__ void early_product_kernel(const __grid_constant__ View v) {
  let_next_begin();
  const auto thread = static_cast<int>(cuda::global_thread());
  const int lane = thread % T;
  const bool inside = thread / T < v.rows;
  const Row row = inside ? by_offsets(v, thread / T) : Row{0, 0, 0};
  const int k = row.first + lane;
  const bool has_entry = k < row.last;
  const int column = has_entry ? load_stream(v.columns + k) : 0;
  const double value = has_entry ? load_stream(v.values + k) : 0;
  await_kernel_before();
  const double sum = formats::sum_lanes<T>(value * load_x(v.x + column));
  if (inside && lane == 0) (into_partial ? v.partial : v.y)[row.number] = sum;
}

__global__ void empty_kernel() {}

// y[i] = the sum of `count` partial sums.
__global__ void finish_kernel(const __grid_constant__ View v, int size, int count) {
  let_next_begin();
  await_kernel_before();
  const auto i = static_cast<int>(cuda::global_thread());
  if (i >= size) return;
  double sum = 0;
  for (int other = 0; other < count; ++other) sum += __ldcg(v.partial + i * count + other);
  v.y[i] = sum;
}

// What a block has of a row that is its own: right in thread 0.
template <int T>
__device__ __forceinline__ double sum_of_block(const View& v) {
  __shared__ double of_warp[formats::most_warps];
  const auto thread = static_cast<int>(cuda::global_thread());
  const double entry = thread / T < v.rows ? product(v, v.columns, by_offsets(v, thread / T), thread % T) : 0;
  const auto in_block = static_cast<int>(threadIdx.x);
  return formats::sum_threads(entry, in_block, static_cast<int>(blockDim.x), of_warp);
}

template <int T>
__global__ void block_sum_kernel(const __grid_constant__ View v, double* to) {
  const double sum = sum_of_block<T>(v);
  if (threadIdx.x == 0) to[blockIdx.x] = sum;
}

template <int T>
__global__ void cluster_sum_kernel(const __grid_constant__ View v) {
#if __CUDA_ARCH__ >= 900
  __shared__ double of_block[cluster];
  namespace cg = cooperative_groups;
  const auto mine = cg::this_cluster();
  // The first block must have begun before others write to its shared memory.
  cg::cluster_group::arrival_token begun = mine.barrier_arrive();
  const double sum = sum_of_block<T>(v);
  mine.barrier_wait(std::move(begun));
  if (threadIdx.x == 0) mine.map_shared_rank(of_block, 0)[mine.block_rank()] = sum;
  mine.sync();
  if (mine.block_rank() != 0 || threadIdx.x != 0) return;
  double all = 0;
  for (const double part : of_block) all += part;
  v.y[blockIdx.x / cluster] = all;
#else
  static_cast<void>(v);
#endif
}

template <int T>
__global__ void last_block_kernel(const __grid_constant__ View v) {
  const double sum = sum_of_block<T>(v);
  if (threadIdx.x != 0) return;
  v.partial[blockIdx.x] = sum;
  __threadfence();
  if (atomicInc(v.done + blockIdx.x / cluster, cluster - 1) != cluster - 1) return;
  __threadfence();
  double all = 0;
  const auto first = blockIdx.x / cluster * cluster;
  for (unsigned other = 0; other < cluster; ++other) all += __ldcg(v.partial + first + other);
  v.y[blockIdx.x / cluster] = all;
}

// ---- Rungs

// What y holds: nothing, the sum of every row, of every block, or of every cluster of blocks.
enum class Result : std::uint8_t { none, rows, blocks, clusters };

struct Rung {
  const char* name;
  int over;  // the rung that it is compared with
  int entries;
  Result result;
  int launches;  // products of a call
  std::function<void(View, Stream)> launch;
};

struct Shape {
  int grid;
  int block;

  [[nodiscard]] int threads() const { return grid * block; }
};

struct Attributes {
  bool programmatic = false;
  unsigned cluster = 0;
};

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned grid, int block, Stream stream, Attributes wanted,
            Arguments... arguments) {
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = static_cast<unsigned>(block);
  config.stream = stream.handle;
  config.attrs = attributes;
  if (wanted.programmatic) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (wanted.cluster > 0) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {wanted.cluster, 1, 1};
  }
  cuda::check(cudaLaunchKernelEx(&config, kernel, arguments...));
}

template <int T>
std::vector<Rung> ladder(Shape shape, bool hopper) {
  const auto grid = static_cast<unsigned>(shape.grid);
  const int block = shape.block;
  const int row_count = shape.threads() / T;
  const auto finish_grid = cuda::grid_for(row_count);
  constexpr Attributes ordinary{};
  constexpr Attributes programmatic{.programmatic = true};
  std::vector<Rung> rungs;
  const auto add = [&](const char* name, int over, int entries, Result result, auto&& run, int launches = 1) {
    rungs.push_back({name, over, entries, result, launches, run});
  };
  const auto add_step = [&]<class Step>(const char* name, int over, int entries, Result result, Step) {
    add(name, over, entries, result,
        [=](View v, Stream stream) { launch(step_kernel<Step, T>, grid, block, stream, ordinary, v); });
  };
  using enum Result;
  add_step("empty kernel", 0, 1, none, Empty{});
  add_step("record of 16 bytes", 0, 1, none, Record{});
  add_step("two offsets of 4 bytes", 0, 1, none, Offsets{});
  add_step("+ column", 2, 1, none, Column{});
  add_step("+ value beside it", 3, 1, none, Value{});
  add_step("+ x, near columns", 4, 1, none, Gather{});
  add_step("+ x, scattered columns", 4, 1, none, ScatteredGather{});
  add_step("+ sum over T lanes", 5, 1, none, Sum{});
  add_step("+ y: a product", 7, 1, Result::rows, Product<by_offsets>{});
  add_step("record, column, x, y", 8, 1, Result::rows, Product<by_record>{});
  add_step("row id, offsets, column, x, y", 9, 1, Result::rows, Product<by_id>{});
  add_step("bin, row id, offsets, column, x, y", 9, 1, Result::rows, ProductOfBin{});
  formats::RowBin bins[8];
  const int bin_count = std::min(shape.grid, 8);
  for (int bin = 0; bin < bin_count; ++bin) {
    const auto end_of = [&](int of) { return std::int64_t{row_count} * of / bin_count; };
    bins[bin] = {.first = end_of(bin), .last = end_of(bin + 1), .log_threads = std::countr_zero(unsigned{T})};
  }
  const auto table = formats::table_of(bins, bin_count, block);
  add("the same, bins among the arguments", 9, 1, Result::rows, [=](View v, Stream stream) {
    launch(table_kernel<T>, static_cast<unsigned>(table.blocks), block, stream, ordinary, v, table);
  });
  add_step("4 entries, one by one", 8, 4, Result::rows, OneByOne{});
  add_step("4 entries, a batch of 4", 13, 4, Result::rows, Batches<4, Tail::one_by_one>{});
  add_step("7 entries, one by one", 8, 7, Result::rows, OneByOne{});
  add_step("7 entries, a batch of 4, then one by one", 15, 7, Result::rows, Batches<4, Tail::one_by_one>{});
  add_step("7 entries, batches of 4, masked", 15, 7, Result::rows, Batches<4, Tail::masked>{});
  add_step("7 entries, a batch of 8, masked", 15, 7, Result::rows, Batches<8, Tail::masked>{});
  add_step("7 entries, a batch of 8, the last again", 15, 7, Result::rows, Batches<8, Tail::repeated>{});
  add("product, then an empty kernel", 8, 1, Result::rows, [=](View v, Stream stream) {
    launch(step_kernel<Product<by_offsets>, T>, grid, block, stream, ordinary, v);
    launch(empty_kernel, 1, 32, stream, ordinary);
  });
  const auto two_kernels = [=](View v, Stream stream, Attributes first, Attributes second) {
    launch(early_product_kernel<T, true>, grid, block, stream, first, v);
    launch(finish_kernel, finish_grid, cuda::default_block, stream, second, v, row_count, 1);
  };
  add("product, then a kernel that adds to y", 8, 1, Result::rows,
      [=](View v, Stream stream) { two_kernels(v, stream, ordinary, ordinary); });
  if (hopper) {
    add("the same, the second one programmatic", 21, 1, Result::rows,
        [=](View v, Stream stream) { two_kernels(v, stream, ordinary, programmatic); });
    add(
        "the same, both (31 of 32 launches)", 21, 1, Result::rows,
        [=](View v, Stream stream) {
          for (int i = 0; i < launches_in_a_row; ++i) {
            two_kernels(v, stream, i == 0 ? ordinary : programmatic, programmatic);
          }
        },
        launches_in_a_row);
    add(
        "a product, programmatic (15 of 16 launches)", 8, 1, Result::rows,
        [=](View v, Stream stream) {
          for (int i = 0; i < launches_in_a_row; ++i) {
            launch(early_product_kernel<T, false>, grid, block, stream, i == 0 ? ordinary : programmatic, v);
          }
        },
        launches_in_a_row);
  }
  add("product, summed over a block", 8, 1, Result::blocks,
      [=](View v, Stream stream) { launch(block_sum_kernel<T>, grid, block, stream, ordinary, v, v.y); });
  if (shape.grid % cluster != 0) return rungs;
  const int over = static_cast<int>(rungs.size()) - 1;
  if (hopper) {
    add("summed over 8 blocks: a cluster", over, 1, Result::clusters, [=](View v, Stream stream) {
      launch(cluster_sum_kernel<T>, grid, block, stream, Attributes{.cluster = cluster}, v);
    });
  }
  add("summed over 8 blocks: by the last of them", over, 1, Result::clusters,
      [=](View v, Stream stream) { launch(last_block_kernel<T>, grid, block, stream, ordinary, v); });
  add("summed over 8 blocks: by a second kernel", over, 1, Result::clusters, [=](View v, Stream stream) {
    launch(block_sum_kernel<T>, grid, block, stream, ordinary, v, v.partial);
    const int size = shape.grid / cluster;
    launch(finish_kernel, cuda::grid_for(size), cuda::default_block, stream, ordinary, v, size, cluster);
  });
  return rungs;
}

// ---- Measuring

struct Times {
  double graph = unknown;  // microseconds a product
  double loop = unknown;
};

// What must lie in y.
std::vector<double> expected(const Data& data, Result result, Shape shape, int T) {
  const auto rows = data.sums(shape.threads() / T);
  if (result == Result::rows) return rows;
  const int together = shape.block / T * (result == Result::clusters ? cluster : 1);
  std::vector<double> sums(rows.size() / together);
  for (std::size_t row = 0; row < sums.size() * together; ++row) sums[row / together] += rows[row];
  return sums;
}

void check_result(const Rung& rung, const View& view, const std::vector<double>& sums, Array<double>& y,
                  const Device& device) {
  const auto stream = setup_stream(device);
  fill_bytes(y.data(), 0xff, static_cast<std::size_t>(y.bytes()), device, stream);
  rung.launch(view, stream);
  const auto got = y.to_vector();
  if (!std::equal(sums.begin(), sums.end(), got.begin())) throw Error(std::string("wrong sums: ") + rung.name);
}

Times measure(const Rung& rung, const View& view, const Device& device) {
  constexpr double as_long_as_it_gets = 1;  // 100 repetitions
  constexpr int warm_samples = 9;
  constexpr int loop_samples = 5;
  Patience patience;
  const auto product = make_timed_product(
      device, [&](Stream stream) { rung.launch(view, stream); },
      rung.launches > 1 ? long_sample.device : as_long_as_it_gets, patience);
  Samples warm;
  Samples loop;
  for (int i = 0; i < warm_samples; ++i) warm.add(product->warm_sample());
  for (int i = 0; i < loop_samples; ++i) loop.add(product->loop_sample());
  const double us = 1e6 / rung.launches;
  return {warm.timing().median * us, loop.timing().median * us};
}

void print_number(int width, int decimals, double number) {
  if (std::isnan(number)) {
    std::printf("%*s", width, "-");
  } else {
    std::printf("%*.*f", width, decimals, number);
  }
}

template <int T>
void climb(const Device& device, bool hopper) {
  const Data data[] = {{T, 1, device}, {T, 4, device}, {T, 7, device}};
  Array<double> y(most_threads, device);
  Array<double> partial(most_threads, device);
  Array<unsigned> done(static_cast<std::size_t>(grids[std::size(grids) - 1]), device);
  fill_bytes(done.data(), 0, static_cast<std::size_t>(done.bytes()), device, setup_stream(device));
  for (const int block : blocks) {
    std::vector<std::vector<Times>> times;
    std::vector<const char*> names;
    std::vector<int> over;
    for (const int grid : grids) {
      const Shape shape{grid, block};
      std::vector<int4> bins(static_cast<std::size_t>(grid));
      for (int b = 0; b < grid; ++b) bins[static_cast<std::size_t>(b)] = {b & ~7, (b & ~7) * (block / T), 0, 0};
      const auto device_bins = Array<int4>::copy_of(std::span<const int4>(bins), device);
      std::vector<Times> of_shape;
      const auto rungs = ladder<T>(shape, hopper);
      for (const auto& rung : rungs) {
        const Data& of_rung = data[rung.entries == 1 ? 0 : rung.entries == 4 ? 1 : 2];
        View view = of_rung.view();
        view.rows = shape.threads() / T;
        view.bins = device_bins.data();
        view.y = y.data();
        view.partial = partial.data();
        view.done = done.data();
        if (rung.result != Result::none) {
          check_result(rung, view, expected(of_rung, rung.result, shape, T), y, device);
        }
        of_shape.push_back(measure(rung, view, device));
      }
      times.push_back(std::move(of_shape));
      for (std::size_t i = names.size(); i < rungs.size(); ++i) {
        names.push_back(rungs[i].name);
        over.push_back(rungs[i].over);
      }
    }
    std::printf("\n%d threads a row, blocks of %d threads: us a product\n%46s  over", T, block, "blocks");
    for (const int grid : grids) std::printf("  | %7d       +     loop", grid);
    std::printf("\n");
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::printf("%2zu %-43s  %4d", i, names[i], over[i]);
      for (const auto& of_shape : times) {
        const bool known = i < of_shape.size();
        const auto below = static_cast<std::size_t>(over[i]);
        std::printf("  |");
        print_number(8, 3, known ? of_shape[i].graph : unknown);
        print_number(8, 3, known && i > 0 ? of_shape[i].graph - of_shape[below].graph : unknown);
        print_number(9, 2, known ? of_shape[i].loop : unknown);
      }
      std::printf("\n");
    }
    std::fflush(stdout);
  }
}

void run() {
  const auto devices = cuda_devices();
  if (devices.empty()) throw Error("there is no CUDA device");
  const Device& device = devices.front();
  const DeviceScope scope(device);
  int major = 0;
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.ordinal));
  std::printf("%s, toolkit %s, driver %s, copy %.0f GB/s\n", device.name.c_str(), device.toolkit.c_str(),
              device.driver.c_str(), measure_copy_bandwidth(device).bytes_a_second * 1e-9);
  climb<1>(device, major >= 9);
  climb<4>(device, major >= 9);
  climb<32>(device, major >= 9);
}

}  // namespace

}  // namespace autospmv

int main() {
  try {
    autospmv::run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "benchmark_latency: %s\n", error.what());
    return 1;
  }
}
