#include "formats/binned/row_bins.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/error.hpp"
#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"

namespace autospmv::formats {

namespace {

// A counting sort: every thread counts the items of its share, and then knows where each of its bins begins.
RowBins bin_rows_host(const RowOffsets& row_ptr, std::int64_t rows, const std::vector<std::int64_t>& floors,
                      int log_granularity) {
  const std::int64_t items = (rows + (std::int64_t{1} << log_granularity) - 1) >> log_granularity;
  const int bins = static_cast<int>(floors.size());
  const auto bins_of_thread = floors.size();
  RowBins result{Array<std::int32_t>(static_cast<std::size_t>(items), Place{}), {}};
  std::vector<std::uint8_t> bin_of_item(static_cast<std::size_t>(items));
  const auto most_threads = static_cast<std::size_t>(std::max(1, omp_get_max_threads()));
  std::vector<std::int64_t> next(most_threads * bins_of_thread);
  int threads_used = 1;
  with_offsets(row_ptr, [&](const auto* offsets) {
    parallel_region(items, [&](int thread, int threads) {
      if (thread == 0) threads_used = threads;
      const auto share = share_of(items, thread, threads);
      std::int64_t* count = next.data() + static_cast<std::size_t>(thread) * bins_of_thread;
      for (auto item = share.first; item < share.last; ++item) {
        const int bin = bin_of(floors.data(), bins, mean_length(offsets, rows, item, log_granularity));
        bin_of_item[static_cast<std::size_t>(item)] = static_cast<std::uint8_t>(bin);
        ++count[bin];
      }
    });
  });
  std::int64_t position = 0;
  for (std::size_t bin = 0; bin < bins_of_thread; ++bin) {
    result.first.push_back(position);
    for (int thread = 0; thread < threads_used; ++thread) {
      auto& place = next[static_cast<std::size_t>(thread) * bins_of_thread + bin];
      position += std::exchange(place, position);
    }
  }
  result.first.push_back(position);
  // The same shares, whoever takes them.
  parallel_region(items, [&](int thread, int threads) {
    for (int counted = thread; counted < threads_used; counted += threads) {
      const auto share = share_of(items, counted, threads_used);
      std::int64_t* place = next.data() + static_cast<std::size_t>(counted) * bins_of_thread;
      for (auto item = share.first; item < share.last; ++item) {
        const auto at = place[bin_of_item[static_cast<std::size_t>(item)]]++;
        result.order[static_cast<std::size_t>(at)] = static_cast<std::int32_t>(item);
      }
    }
  });
  return result;
}

// The longest row that is not counted out by its own number of nonzeros.
constexpr int log_longest = 31;

int log_above(std::int64_t value) {
  return value <= 1 ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(value - 1)));
}

}  // namespace

RowBins bin_rows(const RowOffsets& row_ptr, std::int64_t rows, const std::vector<std::int64_t>& floors,
                 int log_granularity, Place place) {
  if (floors.empty() || floors.back() != -1 || floors.size() > most_bins) {
    throw InvalidArgument("bins must end with that of all rows, and be no more than " + std::to_string(most_bins));
  }
  if (rows == 0) return {{}, std::vector<std::int64_t>(floors.size() + 1, 0)};
  return on_backend(
      place, [&] { return bin_rows_host(row_ptr, rows, floors, log_granularity); },
      [&] { return cuda_steps::bin_rows(row_ptr, rows, floors, log_granularity, place); });
}

std::vector<std::int64_t> fine_floors() {
  std::vector<std::int64_t> floors;
  for (std::int64_t octave = std::int64_t{1} << log_longest; octave >= exact_lengths; octave /= 2) {
    for (int quarter = 7; quarter >= 4; --quarter) floors.push_back(octave / 4 * quarter - 1);
  }
  for (std::int64_t length = exact_lengths - 1; length >= 0; --length) floors.push_back(length - 1);
  return floors;
}

int ThreadRule::log_threads_of(std::int64_t length) const {
  const int log_block = log_above(block);
  const auto threads_for = [&](std::int64_t each) { return log_above((length + each - 1) / each); };
  const int within_block = std::min(log_block, threads_for(entries));
  if (split == 0) return within_block;
  return std::max(within_block, std::min(log_longest - log_above(split), threads_for(split)));
}

std::vector<std::int64_t> ThreadRule::floors() const {
  const int log_block = log_above(block);
  std::vector<std::int64_t> floors;
  if (split > 0) {
    for (int log = log_longest - log_above(split); log > log_block; --log) {
      floors.push_back(static_cast<std::int64_t>(split) << (log - 1));
    }
  }
  for (int log = log_block; log > 0; --log) floors.push_back(static_cast<std::int64_t>(entries) << (log - 1));
  floors.push_back(-1);
  return floors;
}

BinTable table_of(const RowBin* bins, int count, int block) {
  if (count > BinTable::most) throw InvalidArgument("a kernel takes no more than 32 bins");
  BinTable table;
  table.count = count;
  table.log_block = log_above(block);
  for (int b = 0; b < count; ++b) {
    table.bins[b] = bins[b];
    table.bins[b].first_block = table.blocks;
    const std::int64_t threads = (bins[b].last - bins[b].first) << bins[b].log_threads;
    table.blocks += (threads + block - 1) / block;
  }
  return table;
}

}  // namespace autospmv::formats
