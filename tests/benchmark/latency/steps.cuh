// The steps of a product, one kernel for each: every thread has an entry of a row, or several.
#pragma once

#include <cstdint>

#include "core/cuda/threads.cuh"
#include "formats/binned/row_bins.hpp"
#include "formats/common/kernels/kernel.cuh"
#include "tests/benchmark/latency/data.hpp"

namespace autospmv::latency {

using formats::load_stream;
using formats::load_x;

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

}  // namespace autospmv::latency
