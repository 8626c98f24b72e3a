#include <algorithm>
#include <cstring>
#include <functional>
#include <iterator>
#include <span>
#include <type_traits>
#include <vector>

#include "core/machine/instructions.hpp"
#include "core/machine/parallel.hpp"
#include "core/machine/simd.hpp"
#include "core/search.hpp"
#include "formats/blocks/convert.hpp"
#include "formats/common/encoding/absent.hpp"
#include "formats/common/host/read_ahead.hpp"
#include "formats/common/host/row_partition.hpp"
#include "formats/common/kernels/dispatch.hpp"

namespace autospmv::formats::host {

namespace {

/// The block columns of one block row after another.
template <int C, class Offset>
class BlockRowReader {
 public:
  BlockRowReader(const Offset* row_ptr, const std::int32_t* col_idx, std::int64_t rows, int r)
      : row_ptr_(row_ptr), col_idx_(col_idx), rows_(rows), r_(r) {}

  const std::vector<std::int32_t>& read(std::int64_t block_row) {
    blocks_.clear();
    const auto last = std::min(rows_, (block_row + 1) * r_);
    for (auto row = block_row * r_; row < last; ++row) {
      // The rows of a block row mostly hold the same blocks.
      if (is_known(row)) continue;
      const auto of_row = blocks_of(row);
      united_.clear();
      std::set_union(blocks_.begin(), blocks_.end(), of_row.begin(), of_row.end(), std::back_inserter(united_));
      blocks_.swap(united_);
    }
    return blocks_;
  }

 private:
  // Whether it has none but the blocks of the rows before it, in their order.
  [[nodiscard]] bool is_known(std::int64_t row) const {
    auto at = blocks_.begin();
    for (auto k = row_ptr_[row]; k < row_ptr_[row + 1]; ++k) {
      const std::int32_t block = col_idx_[k] / C;
      while (at != blocks_.end() && *at < block) ++at;
      if (at == blocks_.end() || *at != block) return false;
    }
    return true;
  }

  // Valid until the next row is asked for.
  [[nodiscard]] std::span<const std::int32_t> blocks_of(std::int64_t row) {
    const auto first = row_ptr_[row];
    const auto length = static_cast<std::size_t>(row_ptr_[row + 1] - first);
    if (of_row_.size() < length) of_row_.resize(length);
    std::size_t count = 0;
    std::int32_t before = -1;
    bool sorted = true;
    // Where a block ends is hard to foresee: what is written of one that goes on is written over.
    for (std::size_t k = 0; k < length; ++k) {
      const std::int32_t block = col_idx_[first + static_cast<Offset>(k)] / C;
      of_row_[count] = block;
      count += block != before ? 1 : 0;
      sorted = sorted && block >= before;
      before = block;
    }
    const auto blocks = std::span(of_row_).first(count);
    if (sorted) return blocks;
    std::sort(blocks.begin(), blocks.end());
    return {blocks.begin(), std::unique(blocks.begin(), blocks.end())};
  }

