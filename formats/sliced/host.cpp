#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "core/machine/parallel.hpp"
#include "features/tally.hpp"
#include "formats/common/host/host_shares.hpp"
#include "formats/common/host/pack.hpp"
#include "formats/common/host/packed_row.hpp"
#include "formats/common/host/read_ahead.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/sliced/convert.hpp"
#include "formats/sliced/host_rows.hpp"

namespace autospmv::formats::host {

namespace {

// Others are multiplied row by row.
template <class T>
bool is_in_groups(const SlicedMatrix<T>& sliced) {
  return sliced.slice_rows > 1 && sliced.layout.threads == 1;
}

// Columns as their distances from the first one of a slice. Every slot has one, padding too, so that none is looked
// for.
template <class Distance>
struct Distances {
  const Distance* distances;
  const std::int32_t* bases;

  [[nodiscard]] AUTOSPMV_INLINE std::int64_t at(std::int64_t slot) const { return distances[slot]; }
};

template <class Distance>
AUTOSPMV_INLINE void read_ahead(const Distances<Distance>& columns, std::int64_t slot, std::int64_t count,
                                std::int64_t ahead) {
  formats::read_ahead(columns.distances + slot, count, ahead);
}

// Columns by chunk, as a product reads them.
struct ChunkedColumns {
  const std::int32_t* heads;
  const std::int32_t* firsts;
  const std::uint8_t* octets;
};

// Where the columns of a slice count from.
template <class Columns, class T>
AUTOSPMV_INLINE const T* x_of_slice(const Columns& /*columns*/, std::int64_t /*slice*/, const T* x) {
  return x;
}
template <class Distance, class T>
AUTOSPMV_INLINE const T* x_of_slice(const Distances<Distance>& columns, std::int64_t slice, const T* x) {
  return x + columns.bases[slice];
}

// Slots from chunk to chunk of slices that are a single group of lanes: known when compiled, they take a tenth off a
// product of short rows.
template <int lanes>
using GroupStride = std::integral_constant<std::int64_t, lanes>;

// Columns that count up from lane to lane.
struct Run {
  AUTOSPMV_INLINE std::int64_t operator()(int lane) const { return lane; }
};

// What the lanes of a pack meet in x.
template <class T, class ColumnOf>
AUTOSPMV_INLINE void load_elements(Pack<T>& elements, const T* x, int first_lane, const ColumnOf& column_of) {
  elements.fill([&](int i) AUTOSPMV_INLINE_LAMBDA { return x[column_of(first_lane + i)]; });
}
template <class T>
AUTOSPMV_INLINE void load_elements(Pack<T>& elements, const T* x, int first_lane, const Run& /*column_of*/) {
  elements.load(x + first_lane);
}

// The columns of a group of lanes, chunk after chunk.
template <int lanes, class Stride, class Columns>
class ChunksReader {
 public:
  AUTOSPMV_INLINE ChunksReader(Columns columns, std::int64_t slot, Stride stride)
      : columns_(columns), slot_(slot), stride_(stride) {}

  // Calls body(x, column_of) for the next chunk: the element that a lane meets is x[column_of(lane)].
  template <class T, class Body>
  AUTOSPMV_INLINE void next(const T* x, const Body& body) {
    body(x, [this](int lane) AUTOSPMV_INLINE_LAMBDA { return columns_.at(slot_ + lane); });
    slot_ += stride_;
  }
  AUTOSPMV_INLINE void ask_ahead(std::int64_t entries) const { read_ahead(columns_, slot_, lanes, entries); }

 private:
  Columns columns_;
  std::int64_t slot_;
  Stride stride_;
};

// The same of slices whose columns are stored by chunk.
template <int lanes>
class ColumnChunksReader {
 public:
  AUTOSPMV_INLINE ColumnChunksReader(const std::int32_t* head, const std::uint8_t* octets)
      : head_(head), octets_(octets) {}

  template <class T, class Body>
  AUTOSPMV_INLINE void next(const T* x, const Body& body) {
    const auto head = *head_++;
    x += ColumnChunks::first_of(head);
    const auto kind = ColumnChunks::kind_of(head);
    if (kind == ColumnChunks::distances_8) return read<std::uint8_t>(x, body);
    if (kind == ColumnChunks::run) return body(x, Run{});
    if (kind == ColumnChunks::distances_16) return read<std::uint16_t>(x, body);
    read<std::int32_t>(x, body);
  }
  // As is asked ahead of other arrays, as if all took a byte.
  AUTOSPMV_INLINE void ask_ahead(std::int64_t entries) const {
    formats::read_ahead(head_, 1, entries / lanes);
    formats::read_ahead(octets_, lanes, entries);
  }

 private:
  template <class Distance, class T, class Body>
  AUTOSPMV_INLINE void read(const T* x, const Body& body) {
    body(x, [octets = octets_](int lane) AUTOSPMV_INLINE_LAMBDA {
      Distance distance;
      std::memcpy(&distance, octets + static_cast<std::size_t>(lane) * sizeof distance, sizeof distance);
      return static_cast<std::int64_t>(distance);
    });
    octets_ += lanes * sizeof(Distance);
  }

