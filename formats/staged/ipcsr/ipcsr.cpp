#include "formats/staged/ipcsr/ipcsr.hpp"

#include <algorithm>
#include <cmath>

#include "formats/staged/family.hpp"

namespace autospmv::formats::ipcsr {

namespace {
constexpr std::int64_t granularity = 32;  // of staged products
}  // namespace

template <class T>
std::int64_t shared_size(int threads, const Device& device) {
  constexpr std::int64_t kept = 2048;  // by CUDA and by the kernel, a block
  const std::int64_t blocks = std::min(device.threads_of_multiprocessor / threads, device.blocks_of_multiprocessor);
  const std::int64_t bytes = device.shared_bytes_of_multiprocessor / std::max<std::int64_t>(1, blocks);
  const std::int64_t most = std::min(bytes, device.shared_bytes_of_block) - kept;
  // Of every 128 bytes staged, a place is left out.
  constexpr std::int64_t line = 128 / sizeof(T);
  const std::int64_t products = most / static_cast<std::int64_t>(sizeof(T)) * line / (line + 1);
  return products / granularity * granularity;
}

namespace {

// Equation (3) for 256, 128 and 512 threads, best guess first; with other blocks than it comes from, each is a size
// around theirs. Then half of the least, and half of that where two are the same.
template <class T>
std::vector<std::int64_t> shared_sizes(const Device& device) {
  constexpr std::size_t count = 4;
  std::vector<std::int64_t> sizes;
  for (const int threads : {256, 128, 512}) {
    const auto size = shared_size<T>(threads, device);
    if (std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  }
  for (auto size = *std::min_element(sizes.begin(), sizes.end()); sizes.size() < count; sizes.push_back(size)) {
    size = size / 2 / granularity * granularity;
  }
  return sizes;
}

/// The paper's own form; the others are StagedRowsOperator.
template <class T>
class PaperOperator final : public CsrOperator<T> {
 public:
  PaperOperator(const CsrView<T>& matrix, RowBlocks blocks, int threads, Place place)
      : CsrOperator<T>(matrix, place), blocks_(std::move(blocks)), threads_(threads) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if constexpr (built_with_cuda) device::multiply(this->matrix_, blocks_, threads_, alpha, x, beta, y, stream);
  }

  [[nodiscard]] std::int64_t bytes() const override { return blocks_.bytes(); }

 private:
  RowBlocks blocks_;
  int threads_;
};

template <class T>
class Ipcsr final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "ipcsr",
        .version = 1,
        .summary =
            "CSR in row blocks that fit shared memory, threads a row by block; forms 1 and 2 by csr_adaptive's kernel",
        .paper =
            "Gao, Qi, He, \"Efficient CSR-based sparse matrix-vector multiplication on GPU\", 2016, Algorithms 3-9",
        .offered = {}};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& device) const override {
    if (device.backend == Backend::host) return {{"SHARED_SIZE", {1024, most_staged_on_host}, {2048, 512}}};
    const auto sizes = shared_sizes<T>(device);
    const auto likely = sizes.begin() + 2;
    return {{"form", {shuffle_form, wide_form}, {paper_form}},
            {"SHARED_SIZE", {sizes.begin(), likely}, {likely, sizes.end()}},
            {"block", {256, 128, 512}}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    auto cost = cost_of_row_blocks<T>(features, limits_of(params), params.find("block").value_or(0), device);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    // Those that the multiprocessors could hold, had they the shared memory, are as good as there.
    if (device.backend == Backend::cuda) cost.walk.threads *= idle_multiprocessor(params, device);
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    const DeviceScope scope(device);
    const auto stream = setup_stream(device);
    auto blocks = make_row_blocks(matrix.row_ptr, matrix.rows, matrix.nnz, limits_of(params), device, stream);
    std::unique_ptr<Operator<T>> op;
    const auto threads = static_cast<int>(params.find("block").value_or(0));
    if (params.find("form") == paper_form) {
      op = std::make_unique<PaperOperator<T>>(matrix, std::move(blocks), threads, device);
    } else {
      const StagedRows shape{.block = threads, .wide = params.find("form") == wide_form};
      op = std::make_unique<StagedRowsOperator<T>>(matrix, std::move(blocks), shape, device);
    }
    synchronize(device, stream);
    return op;
  }

 private:
  static RowBlockLimits limits_of(const Params& params) {
    const auto size = params["SHARED_SIZE"];
    const auto form = params.find("form");
    return {.entries = size,
            .rows = params.find("block").value_or(size),
            .part = form == paper_form ? 0 : blocks_of_part * size};
  }

  // Threads that a multiprocessor could hold, over those of the blocks that its shared memory has room for. Half of
  // them have enough loads in flight.
  static double idle_multiprocessor(const Params& params, const Device& device) {
    const auto bytes = static_cast<double>(staged_bytes<T>(params["SHARED_SIZE"]));
    const auto blocks = std::floor(static_cast<double>(device.shared_bytes_of_multiprocessor) / bytes);
    const double threads = std::max(1.0, blocks) * static_cast<double>(params["block"]);
    return std::max(1.0, device.threads_of_multiprocessor / 2.0 / threads);
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override {
    if (device.backend == Backend::host) return {{"SHARED_SIZE", {512, 1024, 2048, most_staged_on_host}}};
    // What a block's shared memory holds.
    const auto most = shared_size<T>(device.threads_of_multiprocessor, device);
    return {
        {"SHARED_SIZE", {32, most}, 1}, {"block", {128, 256, 512}}, {"form", {paper_form, shuffle_form, wide_form}}};
  }
};

}  // namespace

template std::int64_t shared_size<float>(int, const Device&);
template std::int64_t shared_size<double>(int, const Device&);

AUTOSPMV_FORMAT(Ipcsr);

}  // namespace autospmv::formats::ipcsr
