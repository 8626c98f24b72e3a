#include <algorithm>
#include <bit>
#include <limits>

#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "core/machine/offsets.hpp"
#include "core/search.hpp"
#include "features/cuda/value_table.cuh"
#include "formats/common/encoding/convert.hpp"

namespace autospmv::formats::cuda_steps {

namespace {

using cuda::default_block;
using cuda::warp_size;

// Enough to fill any device of today; every thread takes many slots, so that what a block does once hardly counts.
unsigned grid_for_slots(std::int64_t slots) { return cuda::grid_for(std::min<std::int64_t>(slots, 1 << 18)); }

// Calls body(slot) for every slot, by all threads of the grid, of each thread several at once: their loads do not wait
// for each other. It ends early once a body returns false.
template <class Load, class Body>
__device__ void walk_slots(std::int64_t slots, const Load& load, const Body& body) {
  constexpr int at_once = 4;
  const auto stride = cuda::thread_count();
  bool going_on = true;
  for (auto first = cuda::global_thread(); first < slots && going_on; first += at_once * stride) {
    decltype(load(first)) loaded[at_once];
#pragma unroll
    for (int i = 0; i < at_once; ++i) loaded[i] = load(min(first + i * stride, slots - 1));
#pragma unroll
    for (int i = 0; i < at_once; ++i) {
      if (going_on && first + i * stride < slots) going_on = body(first + i * stride, loaded[i]);
    }
  }
}

struct Distinct {
  Count table[value_slots];
  Count count;
  Count zero;
};

template <class T>
__global__ void __launch_bounds__(default_block)
    distinct_kernel(const T* values, const std::int32_t* columns, std::int64_t slots, Distinct* distinct) {
  struct Slot {
    T value;
    bool stored;
  };
  __shared__ cuda::BlockValueTable table;
  table.clear();
  bool zero = false;
  const auto load = [&](std::int64_t slot) { return Slot{values[slot], columns == nullptr || columns[slot] >= 0}; };
  walk_slots(slots, load, [&](std::int64_t /*slot*/, const Slot& slot) {
    const Count bits = bits_of(slot.value);
    if (!slot.stored) return true;
    if (bits != 0) return table.insert(bits);
    zero = true;
    return true;
  });
  if (zero) distinct->zero = 1;
  table.merge_into(distinct->table, &distinct->count);
}

// A thread a slot of the table of values: a value's place is how many others are less.
template <class T>
__global__ void __launch_bounds__(value_slots)
    dictionary_kernel(const Distinct* distinct, T* dictionary, std::int32_t* entries) {
  __shared__ Count patterns[largest_dictionary];
  __shared__ int found;
  const auto slot = threadIdx.x;
  const auto mine = distinct->table[slot];
  const bool fits = distinct->count <= largest_dictionary;
  if (slot == 0) {
    found = 0;
    *entries = fits ? static_cast<std::int32_t>(distinct->count) + 1 : 0;
  }
  if (slot <= largest_dictionary) dictionary[slot] = T{0};
  if (!fits) return;
  __syncthreads();
  if (mine != 0) patterns[atomicAdd(&found, 1)] = mine;
  __syncthreads();
  if (mine == 0) return;
  int less = 0;
  for (int i = 0; i < found; ++i) less += patterns[i] < mine ? 1 : 0;
  dictionary[1 + less] = value_of_bits<T>(mine);
}

__global__ void narrow_kernel(const double* values, std::int64_t slots, float* narrowed, std::int32_t* lossy) {
  bool exact = true;
  for (auto slot = cuda::global_thread(); slot < slots; slot += cuda::thread_count()) {
    exact = exact && survives_float(values[slot]);
    narrowed[slot] = static_cast<float>(values[slot]);
  }
  if (!exact) *lossy = 1;
}

// Values are looked up in the sorted dictionary; index 0 is +0.0, whose pattern is the smallest.
template <class T>
__global__ void __launch_bounds__(default_block) index_kernel(const T* values, std::int64_t slots, const T* dictionary,
                                                              const std::int32_t* entries, std::uint8_t* indices) {
  __shared__ Count patterns[largest_dictionary + 1];
  const int count = *entries;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += default_block) patterns[i] = bits_of(dictionary[i]);
  __syncthreads();
  const auto load = [&](std::int64_t slot) { return values[slot]; };
  walk_slots(slots, load, [&](std::int64_t slot, T value) {
    const Count bits = bits_of(value);
    const int at = partition_point(0, count - 1, [&](int entry) { return patterns[entry] < bits; });
    indices[slot] = static_cast<std::uint8_t>(at);
    return true;
  });
}

// blockDim.x threads a unit, a part of a warp, a warp or several: once for its smallest column, once to write.
template <class Distance>
__global__ void __launch_bounds__(default_block)
    shorten_kernel(const std::int32_t* columns, SlotUnits units, Distance* distances, std::int32_t* bases,
                   std::int32_t* too_far) {
  constexpr auto padding = std::numeric_limits<Distance>::max();
  constexpr int in_flight = 8;
  __shared__ unsigned base_of_warp[default_block / warp_size];
  const auto unit = static_cast<std::int64_t>(blockIdx.x) * blockDim.y + threadIdx.y;
  const int warps = static_cast<int>(blockDim.x) / warp_size;
  const bool is_unit = unit < units.count;
  const auto first = is_unit ? units.first_slot(unit) + threadIdx.x : 0;
  const auto last = is_unit ? units.first_slot(unit + 1) : 0;
  // Calls body(slot, column), with the loads of several slots under way together.
  const auto for_each_slot = [&](const auto& body) {
    for (auto slot = first; slot < last; slot += in_flight * blockDim.x) {
      std::int32_t column[in_flight];
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        if (slot + i * blockDim.x < last) column[i] = columns[slot + i * blockDim.x];
      }
#pragma unroll
      for (int i = 0; i < in_flight; ++i) {
        if (slot + i * blockDim.x < last) body(slot + i * blockDim.x, column[i]);
      }
    }
  };
  // As an unsigned number, -1 is the largest.
  unsigned base = 0x7fffffffU;
  for_each_slot([&](std::int64_t, std::int32_t column) { base = min(base, static_cast<unsigned>(column)); });
  __syncwarp();
  for (int distance = min(warp_size, static_cast<int>(blockDim.x)) / 2; distance > 0; distance /= 2) {
    base = min(base, __shfl_xor_sync(cuda::all_lanes, base, distance));
  }
  if (warps > 1) {
    if (threadIdx.x % warp_size == 0) base_of_warp[threadIdx.x / warp_size] = base;
    __syncthreads();
    for (int warp = 0; warp < warps; ++warp) base = min(base, base_of_warp[warp]);
  }
  if (is_unit && threadIdx.x == 0) bases[unit] = static_cast<std::int32_t>(base);
  bool far = false;
  for_each_slot([&](std::int64_t slot, std::int32_t column) {
    const unsigned distance = column < 0 ? padding : static_cast<unsigned>(column) - base;
    far = far || (column >= 0 && distance >= padding);
    distances[slot] = static_cast<Distance>(distance);
  });
  if (far) *too_far = 1;
}