  const std::int32_t* head_;
  const std::uint8_t* octets_;
};

// Those of a group whose first slot this is.
template <int lanes, class Stride, class Columns>
AUTOSPMV_INLINE auto chunks_reader(const Columns& columns, std::int64_t /*position*/, std::int64_t slot,
                                   Stride stride) {
  return ChunksReader<lanes, Stride, Columns>(columns, slot, stride);
}
template <int lanes, class Stride>
AUTOSPMV_INLINE auto chunks_reader(const ChunkedColumns& columns, std::int64_t position, std::int64_t slot,
                                   Stride /*stride*/) {
  return ColumnChunksReader<lanes>(columns.heads + slot / lanes,
                                   columns.octets + std::int64_t{columns.firsts[position / lanes]} * lanes);
}

// Sums of the lanes, in registers as long as most of them have entries left.
template <int lanes, class T>
using LaneSums = typename Pack<T>::Vector[lanes / Pack<T>::size];

// `lanes` neighbouring lanes of a slice, whose columns are read chunk after chunk beside it.
template <int lanes, class Stride, class T, class Values>
struct LaneGroup {
  Values values;
  std::int64_t slot;  // of the first lane in the first chunk
  Stride stride;      // slots from chunk to chunk
  const std::int32_t* lengths;

  [[nodiscard]] AUTOSPMV_INLINE T value(std::int64_t c, int lane) const { return values.at(slot + c * stride + lane); }

  using Sums = LaneSums<lanes, T>;

  template <bool asks_ahead, class Chunks>
  AUTOSPMV_INLINE void add_chunks(Chunks& chunks, std::int64_t last, std::int64_t ahead, const T* x, Sums& sums) const {
    for (std::int64_t c = 0; c < last; ++c) {
      if constexpr (asks_ahead) {
        read_ahead(values, slot + c * stride, lanes, ahead);
        chunks.ask_ahead(ahead);
      }
      chunks.next(x, [&](const T* x_of, const auto& column_of) AUTOSPMV_INLINE_LAMBDA {
        for (int p = 0; p < lanes / width; ++p) sums[p] += products_at(c, p, x_of, column_of).elements;
      });
    }
  }

  // The same of chunks with padding that is no zero.
  template <class Chunks>
  AUTOSPMV_INLINE void add_padded_chunks(Chunks& chunks, std::int64_t first, std::int64_t last, const T* x,
                                         Sums& sums) const {
    if (first == last) return;
    typename Pack<T>::Counts left[lanes / width];  // entries of each lane
    for (int p = 0; p < lanes / width; ++p) {
      Pack<std::int32_t, width> lengths_of_pack;
      lengths_of_pack.load(lengths + p * width);
      left[p] = __builtin_convertvector(lengths_of_pack.elements, typename Pack<T>::Counts) -
                static_cast<typename Pack<T>::Word>(first);
    }
    for (auto c = first; c < last; ++c) {
      chunks.next(x, [&](const T* x_of, const auto& column_of) AUTOSPMV_INLINE_LAMBDA {
#pragma GCC unroll 4
        for (int p = 0; p < lanes / width; ++p) {
          auto products = products_at(c, p, x_of, column_of);
          products.keep_where(left[p]);
          sums[p] += products.elements;
          left[p] -= 1;
        }
      });
    }
  }

  // From a chunk on, lane by lane. Not inlined, and of copies, so that it takes no registers from the others.
  template <class Chunks>
  __attribute__((noinline)) static void add_lanes(LaneGroup group, Chunks chunks, std::int64_t first, const T* x,
                                                  T* sum) {
    for (int lane = 0; lane < lanes; ++lane) {
      auto of_lane = chunks;
      for (auto c = first; c < group.lengths[lane]; ++c) {
        of_lane.next(x, [&](const T* x_of, const auto& column_of) {
          sum[lane] += group.value(c, lane) * x_of[column_of(lane)];
        });
      }
    }
  }

 private:
  static constexpr int width = Pack<T>::size;

  template <class ColumnOf>
  [[nodiscard]] AUTOSPMV_INLINE Pack<T> products_at(std::int64_t c, int pack, const T* x,
                                                    const ColumnOf& column_of) const {
    Pack<T> elements;
    load_elements(elements, x, pack * width, column_of);
    return {values_at(c, pack).elements * elements.elements};
  }
  [[nodiscard]] AUTOSPMV_INLINE Pack<T> values_at(std::int64_t c, int pack) const {
    Pack<T> pack_of;
    pack_of.fill([&](int i) AUTOSPMV_INLINE_LAMBDA { return value(c, pack * width + i); });
    return pack_of;
  }
};

template <class T>
AUTOSPMV_INLINE void store(const SlicedMatrix<T>& sliced, std::int64_t position, T sum, T alpha, T beta, T* y) {
  store_row(y, row_at(sliced, position), alpha, sum, beta);
}

// The groups of lanes, over all slices. Of what is stored through y a compiler has to believe that it changes whatever
// is reached by a reference: this holds all that a product asks of the matrix.
template <int lanes, class T, class Columns, class Values>
class LaneGroups {
 public:
  LaneGroups(const SlicedMatrix<T>& sliced, Columns columns, Values values)
      : columns_(columns),
        values_(values),
        rows_(sliced.rows),
        slice_rows_(sliced.slice_rows),
        slice_chunks_(sliced.slice_chunks.data()),
        group_chunks_(sliced.group_chunks.data()),
        lengths_(sliced.lengths.data()),
        order_(sliced.row_order.empty() ? nullptr : sliced.row_order.data()),
        ahead_(entries_ahead<T>(sliced.columns.bytes() + sliced.column_chunks.bytes() + sliced.values.bytes())) {
    values_.open();
  }

