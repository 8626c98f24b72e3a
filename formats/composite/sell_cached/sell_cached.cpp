#include "formats/composite/sell_cached/sell_cached.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "core/types.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/rules.hpp"

namespace autospmv::formats::sell_cached {

namespace {

// Columns of a block: a number that is a multiple of this, so that the parts of x begin where x is aligned.
constexpr std::int64_t width_unit = 32;

// Columns are words, the largest of which may be padding.
constexpr std::int64_t most_columns = (std::int64_t{1} << 16) - width_unit;

std::int64_t rounded_up(std::int64_t number, std::int64_t unit) { return (number + unit - 1) / unit * unit; }

template <class T>
Layout layout_of(std::int64_t rows, std::int64_t cols, std::int64_t nnz, const Params& params, const Device& device) {
  Layout layout{.rows = rows, .cols = cols};
  layout.threads = static_cast<int>(params["T"]);
  layout.value_bits = static_cast<int>(params["value_bits"]);
  // An element more is the 0 of padding, and one has room for the number of the slice that comes next.
  const auto room = device.shared_bytes_of_block / static_cast<std::int64_t>(sizeof(T)) - 2;
  auto most = std::min(room / width_unit * width_unit, most_columns);
  if (params["width"] > 0) most = std::min(most, params["width"]);
  layout.blocks = std::max<std::int64_t>(1, (cols + most - 1) / most);
  layout.width = std::min(most, rounded_up((cols + layout.blocks - 1) / layout.blocks, width_unit));
  const auto mean = (nnz + rows - 1) / std::max<std::int64_t>(1, rows);
  layout.longest = std::max(layout.blocks * layout.threads * entries_of_piece, means_of_piece * mean);
  layout.set_pieces(0);
  return layout;
}

// What is kept of where blocks begin, which no product reads.
double begins_bytes(const Layout& layout) {
  return static_cast<double>(layout.blocks - 1) * static_cast<double>(layout.rows) * 4;
}

// Bytes of so many slots, of what is kept beside them, and of the sums of blocks.
template <class T>
double cached_bytes(const Layout& layout, double slots) {
  const double positions = static_cast<double>(layout.blocks) * static_cast<double>(layout.parts());
  const double sums = layout.blocks > 1 ? positions * sizeof(T) : 0;
  const double slices = positions / layout.slice_rows() * 4;
  return slots * (16 + value_bits_of<T>(layout.value_bits)) / 8 + positions * 4 + slices + begins_bytes(layout) + sums;
}

double entries_of_block(const Features& features, const Layout& layout) {
  return features.npr_mean / static_cast<double>(layout.blocks);
}

template <class T>
void fill(const CsrView<T>& matrix, const CachedSell<T>& sell, Array<std::int32_t>& columns, Array<T>& values,
          [[maybe_unused]] Stream stream) {
  if constexpr (built_with_cuda) device::fill(matrix, sell, columns, values, stream);
}

template <class T>
Result<CachedSell<T>> build(const CsrView<T>& matrix, const Layout& layout, const Device& device) {
  CachedSell<T> sell;
  sell.layout = layout;
  if constexpr (built_with_cuda) {
    if (matrix.rows == 0) return sell;
    const DeviceScope scope(device);
    const Place place = device;
    const auto stream = setup_stream(device);
    constexpr auto most = std::numeric_limits<std::int32_t>::max();
    const auto has_room = [&] { return sell.layout.blocks * sell.layout.positions() <= most_positions; };
    const Refusal no_room{"memory: more than 2^30 rows of blocks of columns"};
    if (!has_room()) return no_room;
    if (auto refusal = refuse_allocation(cached_bytes<T>(layout, 0), matrix, device)) return *refusal;
    device::cut_rows(matrix, sell, place, stream);
    if (!has_room()) return no_room;
    const auto chunks = device::lay_out(matrix, sell, place, stream);
    if (chunks > most) return Refusal{"more than 2^31 chunks of slots"};
    sell.slots = chunks * Layout::chunk_slots();
    if (auto refusal =
            refuse_allocation(cached_bytes<T>(sell.layout, static_cast<double>(sell.slots)), matrix, device)) {
      return *refusal;
    }
    const auto fit = device::store(matrix, sell, place, stream);
    if (fit == Fit::not_values) return refuse_encoding(value_bits_of<T>(layout.value_bits));
    if (fit == Fit::not_columns) return Refusal{"pattern: the columns of a row are not in order"};
    const auto thread_blocks = std::min<std::int64_t>(std::max(1, device.multiprocessors), sell.layout.all_slices());
    device::deal_slices(sell, thread_blocks, device.shared_bytes_of_block, place, stream);
    if (layout.blocks > 1 || sell.layout.pieces > 0) {
      const auto count = static_cast<std::size_t>(layout.blocks * sell.layout.parts());
      sell.sums = std::make_unique<Scratch<BlockSums<T>>>(place, [count, place] { return BlockSums<T>(count, place); });
    }
    synchronize(place, stream);
  }
  return sell;
}

template <class T>
class SellCached final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "sell_cached",
        .summary = "blocks of columns in sliced ELLPACK, the part of x of each in shared memory",
        .paper =
            "Nishtala, Vuduc, Demmel, Yelick, \"When cache blocking of sparse matrix vector multiply works and why\", "
            "2007; Yan, Li, Zhang, Zhou, \"yaSpMV: yet another SpMV framework on GPUs\", 2014, BCCOO+",
        .backends = {Backend::cuda},
        .offered = {Backend::cuda}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    auto threads = threads_for(features, device);
    std::vector<std::int64_t> others;
    if (!may_win(features, device)) std::swap(threads, others);
    return {{"T", std::move(threads), std::move(others)},
            {"width", {as_fits}, {small_width}},
            {"value_bits", value_bits_for<T>(features)}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    const auto layout = layout_of<T>(features.rows, features.cols, features.nnz, params, device);
    if (auto refusal = refuse_value_bits<T>(features, value_bits_of<T>(layout.value_bits))) return *refusal;
    // Duplicates are in order, but features do not tell them from what is not: conversion finds out.
    const double slots = static_cast<double>(features.nnz) * padding(features, layout);
    Cost cost;
    cost.storage_bytes = cached_bytes<T>(layout, slots);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    // Sums that are written are read while they are in the L2, and each multiprocessor has its part of x from there.
    cost.bytes = cost.storage_bytes - begins_bytes(layout) + vector_bytes<T>(features) +
                 part_bytes(layout) * device.multiprocessors / 2;
    cost.launches = layout.blocks > 1 ? 2 : 1;
    // The threads of a block go from slice to slice.
    const double segments = static_cast<double>(layout.blocks * features.rows * layout.threads);
    const double threads = std::min(segments, static_cast<double>(block_threads) * device.multiprocessors);
    const double longest = static_cast<double>(features.npr_max) / static_cast<double>(layout.blocks * layout.threads);
    cost.walk = {.threads = threads,
                 .steps = threads > 0 ? step_from_shared * (slots + segments) / threads : 0,
                 .longest = std::min<double>(longest, entries_of_piece)};
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    return operator_or_refusal(
        build(matrix, layout_of<T>(matrix.rows, matrix.cols, matrix.nnz, params, device), device), device);
  }

