// Rows that several blocks have a part of each: every block leaves its sum, and the one that comes last adds them up in
// their order, in the same launch; the same bits every time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/machine/array.hpp"

namespace autospmv::formats {

/// The sums of parts of rows; empty where no row is cut.
template <class T>
struct PartSums {
  Array<T> sums;                  ///< one a block
  Array<std::uint32_t> finished;  ///< CUDA: parts of a row that are done, at its first block; 0 between products

  [[nodiscard]] std::int64_t bytes() const { return sums.bytes() + finished.bytes(); }
};

/// For so many blocks. Complete when the stream is.
template <class T>
PartSums<T> make_part_sums(std::size_t blocks, Place place, Stream stream) {
  PartSums<T> parts;
  parts.sums = Array<T>(blocks, place);
  if (place.backend == Backend::cuda) {
    parts.finished = Array<std::uint32_t>(blocks, place);
    fill_bytes(parts.finished.data(), 0, static_cast<std::size_t>(parts.finished.bytes()), place, stream);
  }
  return parts;
}

}  // namespace autospmv::formats