  AUTOSPMV_INLINE void multiply(Share slices, Share groups, T alpha, const T* x, T beta, T* y) {
    const auto multiply_by = [&](auto slice_rows) AUTOSPMV_INLINE_LAMBDA {
      if (ahead_ > 0) {
        multiply_slices<true>(slice_rows, slices, groups, alpha, x, beta, y);
      } else {
        multiply_slices<false>(slice_rows, slices, groups, alpha, x, beta, y);
      }
    };
    constexpr bool is_by_chunk = std::is_same_v<Columns, ChunkedColumns>;
    if (is_by_chunk || slice_rows_ == lanes) {
      multiply_by(GroupStride<lanes>{});
    } else if constexpr (!is_by_chunk) {
      multiply_by(slice_rows_);
    }
  }

 private:
  static constexpr int width = Pack<T>::size;
  using Vector = typename Pack<T>::Vector;
  using Sums = LaneSums<lanes, T>;
  // What is stored once for all slots is no zero in any.
  static constexpr bool has_zeros_in_padding = !std::is_same_v<Values, OneValue<T>>;

  template <bool asks_ahead, class Stride>
  AUTOSPMV_INLINE void multiply_slices(Stride slice_rows, Share slices, Share groups, T alpha, const T* x, T beta,
                                       T* y) {
    for (auto slice = slices.first; slice < slices.last; ++slice) {
      const auto* const x_of = x_of_slice(columns_, slice, x);
      const std::int64_t chunk = slice_chunks_[slice];
      if constexpr (std::is_same_v<Stride, GroupStride<lanes>>) {
        multiply_group<asks_ahead>(slice_rows, slice * lanes, chunk * lanes, alpha, x_of, beta, y);
      } else {
        auto position = slice * slice_rows + groups.first * lanes;
        auto slot = chunk * slice_rows + groups.first * lanes;
        const auto end = std::min(rows_, slice * slice_rows + groups.last * lanes);
        for (; position < end; position += lanes, slot += lanes) {
          multiply_group<asks_ahead>(slice_rows, position, slot, alpha, x_of, beta, y);
        }
      }
    }
  }

  template <bool asks_ahead, class Stride>
  AUTOSPMV_INLINE void multiply_group(Stride stride, std::int64_t position, std::int64_t slot, T alpha, const T* x,
                                      T beta, T* y) const {
    const LaneGroup<lanes, Stride, T, Values> group{values_, slot, stride, lengths_ + position};
    auto chunks = chunks_reader<lanes>(columns_, position, slot, stride);
    Sums sums;
    for (auto& pack : sums) pack = Vector{};
    const auto [full, in_packs, all] = group_chunks_[static_cast<std::uint64_t>(position) / lanes];
    const std::int64_t in_sums = has_zeros_in_padding ? in_packs : full;
    group.template add_chunks<asks_ahead>(chunks, in_sums, ahead_, x, sums);
    group.add_padded_chunks(chunks, in_sums, in_packs, x, sums);
    if (in_packs < all) [[unlikely]]
      add_lanes(group, chunks, in_packs, x, sums);
    // Of an infinity or a NaN, padding makes a NaN. Where there is any, the lanes by themselves say what is right.
    // Asked always: whether a group has padding at all would be one more guess.
    if (has_zeros_in_padding && has_nan(sums)) [[unlikely]] {
      for (auto& pack : sums) pack = Vector{};
      add_lanes(group, chunks_reader<lanes>(columns_, position, slot, stride), 0, x, sums);
    }
    store(position, sums, alpha, beta, y);
  }

  template <class Group, class Chunks>
  static AUTOSPMV_INLINE void add_lanes(const Group& group, const Chunks& chunks, std::int64_t first, const T* x,
                                        Sums& sums) {
    T sum[lanes];
    std::memcpy(sum, sums, sizeof sum);
    Group::add_lanes(group, chunks, first, x, sum);
    std::memcpy(sums, sum, sizeof sum);
  }

  [[nodiscard]] static AUTOSPMV_INLINE bool has_nan(const Sums& sums) {
    auto nan = sums[0] != sums[0];
    for (int p = 1; p < lanes / width; ++p) nan |= sums[p] != sums[p];
    typedef std::int64_t Words __attribute__((vector_size(32)));
    const auto words = (Words)nan;
    const auto any = (words[0] | words[1]) | (words[2] | words[3]);
    return any != 0;
  }

