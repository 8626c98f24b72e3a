#include "formats/staged/storage.hpp"

namespace autospmv::formats {

template <class T>
PartSums<T> make_part_sums(const RowBlocks& blocks, Place place, Stream stream) {
  PartSums<T> parts;
  if (!blocks.split) return parts;
  const auto count = static_cast<std::size_t>(blocks.count());
  parts.sums = Array<T>(count, place);
  if (place.backend == Backend::cuda) {
    parts.finished = Array<std::uint32_t>(count, place);
    fill_bytes(parts.finished.data(), 0, static_cast<std::size_t>(parts.finished.bytes()), place, stream);
  }
  return parts;
}

template PartSums<float> make_part_sums(const RowBlocks&, Place, Stream);
template PartSums<double> make_part_sums(const RowBlocks&, Place, Stream);

}  // namespace autospmv::formats
