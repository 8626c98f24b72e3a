// Columns by chunk (formats/common/encoding/encoding.hpp), read by whole warps, a lane a slot.
//
// A warp that multiplies short rows has few chunks, and a product whose matrix comes from memory little time for each:
// as many instructions as a warp may spend on a chunk while its bytes arrive are some 90 in double, 50 in float, 20
// where values are few. Hence no branch by kind: what a lane needs of each kind lies in an octet of a constant of its
// own.
#pragma once

#include <cstdint>
#include <type_traits>

#include "core/cuda/threads.cuh"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/kernels/loads.hpp"

namespace autospmv::formats {

/// What sum_chunks() reads, by value in a kernel. open() comes first.
struct ChunkColumns {
  const ChunkHead* heads;
  const std::uint8_t* octets;
  CachePolicy policy{};

  [[nodiscard]] static ChunkColumns of(const EncodedColumns& columns) {
    return {columns.heads.data(), columns.octets.data()};
  }
  __device__ void open(std::int64_t /*unit*/, CachePolicy chosen) { policy = chosen; }
};

/// What a lane reads of each chunk.
class ChunkLane {
 public:
  __device__ __forceinline__ ChunkLane(const ChunkColumns& columns, int lane)
      : octets_(columns.octets - bias), policy_(columns.policy) {
    for (const auto kind : {ChunkHead::octets, ChunkHead::words, ChunkHead::full}) {
      const auto octet = static_cast<std::uint32_t>(lane) * ChunkHead::octets_of(kind);
      word_at_ |= ((octet & ~3U) + bias - (kind << 3)) << (kind << 3);
      shift_ |= (octet & 3U) * 8 << (kind << 3);
    }
  }

  /// The word that holds the distance of this lane, among others'.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t word(ChunkHead head) const {
    const auto at = head.place + (of_kind(word_at_, head) & 0xffU);
    return load_stream(reinterpret_cast<const std::uint32_t*>(octets_ + at), policy_);
  }

  /// What the slot of this lane holds.
  struct Slot {
    bool pads;
    std::int32_t column;
  };

  [[nodiscard]] __device__ __forceinline__ Slot slot(ChunkHead head, std::uint32_t word) const {
    // All bits but the sign, less those that other kinds do not have.
    constexpr std::uint32_t fewer_bits = (31U - 8U) | (31U - 16U) << 8;
    const auto padding = __funnelshift_r(0x7fffffffU, 0U, of_kind(fewer_bits, head));
    const auto distance = __funnelshift_r(word, 0U, of_kind(shift_, head)) & padding;
    return {distance == padding, head.first + static_cast<std::int32_t>(distance)};
  }

 private:
  // The bits of the kind in `place` are subtracted again, and no octet of a constant may be negative.
  static constexpr std::uint32_t bias = 32;

  // The octet for a kind is the lowest; those above it belong to others. The shift takes the lowest five bits of
  // `place`, which are 8 times the kind.
  [[nodiscard]] static __device__ __forceinline__ std::uint32_t of_kind(std::uint32_t octets, ChunkHead head) {
    return __funnelshift_r(octets, 0U, head.place);
  }

  const std::uint8_t* octets_;
  CachePolicy policy_;
  std::uint32_t word_at_ = 0;
  std::uint32_t shift_ = 0;
};

/// What a lane adds up over the chunks first, first + step, ..., so many. Padding is 0 x 0, never an element of x. The
/// step may be a std::integral_constant.
template <class T, class Step, class Values>
__device__ __forceinline__ T sum_chunks(const ChunkColumns& columns, Values values, std::int64_t first, int count,
                                        Step step, int lane, const T* x) {
  constexpr int batch = 4;
  const ChunkLane of_lane(columns, lane);
  const auto* heads = columns.heads + first;
  values = values.from(first * chunk_slots + lane);
  T sum = 0;
  // All loads of a batch are under way before the first is waited for.
  const auto add = [&]<int size>(std::integral_constant<int, size> /*chunks*/) {
    ChunkHead head[size];
    std::uint32_t word[size];
    T value[size];
    T element[size];
#pragma unroll
    for (int u = 0; u < size; ++u) head[u] = load_stream(heads + u * step, columns.policy);
#pragma unroll
    for (int u = 0; u < size; ++u) value[u] = values.at(u * step * chunk_slots);
#pragma unroll
    for (int u = 0; u < size; ++u) word[u] = of_lane.word(head[u]);
#pragma unroll
    for (int u = 0; u < size; ++u) {
      const auto slot = of_lane.slot(head[u], word[u]);
      element[u] = slot.pads ? T{0} : load_x(x + slot.column);
      // Where all have one value, padding has it too, be it infinite.
      if constexpr (std::is_same_v<Values, OneValue<T>>) value[u] = slot.pads ? T{0} : value[u];
    }
#pragma unroll
    for (int u = 0; u < size; ++u) sum += value[u] * element[u];
  };
#pragma unroll 1
  for (; count >= batch; count -= batch) {
    add(std::integral_constant<int, batch>{});
    heads += batch * step;
    values = values.from(batch * step * chunk_slots);
  }
  if (count == 1) add(std::integral_constant<int, 1>{});
  if (count == 2) add(std::integral_constant<int, 2>{});
  if (count == 3) add(std::integral_constant<int, 3>{});
  return sum;
}

/// Step of chunks that follow one another.
using NextChunk = std::integral_constant<int, 1>;

}  // namespace autospmv::formats