  // Side by side where their rows are.
  AUTOSPMV_INLINE void store(std::int64_t position, const Sums& sums, T alpha, T beta, T* y) const {
    const bool overwrites_all = position + lanes <= rows_ && beta == T{0};
    if (overwrites_all && order_ == nullptr) {
      for (int p = 0; p < lanes / width; ++p) Pack<T>{alpha * sums[p]}.store(y + position + p * width);
      return;
    }
    T sum[lanes];
    for (int p = 0; p < lanes / width; ++p) Pack<T>{alpha * sums[p]}.store(sum + p * width);
    if (overwrites_all) {
      for (int lane = 0; lane < lanes; ++lane) y[order_[position + lane]] = sum[lane];
      return;
    }
    const auto last = std::min<std::int64_t>(lanes, rows_ - position);
    for (std::int64_t lane = 0; lane < last; ++lane) {
      T& to = y[order_ == nullptr ? position + lane : order_[position + lane]];
      to = beta == T{0} ? sum[lane] : sum[lane] + beta * to;
    }
  }

  Columns columns_;
  Values values_;
  std::int64_t rows_;
  std::int64_t slice_rows_;
  const std::int32_t* slice_chunks_;
  const GroupChunks* group_chunks_;
  const std::int32_t* lengths_;
  const std::int32_t* order_;  // nullptr: each row is at its own position
  std::int64_t ahead_;         // as entries_ahead() has it
};

// Slices of one row: CSR in another order of rows, without padding.
template <class T, class Columns, class Values>
AUTOSPMV_INLINE void multiply_rows(const SlicedMatrix<T>& sliced, Columns columns, Values values, Share rows, T alpha,
                                   const T* x, T beta, T* y) {
  values.open();
  const auto* firsts = sliced.slice_chunks.data();
  const auto put = [&](std::int64_t position, T sum)
                       AUTOSPMV_INLINE_LAMBDA { store(sliced, position, sum, alpha, beta, y); };
  if constexpr (std::is_same_v<Columns, FullColumns> && std::is_same_v<Values, FullValues<T>>) {
    sum_rows_in_runs(firsts, rows, firsts[sliced.slices], values.values, columns.columns, x, put);
  } else {
    // What is decoded one by one gains nothing from packs.
    RowRuns(firsts, rows)
        .for_each([&](std::int64_t position, std::int64_t first, auto length, auto /*kind*/) AUTOSPMV_INLINE_LAMBDA {
          const auto* const x_of = x_of_slice(columns, position, x);
          put(position, row_sum<4, T>(length, [&](std::int64_t k) AUTOSPMV_INLINE_LAMBDA {
                return values.at(first + k) * x_of[columns.at(first + k)];
              }));
        });
  }
}

// Rows of a single slice that ends them by their lengths, T > 1 neighbouring slots a chunk: as many partial sums.
template <int threads, class T, class Columns, class Values>
AUTOSPMV_INLINE void multiply_shared_rows(const SlicedMatrix<T>& sliced, Columns columns, Values values, Share rows,
                                          T alpha, const T* x, T beta, T* y) {
  values.open();
  const auto stride = sliced.slice_rows * threads;
  const auto product = [&](std::int64_t slot) AUTOSPMV_INLINE_LAMBDA { return values.at(slot) * x[columns.at(slot)]; };
  for (auto position = rows.first; position < std::min(rows.last, sliced.rows); ++position) {
    T sum[threads] = {};
    auto slot = position * threads;
    std::int64_t left = sliced.lengths[static_cast<std::size_t>(position)];
    for (; left >= threads; left -= threads, slot += stride) {
      for (int thread = 0; thread < threads; ++thread) sum[thread] += product(slot + thread);
    }
    for (int thread = 0; thread < left; ++thread) sum[thread] += product(slot + thread);
    for (int width = threads / 2; width > 0; width /= 2) {
      for (int thread = 0; thread < width; ++thread) sum[thread] += sum[thread + width];
    }
    store(sliced, position, sum[0], alpha, beta, y);
  }
}

template <class T, class Columns, class Values>
AUTOSPMV_INLINE void multiply_rows_of_threads(const SlicedMatrix<T>& sliced, const Columns& columns,
                                              const Values& values, Share rows, T alpha, const T* x, T beta, T* y) {
  if constexpr (std::is_same_v<Columns, FullColumns>) {
    switch (sliced.layout.threads) {
      case 2:
        return multiply_shared_rows<2>(sliced, columns, values, rows, alpha, x, beta, y);
      case 4:
        return multiply_shared_rows<4>(sliced, columns, values, rows, alpha, x, beta, y);
      case 8:
        return multiply_shared_rows<8>(sliced, columns, values, rows, alpha, x, beta, y);
      case 16:
        return multiply_shared_rows<16>(sliced, columns, values, rows, alpha, x, beta, y);
      default:
        return multiply_shared_rows<32>(sliced, columns, values, rows, alpha, x, beta, y);
    }
  }
}

// `groups` are groups of lanes, or rows where these have several threads.
template <class T, class Columns, class Values>
AUTOSPMV_INLINE void multiply_slices(const SlicedMatrix<T>& sliced, const Columns& columns, const Values& values,
                                     Share slices, Share groups, T alpha, const T* x, T beta, T* y) {
  if constexpr (!std::is_same_v<Columns, ChunkedColumns>) {
    if (sliced.slice_rows == 1) return multiply_rows(sliced, columns, values, slices, alpha, x, beta, y);
    if (sliced.layout.threads > 1) return multiply_rows_of_threads(sliced, columns, values, groups, alpha, x, beta, y);
  }
  if (lanes_of(sliced.slice_rows) == most_lanes) {
    LaneGroups<most_lanes, T, Columns, Values>(sliced, columns, values).multiply(slices, groups, alpha, x, beta, y);
  } else {
    LaneGroups<least_lanes, T, Columns, Values>(sliced, columns, values).multiply(slices, groups, alpha, x, beta, y);
  }
}

#define AUTOSPMV_GROUPS(T, Values, Columns)                                                                         \
  AUTOSPMV_MULTIVERSION_SCALAR void slices_version(const SlicedMatrix<T>& sliced, Columns columns, Values values,   \
                                                   Share slices, Share groups, T alpha, const T* x, T beta, T* y) { \
    multiply_slices(sliced, columns, values, slices, groups, alpha, x, beta, y);                                    \
  }
AUTOSPMV_EACH_VALUES(AUTOSPMV_GROUPS, FullColumns)
AUTOSPMV_EACH_VALUES(AUTOSPMV_GROUPS, Distances<std::uint16_t>)
AUTOSPMV_EACH_VALUES(AUTOSPMV_GROUPS, ChunkedColumns)
#undef AUTOSPMV_GROUPS

// How far packs go in a group of lanes of such lengths: as far as most lanes do, and to the end where the padding of
// the others takes no longer than to leave the last entries to their lanes. Reorders the lengths.
GroupChunks chunks_of(std::span<std::int64_t> lengths) {
  constexpr std::int64_t lanes_of_few = 5;     // times as many as are few
  constexpr std::int64_t slots_of_entry = 2;   // what an entry by itself takes
  constexpr std::int64_t slots_of_lanes = 32;  // what going through the lanes takes
  const auto lanes = std::ssize(lengths);
  const auto [shortest, longest] = std::minmax_element(lengths.begin(), lengths.end());
  GroupChunks chunks{static_cast<std::int32_t>(*shortest), static_cast<std::int32_t>(*longest),
                     static_cast<std::int32_t>(*longest)};
  if ((*longest - *shortest) * lanes <= slots_of_lanes) return chunks;
  const auto most = lengths.begin() + lanes / lanes_of_few;
  std::nth_element(lengths.begin(), most, lengths.end(), std::greater<>{});
  std::int64_t entries_left = 0;
  for (auto lane = lengths.begin(); lane != most; ++lane) entries_left += *lane - *most;
  const auto slots_left = (chunks.all - *most) * lanes;
  if (slots_left > slots_of_lanes + slots_of_entry * entries_left) chunks.in_packs = static_cast<std::int32_t>(*most);
  return chunks;
}

template <class T, class Offset>
GroupChunks chunks_of_group(const SlicedMatrix<T>& sliced, const Offset* row_ptr, std::int64_t group) {
  const auto lanes = lanes_of(sliced.slice_rows);
  std::array<std::int64_t, most_lanes> lengths{};
  for (std::int64_t lane = 0; lane < lanes; ++lane) {
    lengths[static_cast<std::size_t>(lane)] = length_at(sliced, row_ptr, group * lanes + lane);
  }
  return chunks_of(std::span(lengths).first(static_cast<std::size_t>(lanes)));
}

// Counts the rows of each length, which takes a fraction of what comparing them does.
template <class Offset>
class WindowSorter {
 public:
  explicit WindowSorter(const Offset* row_ptr) : row_ptr_(row_ptr) {}

