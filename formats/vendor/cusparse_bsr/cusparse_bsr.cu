// cusparse_bsr: the vendor's product by dense blocks of b x b, one block row after another, the values of a block
// column by column. The library multiplies whatever a block holds with x, which may be infinite where the matrix has
// nothing, and takes no block that reaches past the last row or column: so blocks must be full, and fit.
//
//   b = 2    a b . .        block_ptr      0 1 3
//            c d . .        block_columns  0 | 0 1
//            e f g h        values         a c b d | e i f j | g k h l
//            i j k l
//
// The blocked core with slices of one block row: formats/blocks/storage.hpp.

#include "formats/blocks/family.hpp"
#include "formats/blocks/storage.hpp"
#include "formats/vendor/cusparse.hpp"

namespace autospmv::formats::cusparse_bsr {

namespace {

template <class T>
struct BsrStorage {
  BlockMatrix<T> blocks;
  Place place;

  [[nodiscard]] cusparse::MatrixDescriptor describe() const {
    const std::int64_t b = blocks.layout.r;
    cusparse::MatrixDescriptor descriptor;
    cusparse::check(cusparse::loaded::cusparseCreateConstBsr(
        descriptor.put(), blocks.block_rows, blocks.cols / b, static_cast<std::int64_t>(blocks.block_columns.size()), b,
        b, blocks.slice_chunks.data(), blocks.block_columns.data(), blocks.values.full.data(), CUSPARSE_INDEX_32I,
        CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, cusparse::data_type<T>, CUSPARSE_ORDER_COL));
    return descriptor;
  }
  bool refresh(const CsrView<T>& from, Stream stream) { return blocks.refresh(from, place, stream); }
  [[nodiscard]] std::int64_t bytes() const { return blocks.bytes(); }
};

template <class T>
class CusparseBsr final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "cusparse_bsr",
                                 .version = 1,
                                 .summary = "the vendor's product by full dense blocks",
                                 .paper = "NVIDIA, cuSPARSE library, cusparseSpMV()",
                                 .backends = {Backend::cuda},
                                 .offered = {},
                                 .vendor = true};
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& features, const Device& /*device*/) const override {
    return {{"b", block_sizes_worth_trying<T>(features)}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    if (auto refusal = cusparse::refuse(features)) return *refusal;
    if (auto refusal = refuse(features.rows, features.cols, params)) return *refusal;
    const auto layout = layout_of(params);
    if (!device.any_padding && block_fill(features, layout.r, layout.c) < 1) return refuse_empty_slots();
    auto cost = predict_blocks<T>(features, layout, block_count(features, layout.r, layout.c), device);
    constexpr double threads_of_block_row = 32;
    constexpr double steps_of_block = 2;
    if (cost) cost->walk = walk_of_blocks(features, layout, threads_of_block_row, 1, steps_of_block);
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (auto refusal = cusparse::refuse(matrix)) return *refusal;
    if (auto refusal = refuse(matrix.rows, matrix.cols, params)) return *refusal;
    const auto layout = layout_of(params);
    const DeviceScope scope(device);
    auto blocks = build_blocks(matrix, layout, device);
    if (!blocks) return Refusal{blocks.reason()};
    const auto elements = static_cast<std::int64_t>(blocks->block_columns.size()) * layout.r * layout.c;
    if (!device.any_padding && elements != matrix.nnz) return refuse_empty_slots();
    return cusparse::make_operator(cusparse::open_library(device), BsrStorage<T>{std::move(*blocks), device}, matrix,
                                   CUSPARSE_SPMV_BSR_ALG1, device);
  }

 private:
  static BlockLayout layout_of(const Params& params) {
    const auto b = static_cast<int>(params["b"]);
    return {b, b, 1};
  }

  [[nodiscard]] std::vector<Allowed> allowed(const Device& /*device*/) const override {
    return {{"b", block_sizes_allowed()}};
  }

  static std::optional<Refusal> refuse(std::int64_t rows, std::int64_t cols, const Params& params) {
    const auto b = params["b"];
    if (rows % b == 0 && cols % b == 0) return std::nullopt;
    return Refusal{"size: rows and columns are no multiples of " + std::to_string(b)};
  }

  static Refusal refuse_empty_slots() {
    return Refusal{"padding: blocks are not full, and cuSPARSE multiplies their zeros with x, which may be infinite"};
  }
};

}  // namespace

AUTOSPMV_FORMAT(CusparseBsr);

}  // namespace autospmv::formats::cusparse_bsr
