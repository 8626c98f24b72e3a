// Rows dealt out to bins by their length, and bins to threads: what formats share that treat rows of some length alike.
//
//   floors   3 1 -1    bin 0: rows of more than 3 nonzeros     lengths of rows   2 0 9 1 3 5
//                      bin 1: of 2 and 3                       order             2 5 | 0 4 | 1 3
//                      bin 2: of 0 and 1                       first             0 2 4 6
//
// The longest come first, so that what takes longest begins first; within a bin rows keep their order, so that x and y
// are still walked from one end to the other. Instead of single rows, virtual rows of `granularity` neighbours can be
// dealt out, by their mean length.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/machine/array.hpp"
#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv::formats {

// ---- Bins

inline constexpr int most_bins = 256;

struct RowBins {
  Array<std::int32_t> order;        ///< items, bin by bin: rows, or virtual rows of 2^log_granularity rows
  std::vector<std::int64_t> first;  ///< bins + 1 positions in `order`
};

/// Bin b gets the rows of more than floors[b] nonzeros that no bin before it has: floors decrease, the last is -1, and
/// there are at most most_bins of them. For virtual rows their mean counts, rounded up. Rows, 2^31 at most, are those
/// of a matrix in the memory of `place`. Complete when it returns.
RowBins bin_rows(const RowOffsets& row_ptr, std::int64_t rows, const std::vector<std::int64_t>& floors,
                 int log_granularity, Place place);

/// The bin of a row of that length: by bisection, for there may be many.
AUTOSPMV_HD inline int bin_of(const std::int64_t* floors, int bins, std::int64_t length) {
  int low = 0;
  int high = bins - 1;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (length > floors[middle]) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

/// The nonzeros of an item, or of each of its rows on average.
template <class Offset>
AUTOSPMV_HD std::int64_t mean_length(const Offset* row_ptr, std::int64_t rows, std::int64_t item, int log_granularity) {
  const std::int64_t granularity = std::int64_t{1} << log_granularity;
  const std::int64_t first = item << log_granularity;
  const std::int64_t last = first + granularity < rows ? first + granularity : rows;
  const std::int64_t nonzeros = static_cast<std::int64_t>(row_ptr[last]) - static_cast<std::int64_t>(row_ptr[first]);
  return (nonzeros + granularity - 1) >> log_granularity;
}

/// Lengths below this have a bin each by fine_floors(), so that rows are sorted by them.
inline constexpr std::int64_t exact_lengths = 128;

/// The finest bins there are: a bin a length below exact_lengths, then four for each doubling.
std::vector<std::int64_t> fine_floors();

// ---- Threads

/// A bin as a kernel sees it.
struct RowBin {
  std::int64_t first = 0;        ///< positions of its rows: those of items times granularity
  std::int64_t last = 0;         ///< one past the last
  int log_threads = 0;           ///< CUDA: 2^log_threads threads a row; host: as many partial sums
  int length = -1;               ///< of every row, where they all are equally long; else -1
  std::int64_t first_block = 0;  ///< CUDA: see BinTable
};

/// How many threads a row of some length gets: the fewest, a power of two, that leave each of them `entries` nonzeros
/// at most. From a block on, a row gets no more threads unless each would have more than `split`; then several blocks
/// share it, with at most that many a thread.
struct ThreadRule {
  int entries = 4;
  int block = 256;
  int split = 0;  ///< at least `entries`; 0: rows are never shared by blocks

  [[nodiscard]] int log_threads_of(std::int64_t length) const;

  /// A bin for every number of threads.
  [[nodiscard]] std::vector<std::int64_t> floors() const;
};

/// What the threads of a grid find their rows by: a kernel's argument, so that one launch multiplies all bins.
///
///   bin 0: 3 rows, 128 threads each    blocks of 128    block   0 1 2 | 3
///   bin 1: 50 rows, 2 threads each                      rows    0 1 2 | 3 3 4 4 5 5 ... 52 52 . . .
struct BinTable {
  static constexpr int most = 32;

  int count = 0;
  int log_block = 8;
  std::int64_t blocks = 0;
  RowBin bins[most];

  struct Seat {
    std::int64_t position;  ///< of the row
    std::int64_t lane;      ///< of the thread among those of its row
    int log_threads;        ///< of the row
    bool inside;            ///< there is such a row
  };

  [[nodiscard]] AUTOSPMV_HD Seat seat_of(std::int64_t block, int thread) const {
    int bin = 0;
    while (bin + 1 < count && block >= bins[bin + 1].first_block) ++bin;
    const RowBin& mine = bins[bin];
    const std::int64_t in_bin = ((block - mine.first_block) << log_block) + thread;
    const std::int64_t position = mine.first + (in_bin >> mine.log_threads);
    return {position, in_bin & ((std::int64_t{1} << mine.log_threads) - 1), mine.log_threads, position < mine.last};
  }
};

/// The table of bins[0], ..., bins[count - 1]; threads a block are a power of two.
BinTable table_of(const RowBin* bins, int count, int block);

namespace cuda_steps {
RowBins bin_rows(const RowOffsets& row_ptr, std::int64_t rows, const std::vector<std::int64_t>& floors,
                 int log_granularity, Place place);
}  // namespace cuda_steps

}  // namespace autospmv::formats