  void sort(Share rows, std::int32_t* order) {
    // Of no more lengths than there are rows, so that few of these are sorted fast too: what is longer goes first.
    auto shortest = row_length(row_ptr_, rows.first);
    auto longest = shortest;
    for (auto row = rows.first; row < rows.last; ++row) {
      shortest = std::min(shortest, row_length(row_ptr_, row));
      longest = std::max(longest, row_length(row_ptr_, row));
    }
    const auto most = std::min(longest, shortest + rows.last - rows.first);
    const auto place_of = [&](std::int64_t row) {
      return static_cast<std::size_t>(most - std::min(most, row_length(row_ptr_, row)));
    };
    ends_.assign(static_cast<std::size_t>(most - shortest) + 2, 0);
    for (auto row = rows.first; row < rows.last; ++row) ++ends_[place_of(row) + 1];
    for (std::size_t place = 1; place < ends_.size(); ++place) ends_[place] += ends_[place - 1];
    const auto of_most = static_cast<std::ptrdiff_t>(ends_[1]);
    auto* const sorted = order + rows.first;
    for (auto row = rows.first; row < rows.last; ++row) sorted[ends_[place_of(row)]++] = static_cast<std::int32_t>(row);
    if (most == longest) return;
    std::stable_sort(sorted, sorted + of_most,
                     [&](std::int32_t a, std::int32_t b) { return row_length(row_ptr_, a) > row_length(row_ptr_, b); });
  }

 private:
  const Offset* row_ptr_;
  std::vector<std::int32_t> ends_;  // of the rows of each length among those that were put in order
};

// Whether columns and values can be given back from what is written of them.
struct Lossless {
  bool columns = true;
  bool values = true;

