#include "formats/blocks/storage.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "core/machine/offsets.hpp"
#include "core/machine/on_backend.hpp"
#include "formats/blocks/convert.hpp"
#include "formats/blocks/family.hpp"

namespace autospmv::formats {

namespace {

template <class T>
BlockMatrix<T> dimensions(const CsrView<T>& matrix, const BlockLayout& layout) {
  // A single slice is rounded up, so that every plane of it begins on a boundary that loads like.
  constexpr std::int64_t alignment = 16;
  BlockMatrix<T> blocks;
  blocks.layout = layout;
  blocks.rows = matrix.rows;
  blocks.cols = matrix.cols;
  blocks.block_rows = (matrix.rows + layout.r - 1) / layout.r;
  blocks.slice = layout.slice > 0 ? layout.slice
                                  : std::max(alignment, (blocks.block_rows + alignment - 1) / alignment * alignment);
  blocks.slices = (blocks.block_rows + blocks.slice - 1) / blocks.slice;
  return blocks;
}

// Chunks in all. Where work happens decides which of two functions runs; the steps are the same.
template <class T>
std::int64_t lay_out(const BlockPattern& pattern, BlockMatrix<T>& blocks, Place place, Stream stream) {
  blocks.slice_chunks = Array<std::int32_t>(static_cast<std::size_t>(blocks.slices) + 1, place);
  on_backend(
      place, [&] { host::count_chunks(pattern, blocks); }, [&] { cuda_steps::count_chunks(pattern, blocks, stream); });
  return offsets_from_counts(blocks.slice_chunks, stream);
}

// False where two nonzeros share a slot; on CUDA those were refused when the blocks were found.
template <class T>
bool fill(const CsrView<T>& matrix, const BlockMatrix<T>& blocks, Array<T>& values, Place place, Stream stream) {
  return on_backend(
      place, [&] { return host::fill(matrix, blocks, values); },
      [&] {
        cuda_steps::fill(matrix, blocks, values, stream);
        return true;
      });
}

template <class T>
std::optional<Refusal> refuse_slots(const BlockMatrix<T>& blocks, std::int64_t slots, const CsrView<T>& matrix,
                                    const Device& device) {
  const auto block_rows = static_cast<double>(blocks.block_rows);
  const auto block_slots = static_cast<double>(slots);
  const double csr = csr_bytes<T>(matrix.rows, matrix.nnz);
  if (auto refusal = refuse_fill<T>(blocks.layout, block_rows, block_slots, csr, device)) return refusal;
  return refuse_allocation(block_bytes<T>(blocks.layout, block_rows, block_slots), matrix, device);
}

}  // namespace

template <class T>
Result<BlockMatrix<T>> build_blocks(const CsrView<T>& matrix, const BlockLayout& layout, const Device& device) {
  const DeviceScope scope(device);
  const auto stream = setup_stream(device);
  auto blocks = dimensions(matrix, layout);
  auto pattern = on_backend(
      device, [&] { return host::find_blocks(matrix, layout); },
      [&] { return cuda_steps::find_blocks(matrix, layout, device, stream); });
  if (!pattern) return Refusal{pattern.reason()};

  blocks.sorted_rows = pattern->sorted_rows;
  const bool in_place = blocks.slice == 1;
  const auto chunks =
      in_place ? static_cast<std::int64_t>(pattern->block_columns.size()) : lay_out(*pattern, blocks, device, stream);
  if (chunks > most_blocks) return refuse_block_count();
  const auto slots = chunks * blocks.slice;
  if (auto refusal = refuse_slots(blocks, slots, matrix, device)) return *refusal;
  if (in_place) {
    blocks.slice_chunks = std::move(pattern->block_ptr);
    blocks.block_columns = std::move(pattern->block_columns);
  } else {
    blocks.block_columns = Array<std::int32_t>(static_cast<std::size_t>(slots), device);
    on_backend(
        device, [&] { host::place_blocks(*pattern, blocks); },
        [&] { cuda_steps::place_blocks(*pattern, blocks, stream); });
  }
  const auto elements = slots * layout.r * layout.c + BlockMatrix<T>::read_past;
  Array<T> values(static_cast<std::size_t>(elements), device);
  if (!fill(matrix, blocks, values, device, stream)) return refuse_duplicates();
  if (!encode(blocks.values, std::move(values), value_bits_of<T>(layout.value_bits), nullptr, stream)) {
    return refuse_encoding(value_bits_of<T>(layout.value_bits));
  }
  synchronize(device, stream);
  return blocks;
}

template <class T>
bool BlockMatrix<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  const auto elements = block_columns.size() * static_cast<std::size_t>(layout.r * layout.c);
  return refill_values(values, elements + read_past, nullptr, place, stream,
                       [&](Array<T>& to, Stream on) { fill(matrix, *this, to, place, on); });
}

template <class T>
void BlockMatrix<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (rows == 0) return;
  on_backend(
      place, [&] { host::multiply(*this, alpha, x, beta, y); },
      [&] { kernel(*this, launch, alpha, x, beta, y, stream); });
}

template struct BlockMatrix<float>;
template struct BlockMatrix<double>;
template Result<BlockMatrix<float>> build_blocks(const CsrView<float>&, const BlockLayout&, const Device&);
template Result<BlockMatrix<double>> build_blocks(const CsrView<double>&, const BlockLayout&, const Device&);

}  // namespace autospmv::formats
