#include "formats/csr/csr_merge/csr_merge.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/common/streams/scratch.hpp"
#include "formats/csr/csr_merge/hub_columns.hpp"
#include "formats/csr/csr_rows.hpp"

namespace autospmv::formats::csr_merge {

namespace host {

// Equal shares are not equal times where x is scattered or a core is busy: several a thread, taken as they come. So few
// that what they carry fits on the stack.
constexpr int shares_of_thread = 4;
constexpr int most_shares = 1024;

// What a share has of the row that it does not end.
template <class T>
struct Carry {
  std::int64_t row;
  T sum;
};

// `columns` are those of the matrix, or others in their places.
template <int Lanes, class T, class Offset>
AUTOSPMV_INLINE Carry<T> multiply_share(const CsrView<T>& matrix, const Offset* row_ptr, const std::int32_t* columns,
                                        Share steps, T alpha, const T* x, T beta, T* y) {
  const T* values = matrix.values;
  const std::int64_t last_row = rows_ended(row_ptr, matrix.rows, steps.last);
  std::int64_t row = rows_ended(row_ptr, matrix.rows, steps.first);
  std::int64_t first = steps.first - row;
  const auto sum_to = [&](std::int64_t last) AUTOSPMV_INLINE_LAMBDA {
    return row_sum<Lanes, T>(
        last - first, [&](std::int64_t k) AUTOSPMV_INLINE_LAMBDA { return values[first + k] * x[columns[first + k]]; });
  };
  for (; row < last_row; ++row) {
    const auto last = static_cast<std::int64_t>(row_ptr[row + 1]);
    const T sum = sum_to(last);
    y[row] = beta == T{0} ? alpha * sum : alpha * sum + beta * y[row];
    first = last;
  }
  return {row, sum_to(steps.last - last_row)};
}

#define AUTOSPMV_MERGE(T, Offset)                                                                                      \
  AUTOSPMV_MULTIVERSION_SCALAR Carry<T> multiply_version(const CsrView<T>& matrix, const Offset* row_ptr,              \
                                                         const std::int32_t* columns, Share steps, int lanes, T alpha, \
                                                         const T* x, T beta, T* y) {                                   \
    if (lanes == 2) return multiply_share<2>(matrix, row_ptr, columns, steps, alpha, x, beta, y);                      \
    return multiply_share<4>(matrix, row_ptr, columns, steps, alpha, x, beta, y);                                      \
  }
AUTOSPMV_EACH_OFFSET(AUTOSPMV_MERGE)
#undef AUTOSPMV_MERGE

// Every row ends in some share, which stores it before the carries are added.
template <class T>
void multiply(const CsrView<T>& matrix, const std::int32_t* columns, int lanes, T alpha, const T* x, T beta, T* y) {
  const std::int64_t steps = matrix.rows + matrix.nnz;
  const int shares = steps < serial_below ? 1 : std::min(most_shares, omp_get_max_threads() * shares_of_thread);
  std::array<Carry<T>, most_shares> carries;
  std::atomic<int> taken{0};
  parallel_region(steps, [&](int /*thread*/, int /*threads*/) {
    for (int share = taken++; share < shares; share = taken++) {
      carries[static_cast<std::size_t>(share)] = with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
        return multiply_version(matrix, row_ptr, columns, share_of(steps, share, shares), lanes, alpha, x, beta, y);
      });
    }
  });
  // The last share ends the last row.
  for (int share = 0; share + 1 < shares; ++share) {
    const auto& carry = carries[static_cast<std::size_t>(share)];
    y[carry.row] += alpha * carry.sum;
  }
}

}  // namespace host

namespace {

/// What a product writes beside y.
template <class T>
struct Notes {
  Parts<T> parts;
  Array<T> x;  ///< in the order of hub columns

  [[nodiscard]] std::int64_t bytes() const { return parts.bytes() + x.bytes(); }
};

template <class T>
class MergeOperator final : public CsrOperator<T> {
 public:
  MergeOperator(const CsrView<T>& matrix, int host_lanes, Place place)
      : CsrOperator<T>(matrix, place), host_lanes_(host_lanes) {}

  void use_hub_columns(Stream stream) { hub_.emplace(this->matrix_, this->place_, stream); }