  friend Lossless operator&(Lossless a, Lossless b) { return {a.columns && b.columns, a.values && b.values}; }
};

// Writes slots and lengths: columns as distances where their type is shorter, values as floats where that loses
// nothing. An array that nobody reads is not there.
template <class T, class Offset, class Column, class Value>
class Filler {
 public:
  Filler(const CsrView<T>& matrix, const Offset* row_ptr, SlicedMatrix<T>& sliced, Column* columns, std::int32_t* bases,
         Value* values)
      : matrix_(matrix),
        row_ptr_(row_ptr),
        sliced_(sliced),
        columns_(columns),
        bases_(bases),
        values_(values),
        lengths_(sliced.lengths.data()) {}

  // Before the rows of a slice. Their columns are in a cache when these are written.
  void open(std::int64_t slice) {
    if constexpr (is_short) {
      std::int32_t base = std::numeric_limits<std::int32_t>::max();
      for (auto position = slice * sliced_.slice_rows; position < (slice + 1) * sliced_.slice_rows; ++position) {
        const auto row = row_from(position);
        for (auto k = row.first; k < row.first + row.length; ++k) base = std::min(base, matrix_.col_idx[k]);
      }
      bases_[slice] = kept_.base = base < std::numeric_limits<std::int32_t>::max() ? base : 0;
    }
  }

  // Rows side by side from this position on, chunk after chunk: where each of them ends need not be foreseen.
  template <int lanes>
  void fill_group(std::int64_t position) {
    std::array<const std::int32_t*, lanes> columns;
    std::array<const T*, lanes> values;
    std::array<std::int64_t, lanes> lengths;
    const auto slots = slots_of(position);
    constexpr T zero{0};
    for (int lane = 0; lane < lanes; ++lane) {
      const auto row = row_from(position + lane);
      note_length(position + lane, row.length);
      lengths[lane] = row.length;
      columns[lane] = row.length > 0 ? matrix_.col_idx + row.first : &kept_.base;
      values[lane] = row.length > 0 ? matrix_.values + row.first : &zero;
    }
    const std::int64_t full = sliced_.group_chunks[static_cast<std::size_t>(position / lanes)].full;
    const auto fill_chunks = [&](auto* array, const auto& entry_of, const auto& padding_of) {
      auto* to = array + slots.first;
      for (std::int64_t chunk = 0; chunk < full; ++chunk, to += sliced_.slice_rows) {
        for (int lane = 0; lane < lanes; ++lane) to[lane] = entry_of(lane, chunk);
      }
      for (auto chunk = full; chunk < slots.chunks; ++chunk, to += sliced_.slice_rows) {
        for (int lane = 0; lane < lanes; ++lane) {
          const auto last = entry_of(lane, std::min(chunk, std::max<std::int64_t>(lengths[lane] - 1, 0)));
          to[lane] = chunk < lengths[lane] ? last : padding_of(last);
        }
      }
    };
    auto kept = kept_;
    // What stands in padding is read: the last column of the row, which lies near.
    if (columns_ != nullptr) {
      fill_chunks(
          columns_, [&](int lane, std::int64_t k) { return kept.shortened(columns[lane][k]); },
          [](Column last) { return last; });
    }
    if (values_ != nullptr) {
      fill_chunks(
          values_, [&](int lane, std::int64_t k) { return kept.narrowed(values[lane][k]); },
          [](Value /*last*/) { return Value{0}; });
    }
    for (int lane = 0; lane < lanes && !kept.equal; ++lane) kept.check(values[lane], lengths[lane]);
    kept.equal = true;
    kept_ = kept;
  }

  // A row by itself.
  void fill_row(std::int64_t position) {
    const auto threads = sliced_.layout.threads;
    const auto row = row_from(position);
    note_length(position, row.length);
    const auto slots = slots_of(position);
    const auto padded = slots.chunks * threads;
    const auto padding = row.length > 0 ? matrix_.col_idx[row.first + row.length - 1] : kept_.base;
    auto kept = kept_;
    const auto fill_at = [&](const auto& slot_of) {
      for (std::int64_t k = 0; k < row.length; ++k) {
        if (columns_ != nullptr) columns_[slot_of(k)] = kept.shortened(matrix_.col_idx[row.first + k]);
        if (values_ != nullptr) values_[slot_of(k)] = kept.narrowed(matrix_.values[row.first + k]);
      }
      for (auto k = row.length; k < padded; ++k) {
        if (columns_ != nullptr) columns_[slot_of(k)] = kept.shortened(padding);
        if (values_ != nullptr) values_[slot_of(k)] = Value{0};
      }
    };
    const auto step = sliced_.slice_rows * threads;
    if (step == 1) {
      fill_at([=](std::int64_t k) { return slots.first + k; });
    } else {
      fill_at([=](std::int64_t k) { return slots.first + k / threads * step + k % threads; });
    }
    if (!kept.equal) kept.check(matrix_.values + row.first, row.length);
    kept.equal = true;
    kept_ = kept;
  }

  // Of all that was written.
  [[nodiscard]] Lossless lossless() const {
    return {!is_short || kept_.farthest <= largest_distance(8 * sizeof(Column)), kept_.exact};
  }

 private:
  static constexpr bool is_short = sizeof(Column) < sizeof(std::int32_t);
  static constexpr bool is_narrow = sizeof(Value) < sizeof(T);