  const Offset* row_ptr_;
  const std::int32_t* col_idx_;
  std::int64_t rows_;
  int r_;
  std::vector<std::int32_t> blocks_;
  std::vector<std::int32_t> of_row_;  // room for the longest
  std::vector<std::int32_t> united_;
};

// Each thread keeps the blocks of its share of block rows until all are counted.
template <int C, class T, class Offset>
Result<BlockPattern> find_blocks_of(const CsrView<T>& matrix, const Offset* row_ptr, int r) {
  const std::int64_t block_rows = (matrix.rows + r - 1) / r;
  std::vector<std::vector<std::int32_t>> parts(static_cast<std::size_t>(std::max(1, omp_get_max_threads())));
  std::vector<std::int64_t> ends(static_cast<std::size_t>(block_rows) + 1, 0);
  parallel_region(matrix.nnz + matrix.rows, [&](int thread, int threads) {
    BlockRowReader<C, Offset> reader(row_ptr, matrix.col_idx, matrix.rows, r);
    auto& part = parts[static_cast<std::size_t>(thread)];
    const auto share = share_of(block_rows, thread, threads);
    for (auto block_row = share.first; block_row < share.last; ++block_row) {
      const auto& blocks = reader.read(block_row);
      part.insert(part.end(), blocks.begin(), blocks.end());
      ends[static_cast<std::size_t>(block_row) + 1] = static_cast<std::int64_t>(blocks.size());
    }
  });
  for (std::size_t i = 1; i < ends.size(); ++i) ends[i] += ends[i - 1];
  if (ends.back() > most_blocks) return refuse_block_count();
  BlockPattern pattern{Array<std::int32_t>(ends.size(), Place{}),
                       Array<std::int32_t>(static_cast<std::size_t>(ends.back()), Place{})};
  std::copy(ends.begin(), ends.end(), pattern.block_ptr.data());
  auto* to = pattern.block_columns.data();
  for (const auto& part : parts) to = std::copy(part.begin(), part.end(), to);
  return pattern;
}

/// Where the blocks of a block row lie: a chunk apart.
template <class T>
struct BlockRow {
  BlockRow(const BlockMatrix<T>& blocks, std::int64_t block_row)
      : columns(blocks.block_columns.data()), stride(blocks.slice), lane(block_row % blocks.slice) {
    const auto slice = static_cast<std::size_t>(block_row / blocks.slice);
    first_chunk = blocks.slice_chunks[slice];
    chunks = blocks.slice_chunks[slice + 1] - first_chunk;
  }

  [[nodiscard]] std::int64_t slot(std::int64_t chunk) const { return (first_chunk + chunk) * stride + lane; }

  // Padding is past every column.
  [[nodiscard]] std::uint32_t column(std::int64_t chunk) const {
    return static_cast<std::uint32_t>(columns[slot(chunk)]);
  }

  /// The chunk of a block that is there. Nonzeros next to each other mostly lie in the same block or the next.
  [[nodiscard]] std::int64_t find(std::uint32_t block, std::int64_t guess) const {
    if (column(guess) == block) return guess;
    if (guess + 1 < chunks && column(guess + 1) == block) return guess + 1;
    return partition_point(std::int64_t{0}, chunks, [&](std::int64_t chunk) { return column(chunk) < block; });
  }

  const std::int32_t* columns;
  std::int64_t stride;
  std::int64_t lane;
  std::int64_t first_chunk;
  std::int64_t chunks;
};

// Into slots that are all 0. False where two nonzeros share one.
template <int C, class T, class Offset>
bool fill_block_row(const CsrView<T>& matrix, const Offset* row_ptr, std::int64_t block_row,
                    const BlockMatrix<T>& blocks, T* values) {
  const BlockRow<T> at(blocks, block_row);
  const std::int64_t r = blocks.layout.r;
  const auto stride = blocks.slice * r;  // values from column to column
  const auto last = std::min(matrix.rows, (block_row + 1) * r);
  bool unique = true;
  for (auto row = block_row * r; row < last; ++row) {
    auto* const of_row = values + at.first_chunk * C * stride + at.lane * r + row % r;
    std::int64_t chunk = 0;
    std::int64_t first_column = -C;  // of the block
    T* block = nullptr;
    for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) {
      const auto column = matrix.col_idx[k];
      if (column < first_column || column >= first_column + C) {
        first_column = column / C * C;
        chunk = at.find(static_cast<std::uint32_t>(column / C), chunk);
        block = of_row + chunk * C * stride;
      }
      T& slot = block[(column - first_column) * stride];
      unique = unique && is_absent(slot);
      slot = as_present(matrix.values[k]);
    }
  }
  return unique;
}

// Calls body with the columns of a block as a template argument, and with the row offsets.
template <class T, class Body>
void with_shape(const CsrView<T>& matrix, const BlockLayout& layout, const Body& body) {
  std::visit([&](const auto* row_ptr) { dispatch<AUTOSPMV_BLOCK_SIZES>(layout.c, [&](auto c) { body(c, row_ptr); }); },
             matrix.row_ptr);
}

}  // namespace

