#include "core/cuda/algorithms.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/equal_shares.cuh"

namespace autospmv::formats::device {

namespace {

template <class Offset>
__global__ void starts_kernel(const Offset* row_ptr, std::int64_t rows, std::int64_t nnz, Cut cut, std::int64_t count,
                              std::int64_t* starts, std::int32_t* continued) {
  const auto share = cuda::global_thread();
  if (share > count) return;
  const auto start = start_of_share(row_ptr, rows, nnz, cut, share);
  if (cut.at_row_ends) starts[share] = start.nonzero;
  continued[share] = start.continued;
}

__global__ void crossing_kernel(const std::int32_t* continued, std::int64_t count, std::uint8_t* crosses) {
  const auto share = cuda::global_thread();
  if (share >= count) return;
  const auto row = continued[share];
  crosses[share] = row >= 0 && continued[share - 1] != row ? 1 : 0;  // nothing goes on in share 0
}

template <class Offset>
__global__ void rows_kernel(const Offset* row_ptr, std::int64_t rows, bool empty, std::uint8_t* flags) {
  const auto row = cuda::global_thread();
  if (row < rows) flags[row] = (row_ptr[row] == row_ptr[row + 1]) == empty ? 1 : 0;
}

Array<std::int32_t> positions_of(const Array<std::uint8_t>& flags, Place place, Stream stream) {
  Array<std::int32_t> found(flags.size(), place);
  const auto size = static_cast<std::int64_t>(flags.size());
  const auto count = cuda::flagged_positions(flags.data(), size, found.data(), place, stream);
  Array<std::int32_t> positions(static_cast<std::size_t>(count), place);
  if (count > 0) copy_bytes(positions.data(), found.data(), static_cast<std::size_t>(positions.bytes()), place, stream);
  return positions;
}

}  // namespace

Array<std::int32_t> find_rows(RowOffsets row_ptr, std::int64_t rows, bool empty, Place place, Stream stream) {
  if (rows == 0) return {};
  Array<std::uint8_t> flags(static_cast<std::size_t>(rows), place);
  with_offsets(row_ptr, [&](const auto* offsets) {
    rows_kernel<<<cuda::grid_for(rows), cuda::default_block, 0, cuda::InTurn(stream)>>>(offsets, rows, empty,
                                                                                        flags.data());
  });
  cuda::check_launch();
  return positions_of(flags, place, stream);
}

template <class T>
EqualShares<T> cut_equally(RowOffsets row_ptr, std::int64_t rows, std::int64_t nnz, const Cut& cut, Place place,
                           Stream stream) {
  EqualShares<T> shares;
  shares.cut = cut;
  shares.count = (nnz + cut.share - 1) / cut.share;
  if (cut.all_rows) shares.empty_rows = find_rows(row_ptr, rows, true, place, stream);
  const auto ends = static_cast<std::size_t>(shares.count) + 1;
  if (cut.at_row_ends) shares.starts = Array<std::int64_t>(ends, place);
  shares.continued = Array<std::int32_t>(ends, place);
  with_offsets(row_ptr, [&](const auto* offsets) {
    starts_kernel<<<cuda::grid_for(shares.count + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        offsets, rows, nnz, cut, shares.count, shares.starts.data(), shares.continued.data());
  });
  cuda::check_launch();
  if (!cut.all_rows || shares.count == 0) return shares;

  Array<std::uint8_t> crosses(static_cast<std::size_t>(shares.count), place);
  crossing_kernel<<<cuda::grid_for(shares.count), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      shares.continued.data(), shares.count, crosses.data());
  cuda::check_launch();
  shares.crossing = positions_of(crosses, place, stream);
  if (cut.fixup == Fixup::atomics || shares.crossing.empty()) return shares;

  const auto count = static_cast<std::size_t>(shares.count);
  shares.carries = std::make_unique<Scratch<Carries<T>>>(place, [=] {
    Carries<T> carries{Array<T>(count, place), Array<std::uint32_t>(1, place)};
    fill_bytes(carries.blocks_done.data(), 0, sizeof(std::uint32_t), place, setup_stream(place));
    return carries;
  });
  return shares;
}

template EqualShares<float> cut_equally(RowOffsets, std::int64_t, std::int64_t, const Cut&, Place, Stream);
template EqualShares<double> cut_equally(RowOffsets, std::int64_t, std::int64_t, const Cut&, Place, Stream);

}  // namespace autospmv::formats::device