static_assert(chunk_slots == warp_size);

// Chunks that a warp takes together, so that all their loads are under way at once.
constexpr int chunks_of_warp = 8;

// The columns of the chunks of a warp, one a lane of each; padding, and what is past the last slot, are -1, the largest
// of unsigned numbers.
struct ChunksOfWarp {
  std::int64_t first;
  int lane;
  unsigned column[chunks_of_warp];

  __device__ ChunksOfWarp(const std::int32_t* columns, std::int64_t slots)
      : first(cuda::global_thread() / warp_size * chunks_of_warp), lane(static_cast<int>(threadIdx.x) % warp_size) {
#pragma unroll
    for (int i = 0; i < chunks_of_warp; ++i) {
      const auto slot = (first + i) * chunk_slots + lane;
      column[i] = slot < slots ? static_cast<unsigned>(columns[slot]) : no_entry;
    }
  }
  static constexpr unsigned no_entry = 0xffffffffU;
};

// How the columns of each chunk are stored, and how many octets over 32 they take; none where they count up.
__global__ void describe_chunks_kernel(const std::int32_t* columns, std::int64_t slots, std::int64_t chunks,
                                       ChunkHead* heads, std::int32_t* units) {
  const ChunksOfWarp of(columns, slots);
#pragma unroll
  for (int i = 0; i < chunks_of_warp; ++i) {
    const auto column = of.column[i];
    const auto least = cuda::least_of_warp(column);
    const unsigned first = least == of.no_entry ? 0 : least;
    const unsigned distance = column == of.no_entry ? 0 : column - first;
    const unsigned farthest = ~cuda::least_of_warp(~distance);
    const bool counts_up = __all_sync(cuda::all_lanes, column == first + static_cast<unsigned>(of.lane));
    auto kind = ChunkHead::full;
    if (farthest < ChunkHead::padding_of(ChunkHead::words)) kind = ChunkHead::words;
    if (farthest < ChunkHead::padding_of(ChunkHead::octets)) kind = ChunkHead::octets;
    if (of.lane == 0 && of.first + i < chunks) {
      heads[of.first + i] = ChunkHead::of(kind, static_cast<std::int32_t>(first), 0);
      units[of.first + i] = counts_up ? 0 : static_cast<std::int32_t>(ChunkHead::octets_of(kind));
    }
  }
}