 private:
  static constexpr std::int64_t as_fits = 0;
  static constexpr std::int64_t small_width = 1024;
  // A step that reads x from shared memory, beside one that reads it from a cache.
  static constexpr double step_from_shared = 0.4;

  static double part_bytes(const Layout& layout) { return static_cast<double>(layout.width) * sizeof(T); }

  static Layout layout_for(const Features& features, std::int64_t threads, const Device& device) {
    return layout_of<T>(features.rows, features.cols, features.nnz,
                        {{"T", threads}, {"width", as_fits}, {"value_bits", 64}}, device);
  }

  // Where rows of blocks are long enough for what is read and written of each, there are about as many entries as
  // elements of x that all multiprocessors copy together, and neighbouring rows do not meet near columns anyway.
  static bool may_win(const Features& features, const Device& device) {
    constexpr double short_row = 3;
    constexpr double near_bytes = 4096;
    const auto layout = layout_for(features, 1, device);
    const double copied = static_cast<double>(layout.width) * device.multiprocessors;
    return entries_of_block(features, layout) >= short_row && 8 * static_cast<double>(features.nnz) >= copied &&
           features.slice_span_mean * sizeof(T) >= near_bytes;
  }

  // As few as leave every warp a slice, and as many as rows have chunks for.
  static std::vector<std::int64_t> threads_for(const Features& features, const Device& device) {
    const auto layout = layout_for(features, 1, device);
    const double entries = entries_of_block(features, layout);
    constexpr double warps_of_block = static_cast<double>(block_threads) / warp_lanes;
    const double warps_wanted = warps_of_block * std::max(1, device.multiprocessors);
    std::int64_t threads = 1;
    while (threads < warp_lanes &&
           static_cast<double>(layout.blocks * features.rows * threads) / warp_lanes < warps_wanted &&
           entries >= static_cast<double>(4 * threads)) {
      threads *= 2;
    }
    std::vector<std::int64_t> all{threads};
    if (threads > 1) all.push_back(threads / 2);
    if (threads < warp_lanes) all.push_back(2 * threads);
    return all;
  }

  // Slots over nonzeros: sorting brings equal lengths together; what remains is rounding up to a chunk.
  static double padding(const Features& features, const Layout& layout) {
    if (features.nnz == 0) return 0;
    constexpr double after_sorting = 1.04;
    return after_sorting +
           static_cast<double>(layout.entries_of_chunk() - 1) / 2 / std::max(1.0, entries_of_block(features, layout));
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& /*device*/) const override {
    return {{"T", {1, 2, 4, 8, 16, 32}},
            {"width", {as_fits, small_width, 4 * small_width, 16 * small_width}},
            {"value_bits", all_value_bits<T>()}};
  }
};

}  // namespace

template <class T>
bool CachedSell<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  if (layout.rows == 0) return true;
  return refill_slots(values, columns, slots, place, stream,
                      [&](Array<std::int32_t>& again, Array<T>& to, Stream on) { fill(matrix, *this, again, to, on); });
}

template <class T>
void CachedSell<T>::multiply([[maybe_unused]] T alpha, [[maybe_unused]] const T* x, [[maybe_unused]] T beta,
                             [[maybe_unused]] T* y, Place /*place*/, [[maybe_unused]] Stream stream) const {
  if constexpr (built_with_cuda) {
    if (layout.rows > 0) device::multiply(*this, alpha, x, beta, y, stream);
  }
}

template struct CachedSell<float>;
template struct CachedSell<double>;

AUTOSPMV_FORMAT(SellCached);

}  // namespace autospmv::formats::sell_cached