template <class T>
Result<BlockPattern> find_blocks(const CsrView<T>& matrix, const BlockLayout& layout) {
  Result<BlockPattern> pattern = BlockPattern{};
  with_shape(matrix, layout,
             [&](auto c, const auto* row_ptr) { pattern = find_blocks_of<c.value>(matrix, row_ptr, layout.r); });
  return pattern;
}

template <class T>
void count_chunks(const BlockPattern& pattern, BlockMatrix<T>& blocks) {
  const auto* block_ptr = pattern.block_ptr.data();
  parallel_for(
      blocks.slices,
      [&](std::int64_t slice) {
        const auto last = std::min(blocks.block_rows, (slice + 1) * blocks.slice);
        std::int32_t longest = 0;
        for (auto block_row = slice * blocks.slice; block_row < last; ++block_row) {
          longest = std::max(longest, block_ptr[block_row + 1] - block_ptr[block_row]);
        }
        blocks.slice_chunks.data()[slice] = longest;
      },
      blocks.slice);
}

template <class T>
void place_blocks(const BlockPattern& pattern, BlockMatrix<T>& blocks) {
  const auto* block_ptr = pattern.block_ptr.data();
  parallel_for(blocks.slices * blocks.slice, [&](std::int64_t block_row) {
    const BlockRow<T> at(blocks, block_row);
    const std::int64_t first = block_row < blocks.block_rows ? block_ptr[block_row] : 0;
    const std::int64_t count = block_row < blocks.block_rows ? block_ptr[block_row + 1] - first : 0;
    for (std::int64_t chunk = 0; chunk < at.chunks; ++chunk) {
      blocks.block_columns.data()[at.slot(chunk)] = chunk < count ? pattern.block_columns.data()[first + chunk] : -1;
    }
  });
}

template <class T>
bool fill(const CsrView<T>& matrix, const BlockMatrix<T>& blocks, Array<T>& values) {
  const auto chunk_values = blocks.slice * blocks.layout.r * blocks.layout.c;
  const auto zero = [&](std::int64_t first, std::int64_t last) {
    std::fill(values.data() + first, values.data() + last, T{0});
  };
  const auto size = static_cast<std::int64_t>(values.size());
  zero(size - BlockMatrix<T>::read_past, size);
  // The slots of a small slice are written while they are in a cache.
  const bool at_once = blocks.slices == 1 && blocks.slice > 1;
  if (at_once) {
    parallel_region(size, [&](int thread, int threads) {
      const auto share = share_of(size, thread, threads);
      zero(share.first, share.last);
    });
  }
  const auto units = at_once ? blocks.block_rows : blocks.slices;
  const auto rows_of_unit = at_once ? 1 : blocks.slice;
  bool unique = true;
  with_shape(matrix, blocks.layout, [&](auto c, const auto* row_ptr) {
    const auto fill_share = [&](Share share) {
      bool all = true;
      for (auto unit = share.first; unit < share.last; ++unit) {
        if (!at_once) {
          const auto* const chunks = blocks.slice_chunks.data() + unit;
          zero(chunks[0] * chunk_values, chunks[1] * chunk_values);
        }
        const auto last = std::min(blocks.block_rows, (unit + 1) * rows_of_unit);
        for (auto block_row = unit * rows_of_unit; block_row < last; ++block_row) {
          all = fill_block_row<c.value>(matrix, row_ptr, block_row, blocks, values.data()) && all;
        }
      }
      return all;
    };
    unique = parallel_reduce(units, true, fill_share, std::logical_and<>(), chunk_values);
  });
  return unique;
}