// Chunk c has the octets from 32 (places[c] + 1) on, up to those of the next; before all, the distances that count up.
__global__ void write_chunks_kernel(const std::int32_t* columns, std::int64_t slots, std::int64_t chunks,
                                    const std::int32_t* places, ChunkHead* heads, std::uint8_t* octets) {
  const ChunksOfWarp of(columns, slots);
  if (of.first == 0) octets[of.lane] = static_cast<std::uint8_t>(of.lane);
#pragma unroll
  for (int i = 0; i < chunks_of_warp; ++i) {
    const auto chunk = of.first + i;
    if (chunk >= chunks) return;
    const auto described = heads[chunk];
    const auto kind = described.kind();
    const auto place = static_cast<std::uint32_t>(places[chunk]);
    const bool counts_up = static_cast<std::uint32_t>(places[chunk + 1]) == place;
    const auto first_octet = counts_up ? 0 : (place + 1) * chunk_slots;
    __syncwarp();
    if (of.lane == 0) heads[chunk] = ChunkHead::of(kind, described.first, first_octet);
    if (counts_up) continue;
    const auto column = of.column[i];
    const unsigned distance =
        column == of.no_entry ? ChunkHead::padding_of(kind) : column - static_cast<unsigned>(described.first);
    auto* const to = octets + first_octet + of.lane * ChunkHead::octets_of(kind);
    if (kind == ChunkHead::octets) *to = static_cast<std::uint8_t>(distance);
    if (kind == ChunkHead::words) *reinterpret_cast<std::uint16_t*>(to) = static_cast<std::uint16_t>(distance);
    if (kind == ChunkHead::full) *reinterpret_cast<std::uint32_t*>(to) = distance;
  }
}

Array<std::int32_t> cleared_flag(Place place, Stream stream) {
  Array<std::int32_t> flag(1, place);
  fill_bytes(flag.data(), 0, sizeof(std::int32_t), place, stream);
  return flag;
}

template <class T>
Array<Distinct> count_distinct(std::span<const T> values, const std::int32_t* columns, Place place, Stream stream) {
  Array<Distinct> counted(1, place);
  fill_bytes(counted.data(), 0, sizeof(Distinct), place, stream);
  const auto slots = static_cast<std::int64_t>(values.size());
  distinct_kernel<<<grid_for_slots(slots), default_block, 0, cuda::InTurn(stream)>>>(values.data(), columns, slots,
                                                                                     counted.data());
  cuda::check_launch();
  return counted;
}

}  // namespace

template <class T>
DistinctValues distinct_values(std::span<const T> values, const std::int32_t* columns, Place place, Stream stream) {
  const auto counted = count_distinct(values, columns, place, stream);
  Distinct distinct;
  copy_bytes(&distinct, counted.data(), sizeof distinct, place, stream);
  synchronize(place, stream);
  DistinctValues result;
  result.too_many = distinct.count > distinct_values_cap;
  result.zero = distinct.zero != 0;
  for (const auto pattern : distinct.table) {
    if (pattern != 0) result.patterns.push_back(pattern);
  }
  return result;
}

template <class T>
Dictionary<T> make_dictionary(std::span<const T> values, const std::int32_t* columns, Place place, Stream stream) {
  const auto counted = count_distinct(values, columns, place, stream);
  Dictionary<T> dictionary{Array<T>(static_cast<std::size_t>(largest_dictionary) + 1, place),
                           Array<std::int32_t>(1, place)};
  dictionary_kernel<<<1, value_slots, 0, cuda::InTurn(stream)>>>(counted.data(), dictionary.table.data(),
                                                                 dictionary.entries.data());
  cuda::check_launch();
  return dictionary;
}

