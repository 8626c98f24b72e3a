// cusparse_sell: the vendor's product by sliced ELLPACK, the arrays of which the caller has to build. Slices of C rows
// in their own order, each stored column by column and padded to its longest row; padding has column -1, and the rows
// that the last slice lacks are padding too.
//
//   C = 2                  slice_offsets  0 6 10
//   0: a b c               columns        0 1  2 -1  3 -1 | 0 -1  2 -1
//   1: d                   values         a d  b .   c .  | e .   f .
//   2: e f
//
// Slices wider than 8 are widened to a multiple of 16: in others, cuSPARSE 12.6 makes NaN of most rows that an infinite
// element of x should make infinite (of 217 such rows of a matrix of 999, up to 22 nonzeros each, it did of 161), as if
// what is missing to whole steps of its loop were multiplied by elements of x as well.
//
// The sliced core with one thread a row: formats/sliced/storage.hpp.

#include <algorithm>
#include <cmath>

#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/sliced/storage.hpp"
#include "formats/vendor/cusparse.hpp"

namespace autospmv::formats::cusparse_sell {

namespace {

constexpr std::int64_t whole_step = 16;

template <class T>
struct SellStorage {
  std::int64_t cols;
  std::int64_t nnz;
  SlicedMatrix<T> sliced;
  Array<std::int32_t> slice_offsets;  ///< in slots, where those of the sliced core count chunks of C
  Place place;

  [[nodiscard]] cusparse::MatrixDescriptor describe() const {
    cusparse::MatrixDescriptor descriptor;
    cusparse::check(cusparse::loaded::cusparseCreateConstSlicedEll(
        descriptor.put(), sliced.rows, cols, nnz, sliced.slots, sliced.slice_rows, slice_offsets.data(),
        sliced.columns.full.data(), sliced.values.full.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I,
        CUSPARSE_INDEX_BASE_ZERO, cusparse::data_type<T>));
    return descriptor;
  }
  bool refresh(const CsrView<T>& from, Stream stream) { return sliced.refresh(from, place, stream); }
  [[nodiscard]] std::int64_t bytes() const { return sliced.bytes() + slice_offsets.bytes(); }
};

__global__ void slice_offsets_kernel(const std::int32_t* slice_chunks, std::int32_t slice_rows, std::int64_t size,
                                     std::int32_t* offsets) {
  const auto i = cuda::global_thread();
  if (i < size) offsets[i] = slice_chunks[i] * slice_rows;
}

Array<std::int32_t> slice_offsets(const Array<std::int32_t>& slice_chunks, std::int64_t slice_rows, Place place,
                                  Stream stream) {
  Array<std::int32_t> offsets(slice_chunks.size(), place);
  const auto size = static_cast<std::int64_t>(slice_chunks.size());
  slice_offsets_kernel<<<cuda::grid_for(size), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      slice_chunks.data(), static_cast<std::int32_t>(slice_rows), size, offsets.data());
  cuda::check_launch();
  return offsets;
}

template <class T>
class CusparseSell final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "cusparse_sell",
                                 .version = 1,
                                 .summary = "the vendor's product by sliced ELLPACK",
                                 .paper = "NVIDIA, cuSPARSE library, cusparseSpMV()",
                                 .backends = {Backend::cuda},
                                 .offered = {},
                                 .vendor = true};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& /*device*/) const override {
    return {{"C", {32, 64, 128, 16}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = cusparse::refuse(features)) return *refusal;
    const double slots = expected_slots(features, params["C"]);
    if (auto refusal = refuse_slots(slots)) return *refusal;
    Cost cost;
    cost.storage_bytes = sliced_bytes<T>(layout_of(params), features.rows, slots);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes = cost.storage_bytes + vector_bytes<T>(features);
    cost.walk = walk_of_rows(features, 1);
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (auto refusal = cusparse::refuse(matrix)) return *refusal;
    const DeviceScope scope(device);
    auto sliced = build_sliced(matrix, layout_of(params), device);
    if (!sliced) return Refusal{sliced.reason()};
    if (auto refusal = refuse_slots(static_cast<double>(sliced->slots))) return *refusal;
    auto offsets = slice_offsets(sliced->slice_chunks, sliced->slice_rows, device, setup_stream(device));
    SellStorage<T> storage{matrix.cols, matrix.nnz, std::move(*sliced), std::move(offsets), device};
    return cusparse::make_operator(cusparse::open_library(device), std::move(storage), matrix, CUSPARSE_SPMV_SELL_ALG1,
                                   device);
  }

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& /*device*/) const override {
    return {{"C", {slice_sizes.begin(), slice_sizes.end()}}};
  }

  static SlicedLayout layout_of(const Params& params) {
    SlicedLayout layout;
    layout.slice_rows = params["C"];
    layout.whole_chunks = whole_step;
    return layout;
  }

  static double expected_slots(const Features& features, std::int64_t slice_rows) {
    if (features.nnz == 0) return 0;
    const auto at = std::find(slice_sizes.begin(), slice_sizes.end(), slice_rows);
    const double padding = features.sliced_ell_padding[static_cast<std::size_t>(at - slice_sizes.begin())];
    const double width = padding * features.npr_mean;
    const double widened = width > whole_step / 2.0 ? std::ceil(width / whole_step) * whole_step : width;
    return widened * static_cast<double>(features.rows);
  }

  static std::optional<Refusal> refuse_slots(double slots) {
    if (slots <= static_cast<double>(max_narrow_nnz)) return std::nullopt;
    return Refusal{"size: 2^31 slots, padding among them, do not fit 32-bit offsets"};
  }
};

}  // namespace

AUTOSPMV_FORMAT(CusparseSell);

}  // namespace autospmv::formats::cusparse_sell