namespace {

// The rows of a block side by side, in vectors of at most so many bytes: wider ones than the processor has are taken
// apart element by element. Three rows are multiplied as four, five to seven as eight: the loads run past the column of
// the block, and the sums of the elements there go nowhere.
template <int R, int Bytes, class T>
struct Rows {
  static constexpr int size = R == 2 ? 2 : R <= 4 ? 4 : 8;
  static constexpr int width = std::min(size, Bytes / static_cast<int>(sizeof(T)));
  typedef T Vector __attribute__((vector_size(width * sizeof(T))));
  typedef BitsOf<T> Bits __attribute__((vector_size(width * sizeof(T))));
  static_assert(size - R < BlockMatrix<T>::read_past);

  Vector sums[size / width] = {};

  // Where there is no nonzero, x is taken to be zero: that costs no branch.
  AUTOSPMV_INLINE void add(const T* column, T element) {
    const Vector elements = element - Vector{};
    for (auto& sum : sums) {
      Bits bits;
      Vector values;
      std::memcpy(&bits, column, sizeof bits);
      std::memcpy(&values, column, sizeof values);
      sum += values * reinterpret_cast<Vector>(reinterpret_cast<Bits>(elements) & (bits != 0));
      column += width;
    }
  }

  [[nodiscard]] AUTOSPMV_INLINE T sum(std::int64_t row) const { return sums[row / width][row % width]; }
};

// `Lanes` neighbouring block rows of a slice, their sums in registers.
template <int R, int Bytes, int Lanes, class T>
AUTOSPMV_INLINE void multiply_lanes(const BlockMatrix<T>& blocks, std::int64_t slice, std::int64_t lane,
                                    std::int64_t ahead, T alpha, const T* x, T beta, T* y) {
  const std::int64_t c = blocks.layout.c;
  const auto start = static_cast<std::int64_t>(blocks.slice_chunks.data()[slice]);
  const auto chunks = blocks.slice_chunks.data()[slice + 1] - start;
  const auto stride = blocks.slice * R;  // values from column to column
  const auto* columns = blocks.block_columns.data() + start * blocks.slice + lane;
  const auto* values = blocks.values.full.data() + start * c * stride + lane * R;
  Rows<R, Bytes, T> rows[Lanes];
  for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
    if (ahead > 0) read_ahead(values, c * stride, ahead);
    for (int l = 0; l < Lanes; ++l) {
      const auto first = columns[l] * c;
      const auto width = columns[l] < 0 ? 0 : std::min(c, blocks.cols - first);
      for (std::int64_t j = 0; j < width; ++j) rows[l].add(values + j * stride + l * R, x[first + j]);
    }
    columns += blocks.slice;
    values += c * stride;
  }
  for (int l = 0; l < Lanes; ++l) {
    const auto first = (slice * blocks.slice + lane + l) * R;
    const auto last = std::min<std::int64_t>(R, blocks.rows - first);
    for (std::int64_t i = 0; i < last; ++i) {
      const T product = alpha * rows[l].sum(i);
      y[first + i] = beta == T{0} ? product : product + beta * y[first + i];
    }
  }
}

template <int R, int Bytes, class T>
AUTOSPMV_INLINE void multiply_slices(const BlockMatrix<T>& blocks, Share slices, Share lanes, T alpha, const T* x,
                                     T beta, T* y) {
  constexpr int together = 4;
  // Of longer slices the lanes beside these lie between a chunk and the next.
  const auto ahead = blocks.slice <= together ? entries_ahead<T>(blocks.values.full.bytes()) : 0;
  for (auto slice = slices.first; slice < slices.last; ++slice) {
    if (blocks.slice == 1) {
      multiply_lanes<R, Bytes, 1>(blocks, slice, 0, ahead, alpha, x, beta, y);
      continue;
    }
    for (auto lane = lanes.first; lane < lanes.last; lane += together) {
      multiply_lanes<R, Bytes, together>(blocks, slice, lane, ahead, alpha, x, beta, y);
    }
  }
}