  /// CUDA; false where the values need more bits. Waits for the stream where there is something to encode.
  bool lay_tiles([[maybe_unused]] const TileShape& shape, int value_bits, Stream stream) {
    if constexpr (built_with_cuda) tiles_ = device::lay_tiles(this->matrix_, shape, this->place_, stream);
    return this->encode(value_bits, stream);
  }

  /// Once all of the above is there.
  void take_notes() {
    if (hub_ || tiles_.blocks > 1) {
      scratch_ = std::make_unique<Scratch<Notes<T>>>(this->place_, [this] { return make_notes(); });
    } else {
      unread_ = make_notes();
    }
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if (this->matrix_.rows == 0) return;
    if (!scratch_) return multiply(this->matrix_.col_idx, unread_, alpha, x, beta, y, stream);
    scratch_->use(stream, [&](Notes<T>& notes) {
      if (!hub_) return multiply(this->matrix_.col_idx, notes, alpha, x, beta, y, stream);
      hub_->reorder(x, notes.x, stream);
      multiply(hub_->columns(), notes, alpha, notes.x.data(), beta, y, stream);
    });
  }

  [[nodiscard]] std::int64_t bytes() const override {
    return (hub_ ? hub_->bytes() : 0) + tiles_.bytes() + this->values_.bytes() + unread_.bytes() +
           (scratch_ ? scratch_->bytes() : 0);
  }

 private:
  [[nodiscard]] Notes<T> make_notes() const {
    Notes<T> notes;
    if constexpr (built_with_cuda) {
      if (tiles_.blocks > 0) notes.parts = device::make_parts<T>(tiles_, this->place_, setup_stream(this->place_));
    }
    if (hub_) notes.x = hub_->make_x();
    return notes;
  }

  void multiply(const std::int32_t* columns, [[maybe_unused]] Notes<T>& notes, T alpha, const T* x, T beta, T* y,
                [[maybe_unused]] Stream stream) const {
    on_backend(
        this->place_, [&] { host::multiply(this->matrix_, columns, host_lanes_, alpha, x, beta, y); },
        [&] {
          device::multiply(this->matrix_, columns, this->values_, tiles_, notes.parts, alpha, x, beta, y, stream);
        });
  }