  // What is written of columns and values, and whether any was lost. Copied while rows are written, of which a compiler
  // has to believe that they change whatever is not its own.
  struct Kept {
    std::int32_t base = 0;
    std::int32_t farthest = 0;
    bool exact = true;
    bool equal = true;  // so far in these rows, NaNs being unequal

    [[nodiscard]] AUTOSPMV_INLINE Column shortened(std::int32_t column) {
      const auto distance = column - base;
      if constexpr (is_short) farthest = std::max(farthest, distance);
      return static_cast<Column>(distance);
    }
    [[nodiscard]] AUTOSPMV_INLINE Value narrowed(T value) {
      const auto narrow = static_cast<Value>(value);
      if constexpr (is_narrow) equal &= static_cast<T>(narrow) == value;
      return narrow;
    }
    void check(const T* values, std::int64_t count) {
      exact = exact && std::all_of(values, values + count, [](T value) { return survives_float(value); });
    }
  };
  struct Row {
    std::int64_t first;
    std::int64_t length;
  };
  struct Slots {
    std::int64_t first;
    std::int64_t chunks;
  };

  [[nodiscard]] Row row_from(std::int64_t position) const {
    const auto length = length_at(sliced_, row_ptr_, position);
    return {length > 0 ? static_cast<std::int64_t>(row_ptr_[row_at(sliced_, position)]) : 0, length};
  }

  [[nodiscard]] Slots slots_of(std::int64_t position) const {
    const auto slice = position / sliced_.slice_rows;
    const auto threads = sliced_.layout.threads;
    const std::int64_t start = sliced_.slice_chunks[static_cast<std::size_t>(slice)];
    const std::int64_t end = sliced_.slice_chunks[static_cast<std::size_t>(slice) + 1];
    return {(start * sliced_.slice_rows + position % sliced_.slice_rows) * threads, end - start};
  }

  void note_length(std::int64_t position, std::int64_t length) const {
    if (lengths_ != nullptr) lengths_[position] = static_cast<std::int32_t>(length);
  }

  const CsrView<T>& matrix_;
  const Offset* row_ptr_;
  const SlicedMatrix<T>& sliced_;
  Column* columns_;
  std::int32_t* bases_;
  Value* values_;
  std::int32_t* lengths_;
  Kept kept_;
};

// Each thread fills slices of its own; of a single one, whose columns are not shortened, parts.
template <class T, class Column, class Value>
Lossless fill_arrays(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Column* columns, std::int32_t* bases,
                     Value* values) {
  const bool one_slice = sliced.layout.slice_rows == 0;
  return with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    const auto fill_by = [&](auto lanes, const auto& fill_at) {
      const std::int64_t unit_rows = one_slice ? lanes : sliced.slice_rows;
      const auto fill_units = [&](Share units) {
        Filler filler(matrix, row_ptr, sliced, columns, bases, values);
        for (auto unit = units.first; unit < units.last; ++unit) {
          if (!one_slice) filler.open(unit);
          for (auto position = unit * unit_rows; position < (unit + 1) * unit_rows; position += lanes) {
            fill_at(filler, position);
          }
        }
        return filler.lossless();
      };
      return parallel_reduce(sliced.slices * sliced.slice_rows / unit_rows, Lossless{}, fill_units, std::bit_and<>(),
                             unit_rows);
    };
    const auto fill_groups = [&](auto lanes) {
      return fill_by(lanes, [](auto& filler, std::int64_t position) {
        filler.template fill_group<decltype(lanes)::value>(position);
      });
    };
    if (!is_in_groups(sliced)) {
      return fill_by(std::integral_constant<int, 1>{},
                     [](auto& filler, std::int64_t position) { filler.fill_row(position); });
    }
    if (lanes_of(sliced.slice_rows) == most_lanes) return fill_groups(std::integral_constant<int, most_lanes>{});
    return fill_groups(std::integral_constant<int, least_lanes>{});
  });
}

}  // namespace

template <class T>
std::vector<std::int64_t> equal_parts(const CsrView<T>& matrix, std::int64_t whole) {
  const int threads = threads_for(matrix.nnz + matrix.rows);
  std::vector<std::int64_t> parts = {0};
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for (int thread = 1; thread < threads; ++thread) {
      const auto row = rows_of_share(row_ptr, {0, matrix.rows}, thread, threads).first;
      parts.push_back(std::min(matrix.rows, (row + whole / 2) / whole * whole));
    }
  });
  parts.push_back(matrix.rows);
  return parts;
}

template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix, std::int64_t window, std::span<const std::int64_t> parts) {
  Array<std::int32_t> order(static_cast<std::size_t>(matrix.rows), Place{});
  std::vector<Share> windows;
  for (std::size_t part = 0; part + 1 < parts.size(); ++part) {
    for (auto row = parts[part]; row < parts[part + 1]; row += window) {
      windows.push_back({row, std::min(row + window, parts[part + 1])});
    }
  }
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    parallel_region(matrix.rows, [&](int thread, int threads) {
      WindowSorter sorter(row_ptr);
      const auto share = share_of(std::ssize(windows), thread, threads);
      for (auto w = share.first; w < share.last; ++w) sorter.sort(windows[static_cast<std::size_t>(w)], order.data());
    });
  });
  return order;
}