template <int Bytes, class T>
AUTOSPMV_INLINE void multiply_shape(const BlockMatrix<T>& blocks, Share slices, Share lanes, T alpha, const T* x,
                                    T beta, T* y) {
  switch (blocks.layout.r) {
    case 2:
      return multiply_slices<2, Bytes>(blocks, slices, lanes, alpha, x, beta, y);
    case 3:
      return multiply_slices<3, Bytes>(blocks, slices, lanes, alpha, x, beta, y);
    case 4:
      return multiply_slices<4, Bytes>(blocks, slices, lanes, alpha, x, beta, y);
    case 5:
      return multiply_slices<5, Bytes>(blocks, slices, lanes, alpha, x, beta, y);
    case 6:
      return multiply_slices<6, Bytes>(blocks, slices, lanes, alpha, x, beta, y);
    case 7:
      return multiply_slices<7, Bytes>(blocks, slices, lanes, alpha, x, beta, y);
    default:
      return multiply_slices<8, Bytes>(blocks, slices, lanes, alpha, x, beta, y);
  }
}

// Multiversioned functions cannot be templates, so one overload stands for each type.
#define AUTOSPMV_VERSIONS(NAME, BYTES, T)                                                                       \
  AUTOSPMV_MULTIVERSION void NAME(const BlockMatrix<T>& blocks, Share slices, Share lanes, T alpha, const T* x, \
                                  T beta, T* y) {                                                               \
    multiply_shape<BYTES>(blocks, slices, lanes, alpha, x, beta, y);                                            \
  }
AUTOSPMV_VERSIONS(narrow_version, 32, float)
AUTOSPMV_VERSIONS(narrow_version, 32, double)
AUTOSPMV_VERSIONS(wide_version, 64, double)
#undef AUTOSPMV_VERSIONS

template <class T>
void multiply_share(const BlockMatrix<T>& blocks, Share slices, Share lanes, T alpha, const T* x, T beta, T* y) {
  if constexpr (std::is_same_v<T, double>) {
    static const bool is_wide = host_instructions() == avx512;
    if (is_wide) return wide_version(blocks, slices, lanes, alpha, x, beta, y);
  }
  narrow_version(blocks, slices, lanes, alpha, x, beta, y);
}

}  // namespace

template <class T>
void multiply(const BlockMatrix<T>& blocks, T alpha, const T* x, T beta, T* y) {
  if (blocks.slices == 1 && blocks.slice > 1) {
    // Shares of four lanes, as they are multiplied together.
    parallel_region(static_cast<std::int64_t>(blocks.values.full.size()) + blocks.rows, [&](int thread, int threads) {
      const auto share = share_of((blocks.block_rows + 3) / 4, thread, threads);
      multiply_share(blocks, {0, 1}, {share.first * 4, share.last * 4}, alpha, x, beta, y);
    });
    return;
  }
  for_each_share(
      blocks.slice_chunks.data(), blocks.slices,
      [&](Share slices) {
        multiply_share(blocks, slices, {0, blocks.slice}, alpha, x, beta, y);
      },
      blocks.slice * blocks.layout.r * blocks.layout.c);
}

#define AUTOSPMV_BLOCKS(T)                                                          \
  template Result<BlockPattern> find_blocks(const CsrView<T>&, const BlockLayout&); \
  template void count_chunks(const BlockPattern&, BlockMatrix<T>&);                 \
  template void place_blocks(const BlockPattern&, BlockMatrix<T>&);                 \
  template bool fill(const CsrView<T>&, const BlockMatrix<T>&, Array<T>&);          \
  template void multiply(const BlockMatrix<T>&, T, const T*, T, T*);
AUTOSPMV_BLOCKS(float)
AUTOSPMV_BLOCKS(double)
#undef AUTOSPMV_BLOCKS

}  // namespace autospmv::formats::host
