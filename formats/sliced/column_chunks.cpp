#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/machine/offsets.hpp"
#include "core/machine/parallel.hpp"
#include "formats/sliced/convert.hpp"
#include "formats/sliced/host_rows.hpp"

namespace autospmv::formats::host {

namespace {

template <int lanes>
class ChunksWriter {
 public:
  ChunksWriter(ColumnChunks& stored, const std::int32_t* slice_chunks, std::int64_t cols)
      : stored_(stored), slice_chunks_(slice_chunks), cols_(cols) {}

  // Before the others, of each slice.
  template <class T, class Offset>
  void open(const CsrView<T>& matrix, const Offset* row_ptr, const SlicedMatrix<T>& sliced, std::int64_t slice) {
    for (int lane = 0; lane < lanes; ++lane) {
      const auto position = slice * lanes + lane;
      lengths_[lane] = length_at(sliced, row_ptr, position);
      columns_[lane] = lengths_[lane] > 0 ? matrix.col_idx + row_ptr[row_at(sliced, position)] : nullptr;
    }
    full_ = sliced.group_chunks[static_cast<std::size_t>(slice)].full;
    heads_ = stored_.heads.data() + slice_chunks_[slice];
    chunks_ = slice_chunks_[slice + 1] - slice_chunks_[slice];
  }

  // Returns the octets of the slice over its rows.
  std::int32_t write_heads() const {
    std::int32_t octets = 0;
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      heads_[chunk] = by_lanes(chunk, [&](const auto& has_entry) { return head_of(chunk, has_entry); });
      octets += ColumnChunks::octets_of(ColumnChunks::kind_of(heads_[chunk]));
    }
    return octets;
  }

  void write_columns(std::int32_t begin) const {
    auto* to = stored_.octets.data() + std::int64_t{begin} * lanes;
    for (std::int64_t chunk = 0; chunk < chunks_; ++chunk) {
      const auto kind = ColumnChunks::kind_of(heads_[chunk]);
      const auto first = ColumnChunks::first_of(heads_[chunk]);
      if (kind == ColumnChunks::distances_8) write(chunk, first, to);
      if (kind == ColumnChunks::distances_16) write(chunk, first, reinterpret_cast<std::uint16_t*>(to));
      if (kind == ColumnChunks::distances_32) write(chunk, first, reinterpret_cast<std::int32_t*>(to));
      to += std::int64_t{lanes} * ColumnChunks::octets_of(kind);
    }
  }

 private:
  // Chunks without padding have loops of their own.
  template <class Body>
  auto by_lanes(std::int64_t chunk, const Body& body) const {
    if (chunk < full_) return body([](int /*lane*/) { return true; });
    return body([&](int lane) { return chunk < lengths_[lane]; });
  }

  // Columns less their lanes are all the same in a run, and tell of others within how few bits they lie.
  template <class HasEntry>
  [[nodiscard]] std::int32_t head_of(std::int64_t chunk, const HasEntry& has_entry) const {
    if (chunk < full_ && is_run(chunk)) return ColumnChunks::head_of(columns_[0][chunk], ColumnChunks::run);
    auto least = std::numeric_limits<std::int32_t>::max();
    auto most = std::numeric_limits<std::int32_t>::min();
    for (int lane = 0; lane < lanes; ++lane) {
      if (!has_entry(lane)) continue;
      const auto column = columns_[lane][chunk] - lane;
      least = std::min(least, column);
      most = std::max(most, column);
    }
    if (least == most && least >= 0 && least + std::int64_t{lanes} <= cols_) {
      return ColumnChunks::head_of(least, ColumnChunks::run);
    }
    const auto first = std::max(least, 0);
    return ColumnChunks::head_of(first, ColumnChunks::kind_of_distances(most + lanes - 1 - first));
  }

  // Of those without padding most are told from others by a lane or two.
  [[nodiscard]] bool is_run(std::int64_t chunk) const {
    const auto first = columns_[0][chunk];
    for (int lane = 1; lane < lanes; ++lane) {
      if (columns_[lane][chunk] - lane != first) return false;
    }
    return true;
  }

  template <class Distance>
  void write(std::int64_t chunk, std::int32_t first, Distance* to) const {
    by_lanes(chunk, [&](const auto& has_entry) {
      for (int lane = 0; lane < lanes; ++lane) {
        to[lane] = has_entry(lane) ? static_cast<Distance>(columns_[lane][chunk] - first) : Distance{0};
      }
    });
  }

  ColumnChunks& stored_;
  const std::int32_t* slice_chunks_;
  std::int64_t cols_;
  std::array<const std::int32_t*, lanes> columns_{};
  std::array<std::int64_t, lanes> lengths_{};
  std::int64_t full_ = 0;  // chunks without padding
  std::int64_t chunks_ = 0;
  std::int32_t* heads_ = nullptr;
};

// Heads first, for they say where the chunks of each slice begin. False where nothing is saved.
template <int lanes, class T, class Offset>
bool write_chunks(const CsrView<T>& matrix, const Offset* row_ptr, SlicedMatrix<T>& sliced) {
  auto& stored = sliced.column_chunks;
  stored.heads = Array<std::int32_t>(static_cast<std::size_t>(sliced.slots / lanes), Place{});
  stored.firsts = Array<std::int32_t>(static_cast<std::size_t>(sliced.slices) + 1, Place{});
  const auto for_each_slice = [&](const auto& write) {
    parallel_region(sliced.slots, [&](int thread, int threads) {
      ChunksWriter<lanes> writer(stored, sliced.slice_chunks.data(), matrix.cols);
      const auto slices = share_of(sliced.slices, thread, threads);
      for (auto slice = slices.first; slice < slices.last; ++slice) write(writer, slice);
    });
  };
  auto* const firsts = stored.firsts.data();
  for_each_slice([&](auto& writer, std::int64_t slice) {
    writer.open(matrix, row_ptr, sliced, slice);
    firsts[slice] = writer.write_heads();
  });
  const auto units = offsets_from_counts(stored.firsts, Stream{});
  if (units > std::numeric_limits<std::int32_t>::max()) return false;
  const auto octets = units * lanes;
  const auto in_full = sliced.slots * static_cast<std::int64_t>(sizeof(std::int32_t));
  if (sliced.slots > 0 && octets + stored.heads.bytes() >= in_full) return false;
  stored.octets = Array<std::uint8_t>(static_cast<std::size_t>(octets), Place{});
  for_each_slice([&](auto& writer, std::int64_t slice) {
    if (firsts[slice] == firsts[slice + 1]) return;
    writer.open(matrix, row_ptr, sliced, slice);
    writer.write_columns(firsts[slice]);
  });
  return true;
}

}  // namespace

template <class T>
std::optional<Refusal> fill_column_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced) {
  if (matrix.cols > ColumnChunks::most_cols) return Refusal{"columns: more than 2^30"};
  const bool are_shorter = with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    if (sliced.slice_rows == most_lanes) return write_chunks<most_lanes>(matrix, row_ptr, sliced);
    return write_chunks<least_lanes>(matrix, row_ptr, sliced);
  });
  if (!are_shorter) return Refusal{"columns: chunks need as many bytes as in full"};
  return std::nullopt;
}

template std::optional<Refusal> fill_column_chunks(const CsrView<float>&, SlicedMatrix<float>&);
template std::optional<Refusal> fill_column_chunks(const CsrView<double>&, SlicedMatrix<double>&);

}  // namespace autospmv::formats::host