  int host_lanes_;
  std::optional<HubColumns<T>> hub_;
  Tiles tiles_;
  mutable Notes<T> unread_;  ///< of all products together, where nobody reads what they write
  std::unique_ptr<Scratch<Notes<T>>> scratch_;
};

template <class T>
class CsrMerge final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "csr_merge",
                                 .version = 1,
                                 .summary = "CSR, equal shares of rows plus nonzeros along the merge path",
                                 .paper =
                                     "Merrill, Garland, \"Merge-based parallel sparse matrix-vector multiplication\", "
                                     "SC 2016"};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const override {
    const Values hub = hub_columns_may_pay<T>(features) ? Values{1, 0} : Values{0};
    if (device.backend == Backend::host) return {{"hub", hub}, {"T", {4, 2}}};
    // More steps a lane have more loads under way, as long as there is a tile for every warp that the device holds.
    const double steps = static_cast<double>(features.rows + features.nnz);
    const double warps = 32.0 * std::max(1, device.multiprocessors);
    const Values items = steps > 2 * warps * 32 * 11 ? Values{11, 7, 15} : Values{3, 7};
    return {{"value_bits", value_bits_for<T>(features)},
            {"block", {256, 128}},
            {"fixup", {1, 0}},
            {"items", items},
            {"hub", hub}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    Cost cost;
    if (device.backend == Backend::cuda) {
      if (auto refusal = refuse_tiles(features.rows, features.nnz, shape_of(params))) return *refusal;
      if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
      add_tiles(features, params, cost);
    } else {
      cost.bytes = csr_bytes<T>(features.rows, features.nnz) + search_bytes(features, device);
      cost.work = work_of_rows(features, {.entry = 0.16, .row = 0.75});
    }
    cost.bytes += vector_bytes<T>(features);
    if (params["hub"] == 1) {
      cost.bytes += hub_traffic_bytes<T>(features);
      cost.storage_bytes += hub_storage_bytes<T>(features);
      ++cost.launches;
    }
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    const bool on_cuda = device.backend == Backend::cuda;
    if (on_cuda) {
      if (auto refusal = refuse_tiles(matrix.rows, matrix.nnz, shape_of(params))) return *refusal;
    }
    if (auto refusal = refuse_allocation(storage(matrix, params, device), matrix, device)) {
      return *refusal;
    }
    const DeviceScope scope(device);
    const auto stream = setup_stream(device);
    const auto lanes = static_cast<int>(params.find("T").value_or(4));
    auto built = std::make_unique<MergeOperator<T>>(matrix, lanes, device);
    if (params["hub"] == 1) built->use_hub_columns(stream);
    if (on_cuda && matrix.rows > 0) {
      const auto value_bits = static_cast<int>(params["value_bits"]);
      if (!built->lay_tiles(shape_of(params), value_bits, stream)) return Refusal{"values: more bits are needed"};
    }
    built->take_notes();
    synchronize(device, stream);
    return std::unique_ptr<Operator<T>>(std::move(built));
  }

 private:
  using Values = std::vector<std::int64_t>;

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"hub", {0, 1}}, {"T", {2, 4}}};
    return {{"hub", {0, 1}},
            {"items", {3, 7, 11, 15}},
            {"fixup", {0, 1}},
            {"block", {128, 256}},
            {"value_bits", all_value_bits<T>()}};
  }

  static TileShape shape_of(const Params& params) {
    return {static_cast<int>(params["items"]), static_cast<int>(params["block"]), params["fixup"] == 1};
  }

  static std::optional<Refusal> refuse_tiles(std::int64_t rows, std::int64_t nnz, const TileShape& shape) {
    if (rows >= std::numeric_limits<std::int32_t>::max()) return Refusal{"size: 2^31 - 1 rows or more"};
    if ((rows + nnz) / shape.tile_steps() >= most_tiles) return Refusal{"size: 2^31 tiles or more"};
    return std::nullopt;
  }

  // What is stored anew, and what is read of it instead of CSR's own arrays.
  static void add_tiles(const Features& features, const Params& params, Cost& cost) {
    const auto shape = shape_of(params);
    const auto nnz = static_cast<double>(features.nnz);
    const auto steps = static_cast<double>(features.rows + features.nnz);
    const double blocks = std::ceil(steps / static_cast<double>(shape.block_steps()));
    const double tiles_of_block = static_cast<double>(shape.block) / cuda::warp_size;
    const double of_block =
        tiles_of_block * (4.0 * shape.items + 4) + sizeof(Crossing) + 2 * sizeof(T) + (shape.one_kernel ? 4 : 0);
    const double value_bytes = static_cast<double>(params["value_bits"]) / 8;
    cost.storage_bytes = blocks * of_block;
    if (params["value_bits"] < full_value_bits<T>) cost.storage_bytes += nnz * value_bytes;
    cost.bytes = nnz * (4 + value_bytes) + blocks * of_block;
    cost.walk = walk_of_shares(steps, static_cast<double>(shape.items));
    if (shape.one_kernel) {
      add_sums(cost.walk);  // blocks end by adding up the rows that they share
    } else if (blocks > 1) {
      ++cost.launches;
    }
  }

  // Each share finds its ends anew, a line of the cache at a time.
  static double search_bytes(const Features& features, const Device& device) {
    constexpr double line_bytes = 64;
    const double shares = host::shares_of_thread * std::max(1.0, static_cast<double>(device.multiprocessors));
    return line_bytes * 2 * shares * std::log2(static_cast<double>(features.rows) + 2);
  }

  // As in predict.
  static double storage(const CsrView<T>& matrix, const Params& params, const Device& device) {
    Features features;
    features.rows = matrix.rows;
    features.cols = matrix.cols;
    features.nnz = matrix.nnz;
    Cost cost;
    if (device.backend == Backend::cuda) add_tiles(features, params, cost);
    if (params["hub"] == 1) cost.storage_bytes += hub_storage_bytes<T>(features);
    return cost.storage_bytes;
  }
};

}  // namespace

AUTOSPMV_FORMAT(CsrMerge);

}  // namespace autospmv::formats::csr_merge
