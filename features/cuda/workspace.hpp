// Everything on the device that begins as 0, cleared at once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/machine/array.hpp"
#include "core/machine/device.hpp"
#include "features/tally.hpp"

namespace autospmv::cuda::reading {

/// Sampled nonzeros of a group of rows that are left to all blocks together.
inline constexpr std::int64_t long_group = 1 << 13;

class Workspace {
 public:
  Workspace(std::int64_t rows, std::int64_t cols, std::int64_t nnz, Place place)
      : most_long_rows_(static_cast<std::size_t>(nnz / long_row)),
        memory_(tally_bytes + long_row_bytes() + value_bytes +
                    static_cast<std::size_t>((rows + cols + 31) / 32) * sizeof(unsigned),
                place),
        long_groups_(static_cast<std::size_t>(nnz / long_group), place) {
    fill_bytes(memory_.data(), 0, memory_.size(), place, setup_stream(place));
  }

  [[nodiscard]] Tally* tally() { return reinterpret_cast<Tally*>(memory_.data()); }
  /// Lengths of the rows that are not counted by their length, right behind the tally.
  [[nodiscard]] std::int64_t* long_rows() { return reinterpret_cast<std::int64_t*>(memory_.data() + tally_bytes); }
  [[nodiscard]] std::size_t most_long_rows() const { return most_long_rows_; }
  /// value_slots bit patterns.
  [[nodiscard]] Count* values() { return reinterpret_cast<Count*>(memory_.data() + tally_bytes + long_row_bytes()); }
  /// One bit for each diagonal.
  [[nodiscard]] unsigned* diagonals() {
    return reinterpret_cast<unsigned*>(memory_.data() + tally_bytes + long_row_bytes() + value_bytes);
  }

  /// Groups of sampled rows that are too long for one block; not cleared.
  [[nodiscard]] std::int64_t* long_groups() { return long_groups_.data(); }

  [[nodiscard]] Place place() const { return memory_.place(); }
  [[nodiscard]] Stream stream() const { return setup_stream(place()); }

 private:
  static constexpr std::size_t tally_bytes = sizeof(Tally);
  static constexpr std::size_t value_bytes = value_slots * sizeof(Count);
  static_assert(tally_bytes % sizeof(std::int64_t) == 0);

  [[nodiscard]] std::size_t long_row_bytes() const { return most_long_rows_ * sizeof(std::int64_t); }

  std::size_t most_long_rows_;
  Array<std::uint8_t> memory_;
  Array<std::int64_t> long_groups_;
};

}  // namespace autospmv::cuda::reading
