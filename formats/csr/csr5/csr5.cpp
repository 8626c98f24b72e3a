#include "formats/csr/csr5/csr5.hpp"

#include <bit>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "formats/common/host/host_shares.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/common/kernels/fixup.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"

namespace autospmv::formats::csr5 {

namespace host {

namespace {

// The rows that have entries, where others have none.
template <class Offset>
Array<std::int32_t> filled_rows(const Offset* row_ptr, std::int64_t rows) {
  std::vector<std::int32_t> filled;
  for (std::int64_t row = 0; row < rows; ++row) {
    if (row_ptr[row + 1] > row_ptr[row]) filled.push_back(static_cast<std::int32_t>(row));
  }
  if (static_cast<std::int64_t>(filled.size()) == rows) return {};
  return Array<std::int32_t>::copy_of(filled, Place{});
}

template <class T, class Offset>
void describe_tile(const FilledRows<Offset>& filled, std::int64_t tile, Tiles<T>& tiles) {
  const auto first_lane = tile * lanes;
  const auto first_row = filled.beginning_from(first_lane * tiles.sigma);
  tiles.tile_ptr[static_cast<std::size_t>(tile)] = static_cast<std::int32_t>(first_row);
  auto row = first_row;
  std::uint32_t flagged = 0;
  std::int64_t y_offset[lanes];
  for (int lane = 0; lane < lanes; ++lane) {
    const auto flags = flags_of_lane(filled, row, (first_lane + lane) * tiles.sigma, tiles.sigma);
    tiles.bit_flags[static_cast<std::size_t>(first_lane + lane)] = flags;
    y_offset[lane] = row - first_row;
    if (flags != 0) flagged |= std::uint32_t{1} << lane;
    row += std::popcount(flags);
  }
  for (int lane = 0; lane < lanes; ++lane) {
    tiles.offsets[static_cast<std::size_t>(first_lane + lane)] =
        pack_offsets(y_offset[lane], seg_offset(flagged, lane));
  }
}

}  // namespace

template <class T>
void describe(const CsrView<T>& matrix, Tiles<T>& tiles) {
  const auto all = static_cast<std::size_t>(tiles.count * lanes);
  tiles.tile_ptr = Array<std::int32_t>(static_cast<std::size_t>(tiles.count), Place{});
  tiles.bit_flags = Array<std::uint32_t>(all, Place{});
  tiles.offsets = Array<std::uint16_t>(all, Place{});
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    tiles.row_ids = filled_rows(row_ptr, matrix.rows);
    const std::int32_t* row_ids = tiles.row_ids.data();
    const auto filled = row_ids == nullptr ? matrix.rows : static_cast<std::int64_t>(tiles.row_ids.size());
    const FilledRows rows{row_ptr, row_ids, filled};
    parallel_region(matrix.nnz, [&](int thread, int threads) {
      const auto share = share_of(tiles.count, thread, threads);
      for (auto tile = share.first; tile < share.last; ++tile) describe_tile(rows, tile, tiles);
    });
  });
}

template <class V>
void transpose(const V* nonzeros, V padding, std::int64_t nnz, int sigma, Array<V>& slots) {
  parallel_for(static_cast<std::int64_t>(slots.size()), [&](std::int64_t k) {
    slots[static_cast<std::size_t>(slot_of(k, sigma))] = k < nnz ? nonzeros[k] : padding;
  });
}

namespace {

// Walks tiles [first, last), lane by lane: the order of the matrix.
template <class T>
class Walk {
 public:
  Walk(const Tiles<T>& tiles, T alpha, const T* x, T beta, T* y)
      : tiles_(tiles), alpha_(alpha), x_(x), beta_(beta), y_(y) {}

  template <class Values>
  AUTOSPMV_INLINE formats::host::Head<T> sum(Values values, std::int64_t first, std::int64_t last) {
    values.open();
    next_ = tiles_.tile_ptr[static_cast<std::size_t>(first)];
    const bool row_begins = (tiles_.bit_flags[static_cast<std::size_t>(first * lanes)] & 1U) != 0;
    if (!row_begins) head_.row = row_of(next_ - 1);
    for (auto lane = first * lanes; lane < last * lanes; ++lane) walk_lane(values, lane);
    finish_row();
    return head_;
  }

 private:
  template <class Values>
  AUTOSPMV_INLINE void walk_lane(const Values& values, std::int64_t lane) {
    const std::int64_t filled = std::clamp<std::int64_t>(tiles_.nnz - lane * tiles_.sigma, 0, tiles_.sigma);
    const std::int64_t slot = lane / lanes * tile_size(tiles_.sigma) + lane % lanes;
    const std::int32_t* columns = tiles_.columns.data();
    std::int64_t step = 0;
    for (auto flags = tiles_.bit_flags[static_cast<std::size_t>(lane)];; flags &= flags - 1) {
      const std::int64_t end = flags == 0 ? filled : std::countr_zero(flags);
      sum_ += row_sum<2, T>(end - step, [&](std::int64_t i) AUTOSPMV_INLINE_LAMBDA {
        const auto at = slot + (step + i) * lanes;
        return values.at(at) * x_[columns[at]];
      });
      if (flags == 0) return;
      step = end;
      finish_row();
      begun_ = true;
      ++next_;
    }
  }