bool narrow(std::span<const double> values, Array<float>& narrowed, Stream stream) {
  auto lossy = cleared_flag(narrowed.place(), stream);
  const auto slots = static_cast<std::int64_t>(values.size());
  narrow_kernel<<<grid_for_slots(slots), default_block, 0, cuda::InTurn(stream)>>>(values.data(), slots,
                                                                                   narrowed.data(), lossy.data());
  cuda::check_launch();
  return cuda::read(lossy.data(), stream) == 0;
}

template <class T>
bool index(std::span<const T> values, const Dictionary<T>& dictionary, Array<std::uint8_t>& indices, Stream stream) {
  const auto slots = static_cast<std::int64_t>(values.size());
  index_kernel<<<grid_for_slots(slots), default_block, 0, cuda::InTurn(stream)>>>(
      values.data(), slots, dictionary.table.data(), dictionary.entries.data(), indices.data());
  cuda::check_launch();
  return cuda::read(dictionary.entries.data(), stream) > 0;
}

template <class Distance>
bool shorten(const Array<std::int32_t>& columns, const SlotUnits& units, Array<Distance>& distances,
             Array<std::int32_t>& bases, Stream stream) {
  auto too_far = cleared_flag(columns.place(), stream);
  if (units.count > 0) {
    // A warp has a batch or two of the slots of most units; where they are many more, a block has, and where they are
    // as few as the entries of a row, a part of a warp.
    constexpr std::int64_t many = 32 * warp_size;
    constexpr unsigned fewest_threads = 4;
    const auto of_unit = static_cast<std::int64_t>(columns.size()) / units.count;
    const auto threads =
        std::bit_ceil(static_cast<unsigned>(std::clamp<std::int64_t>(of_unit, fewest_threads, warp_size)));
    const dim3 block = of_unit > many ? dim3(default_block) : dim3(threads, default_block / threads);
    shorten_kernel<<<cuda::grid_for(units.count, static_cast<int>(block.y)), block, 0, cuda::InTurn(stream)>>>(
        columns.data(), units, distances.data(), bases.data(), too_far.data());
    cuda::check_launch();
  }
  return cuda::read(too_far.data(), stream) == 0;
}

bool store_by_chunk(const Array<std::int32_t>& columns, Array<ChunkHead>& heads, Array<std::uint8_t>& octets,
                    Stream stream) {
  const auto place = columns.place();
  const auto slots = static_cast<std::int64_t>(columns.size());
  const auto chunks = (slots + chunk_slots - 1) / chunk_slots;
  heads = Array<ChunkHead>(static_cast<std::size_t>(chunks), place);
  if (chunks == 0) return true;
  Array<std::int32_t> places(heads.size() + 1, place);
  const auto grid = cuda::grid_for((chunks + chunks_of_warp - 1) / chunks_of_warp * warp_size);
  describe_chunks_kernel<<<grid, default_block, 0, cuda::InTurn(stream)>>>(columns.data(), slots, chunks, heads.data(),
                                                                           places.data());
  cuda::check_launch();
  const auto bytes = (offsets_from_counts(places, stream) + 1) * chunk_slots;
  if (bytes > ChunkHead::most_octets) return false;
  octets = Array<std::uint8_t>(static_cast<std::size_t>(bytes), place);
  write_chunks_kernel<<<grid, default_block, 0, cuda::InTurn(stream)>>>(columns.data(), slots, chunks, places.data(),
                                                                        heads.data(), octets.data());
  cuda::check_launch();
  return true;
}

template DistinctValues distinct_values(std::span<const float>, const std::int32_t*, Place, Stream);
template DistinctValues distinct_values(std::span<const double>, const std::int32_t*, Place, Stream);
template Dictionary<float> make_dictionary(std::span<const float>, const std::int32_t*, Place, Stream);
template Dictionary<double> make_dictionary(std::span<const double>, const std::int32_t*, Place, Stream);
template bool index(std::span<const float>, const Dictionary<float>&, Array<std::uint8_t>&, Stream);
template bool index(std::span<const double>, const Dictionary<double>&, Array<std::uint8_t>&, Stream);
template bool shorten(const Array<std::int32_t>&, const SlotUnits&, Array<std::uint16_t>&, Array<std::int32_t>&,
                      Stream);
template bool shorten(const Array<std::int32_t>&, const SlotUnits&, Array<std::uint8_t>&, Array<std::int32_t>&, Stream);

}  // namespace autospmv::formats::cuda_steps