template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix) {
  return sort_rows(matrix, std::max<std::int64_t>(1, matrix.rows), std::array<std::int64_t, 2>{0, matrix.rows});
}

template <class T>
void count_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced) {
  const auto groups = is_in_groups(sliced) ? sliced.slice_rows / lanes_of(sliced.slice_rows) : 0;
  sliced.group_chunks = Array<GroupChunks>(static_cast<std::size_t>(sliced.slices * groups), Place{});
  auto* const of_groups = sliced.group_chunks.data();
  with_offsets(matrix.row_ptr, [&, of_groups](const auto* row_ptr) {
    const auto longest_of = [&, row_ptr](std::int64_t slice) {
      std::int64_t longest = 0;
      for (auto position = slice * sliced.slice_rows; position < (slice + 1) * sliced.slice_rows; ++position) {
        longest = std::max(longest, length_at(sliced, row_ptr, position));
      }
      return longest;
    };
    const auto longest_of_groups = [&, of_groups, row_ptr](std::int64_t slice) {
      std::int64_t longest = 0;
      for (auto group = slice * groups; group < (slice + 1) * groups; ++group) {
        of_groups[group] = chunks_of_group(sliced, row_ptr, group);
        longest = std::max<std::int64_t>(longest, of_groups[group].all);
      }
      return longest;
    };
    parallel_for(
        sliced.slices,
        [&](std::int64_t slice) {
          const auto longest = groups > 0 ? longest_of_groups(slice) : longest_of(slice);
          const auto chunks = (longest + sliced.layout.threads - 1) / sliced.layout.threads;
          sliced.slice_chunks[static_cast<std::size_t>(slice)] = static_cast<std::int32_t>(chunks);
        },
        sliced.slice_rows);
  });
}

template <class T>
std::optional<Refusal> fill(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, EncodedColumns& columns,
                            EncodedValues<T>& values) {
  const auto fill_with = [&](auto* to_columns) {
    if constexpr (full_value_bits < T >> 32) {
      if (values.bits == 32) return fill_arrays(matrix, sliced, to_columns, columns.bases.data(), values.narrow.data());
    }
    return fill_arrays(matrix, sliced, to_columns, columns.bases.data(), values.full.data());
  };
  const auto lossless = columns.bits == 16 ? fill_with(columns.words.data()) : fill_with(columns.full.data());
  if (!lossless.values) return refuse_encoding(values.bits);
  if (!lossless.columns) return refuse_columns("slice", columns.bits);
  return std::nullopt;
}

template <class T>
void fill_values(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Array<T>& values) {
  fill_arrays(matrix, sliced, static_cast<std::int32_t*>(nullptr), nullptr, values.data());
}

// As with_columns().
template <class T, class Body>
void with_columns_on_host(const SlicedMatrix<T>& sliced, const Body& body) {
  const auto& columns = sliced.columns;
  const auto& chunks = sliced.column_chunks;
  if (sliced.layout.column_bits == 0) {
    return body(ChunkedColumns{chunks.heads.data(), chunks.firsts.data(), chunks.octets.data()});
  }
  if (columns.bits == 16) return body(Distances<std::uint16_t>{columns.words.data(), columns.bases.data()});
  body(FullColumns{columns.full.data()});
}

template <class T>
void multiply(const SlicedMatrix<T>& sliced, T alpha, const T* x, T beta, T* y) {
  const std::int64_t groups =
      sliced.layout.threads > 1 ? sliced.slice_rows : sliced.slice_rows / lanes_of(sliced.slice_rows);
  with_columns_on_host(sliced, [&](auto columns) {
    with_values(sliced.values, [&](auto values) {
      if (sliced.layout.slice_rows == 0) {
        parallel_region(sliced.slots + sliced.rows, [&](int thread, int threads) {
          slices_version(sliced, columns, values, {0, 1}, share_of(groups, thread, threads), alpha, x, beta, y);
        });
        return;
      }
      for_each_share(
          sliced.slice_chunks.data(), sliced.parts,
          [&](Share slices) {
            slices_version(sliced, columns, values, slices, {0, groups}, alpha, x, beta, y);
          },
          sliced.slice_rows * sliced.layout.threads);
    });
  });
}

#define AUTOSPMV_SLICED(T)                                                                                       \
  template std::vector<std::int64_t> equal_parts(const CsrView<T>&, std::int64_t);                               \
  template Array<std::int32_t> sort_rows(const CsrView<T>&, std::int64_t, std::span<const std::int64_t>);        \
  template Array<std::int32_t> sort_rows(const CsrView<T>&);                                                     \
  template void count_chunks(const CsrView<T>&, SlicedMatrix<T>&);                                               \
  template std::optional<Refusal> fill(const CsrView<T>&, SlicedMatrix<T>&, EncodedColumns&, EncodedValues<T>&); \
  template void fill_values(const CsrView<T>&, SlicedMatrix<T>&, Array<T>&);                                     \
  template void multiply(const SlicedMatrix<T>&, T, const T*, T, T*);
AUTOSPMV_SLICED(float)
AUTOSPMV_SLICED(double)
#undef AUTOSPMV_SLICED

}  // namespace autospmv::formats::host