  // The row that a flag or the end of the walk ends: the last that has begun, or that of an earlier share.
  AUTOSPMV_INLINE void finish_row() {
    if (begun_) {
      const auto row = row_of(next_ - 1);
      formats::host::store_row(y_, row, alpha_, sum_, beta_);
      if (!tiles_.row_ids.empty()) {
        const bool is_last = next_ == static_cast<std::int64_t>(tiles_.row_ids.size());
        formats::host::scale_rows(row + 1, is_last ? tiles_.rows : row_of(next_), beta_, y_);
      }
    } else {
      head_.sum = sum_;
    }
    sum_ = 0;
  }

  [[nodiscard]] AUTOSPMV_INLINE std::int64_t row_of(std::int64_t number) const {
    return tiles_.row_ids.empty() ? number : tiles_.row_ids[static_cast<std::size_t>(number)];
  }

  const Tiles<T>& tiles_;
  T alpha_;
  const T* x_;
  T beta_;
  T* y_;
  T sum_ = 0;
  std::int64_t next_ = 0;  // row to begin
  bool begun_ = false;     // some row has
  formats::host::Head<T> head_;
};

#define AUTOSPMV_CSR5(T, Values)                                                                                   \
  AUTOSPMV_MULTIVERSION_SCALAR formats::host::Head<T> walk_version(const Tiles<T>& tiles, Values values,           \
                                                                   std::int64_t first, std::int64_t last, T alpha, \
                                                                   const T* x, T beta, T* y) {                     \
    return Walk<T>(tiles, alpha, x, beta, y).sum(values, first, last);                                             \
  }
AUTOSPMV_EACH_VALUES(AUTOSPMV_CSR5)
#undef AUTOSPMV_CSR5

}  // namespace

template <class T>
void multiply(const Tiles<T>& tiles, int shares, T alpha, const T* x, T beta, T* y) {
  if (tiles.nnz == 0) return formats::host::scale_rows(0, tiles.rows, beta, y);
  // No row begins before the first that has entries, so nobody else sees to those.
  if (!tiles.row_ids.empty()) formats::host::scale_rows(0, std::int64_t{tiles.row_ids[0]}, beta, y);
  with_values(tiles.values, [&](auto values) {
    formats::host::sum_in_shares(tiles.nnz, shares, alpha, y, [&](int share) {
      const auto [first, last] = share_of(tiles.count, share, shares);
      return first == last ? formats::host::Head<T>{} : walk_version(tiles, values, first, last, alpha, x, beta, y);
    });
  });
}

}  // namespace host

namespace {

// Where work happens decides which of two functions runs; the steps are the same.
template <class V>
void transpose(const V* nonzeros, V padding, std::int64_t nnz, int sigma, Array<V>& slots, Stream stream) {
  on_backend(
      slots.place(), [&] { host::transpose(nonzeros, padding, nnz, sigma, slots); },
      [&] { device::transpose(nonzeros, padding, nnz, sigma, slots, stream); });
}

}  // namespace

template <class T>
void Tiles<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (rows == 0) return;
  on_backend(
      place, [&] { host::multiply(*this, host_shares, alpha, x, beta, y); },
      [&] { device::multiply(*this, block, alpha, x, beta, y, stream); });
}

template <class T>
bool Tiles<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  return refill_values(values, static_cast<std::size_t>(slots()), columns.data(), place, stream,
                       [&](Array<T>& to, Stream on) { transpose(matrix.values, T{0}, nnz, sigma, to, on); });
}

namespace {

// Everything but columns and values.
template <class T>
Tiles<T> describe(const CsrView<T>& matrix, int sigma, Fixup fixup, const Device& device) {
  Tiles<T> tiles;
  tiles.sigma = sigma;
  tiles.rows = matrix.rows;
  tiles.cols = matrix.cols;
  tiles.nnz = matrix.nnz;
  tiles.count = (matrix.nnz + tile_size(sigma) - 1) / tile_size(sigma);
  constexpr int shares_of_thread = 4;
  tiles.host_shares = std::clamp(shares_of_thread * device.multiprocessors, 1, formats::host::most_shares);
  on_backend(
      device, [&] { host::describe(matrix, tiles); },
      [&] { device::describe(matrix, fixup, tiles, device, setup_stream(device)); });
  return tiles;
}

// What a product reads of nnz nonzeros in tiles, carries not among it.
template <class T>
double tiles_bytes(double nnz, int sigma, std::int64_t value_bits) {
  const double tiles = std::ceil(nnz / static_cast<double>(tile_size(sigma)));
  const double bits = 32 + static_cast<double>(std::min<std::int64_t>(value_bits, full_value_bits<T>));
  return tiles * (4 + lanes * 6 + static_cast<double>(tile_size(sigma)) * bits / 8);
}

template <class T>
class Csr5 final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "csr5",
        .version = 2,
        .summary = "nonzeros in transposed tiles of 32 x sigma, segmented sum",
        .paper =
            "Liu, Vinter, \"CSR5: an efficient storage format for cross-platform sparse matrix-vector "
            "multiplication\", 2015, 3 and 4",
        .offered = {Backend::cuda},
        .deterministic = false};  // with fixup = 1, rows that span tiles are added up by atomics
    return info;
  }

  [[nodiscard]] bool deterministic(const Params& params, const Device& device) const override {
    return deterministic_fixup(params, device);
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const auto values = value_bits_for<T>(features);
    if (device.backend == Backend::host) return {{"value_bits", values}, {"sigma", {16, 32}}};
    return {{"value_bits", values},
            {"fixup", fixups_for(features)},
            {"sigma", sigmas_for(features.npr_mean)},
            {"block", {128, 256}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
    const auto sigma = static_cast<int>(params["sigma"]);
    const auto cut = cut_of(params);
    Cost cost;
    const double tiles = tiles_bytes<T>(static_cast<double>(features.nnz), sigma, params["value_bits"]);
    const auto empty = static_cast<double>(features.empty_rows);
    // The rows with entries are listed on either backend where some have none, those on CUDA only.
    const double listed = empty == 0 ? 0 : static_cast<double>(features.rows) - empty;
    cost.storage_bytes = tiles + listed * 4;
    if (device.backend == Backend::cuda) cost.storage_bytes += empty * 4 + equal_shares_bytes<T>(cut, features.nnz);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    cost.bytes = cost.storage_bytes + vector_bytes<T>(features);
    if (device.backend == Backend::cuda) {
      cost.walk = walk_of_shares(static_cast<double>(features.nnz), sigma);
      // Nearly every tile ends within a row.
      const double crossings = std::ceil(static_cast<double>(features.nnz) / static_cast<double>(cut.share)) - 1;
      add_fixup(features, cut, std::max(0.0, crossings), cost);
    } else {
      const auto nnz = static_cast<double>(features.nnz);
      cost.work = 0.37 * nnz + 8 * static_cast<double>(features.rows) +
                  work_of_decoding(nnz, full_column_bits, params["value_bits"]);
      cost.conversion = 3;
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    const DeviceScope scope(device);
    const auto sigma = static_cast<int>(params["sigma"]);
    const auto cut = cut_of(params);
    const double bytes = tiles_bytes<T>(static_cast<double>(matrix.nnz), sigma, full_value_bits<T>) +
                         equal_shares_bytes<T>(cut, matrix.nnz);
    if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
    const auto stream = setup_stream(device);
    auto tiles = describe(matrix, sigma, cut.fixup, device);
    tiles.block = static_cast<int>(params.find("block").value_or(tiles.block));
    const auto slots = static_cast<std::size_t>(tiles.slots());
    tiles.columns = Array<std::int32_t>(slots, device);
    transpose(matrix.col_idx, -1, matrix.nnz, sigma, tiles.columns, stream);
    Array<T> values(slots, device);
    transpose(matrix.values, T{0}, matrix.nnz, sigma, values, stream);
    const auto value_bits = static_cast<int>(params["value_bits"]);
    if (!encode(tiles.values, std::move(values), value_bits, tiles.columns.data(), stream)) {
      return Refusal{"encoding: values need more bits"};
    }
    synchronize(device, stream);
    return operator_of(std::move(tiles), device);
  }

 private:
  // The paper's rule for NVIDIA's devices, 6.2: sigma is npr, kept between 4 and 32, and 6 for very long rows, here
  // with the rest of sigma a multiple of 4. Beside it, its neighbours.
  static std::vector<std::int64_t> sigmas_for(double npr) {
    constexpr double very_long = 256;
    const auto all = sigmas();
    const double wanted = npr > very_long ? 8 : npr;
    std::size_t at = 0;
    while (at + 1 < all.size() && static_cast<double>(all[at]) < wanted) ++at;
    std::vector<std::int64_t> chosen{all[at]};
    if (at + 1 < all.size()) chosen.push_back(all[at + 1]);
    if (at > 0) chosen.push_back(all[at - 1]);
    return chosen;
  }

  static std::vector<std::int64_t> sigmas() { return {4, 8, 12, 16, 24, 32}; }

  static Cut cut_of(const Params& params) {
    return {.share = tile_size(static_cast<int>(params["sigma"])),
            .fixup = static_cast<Fixup>(params.find("fixup").value_or(1))};
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"value_bits", all_value_bits<T>()}, {"sigma", sigmas()}};
    return {{"value_bits", all_value_bits<T>()},
            {"fixup", all_fixups()},
            {"sigma", sigmas()},
            {"block", {64, 128, 256, 512}}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(Csr5);

}  // namespace autospmv::formats::csr5
