// cusparse_csc: the vendor's product by columns, each of which adds to y what it has for every row, in no order that
// could be relied on. What a caller has who keeps matrices by columns; the library's documentation calls it three times
// slower than by rows.
//
//   a . b        col_ptr    0 2 4 5
//   . c .        rows       0 2 1 2 0
//   d e .        values     a d c e b
//                positions  0 3 2 4 1    where each value lies in CSR, for new values

#include "core/cuda/algorithms.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/nonzeros.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/vendor/cusparse.hpp"

namespace autospmv::formats::cusparse_csc {

namespace {

template <class T>
struct CscStorage {
  std::int64_t row_count;
  std::int64_t col_count;
  Array<std::int32_t> col_ptr;
  Array<std::int32_t> rows;
  Array<T> values;
  Array<std::int32_t> positions;

  [[nodiscard]] cusparse::MatrixDescriptor describe() const {
    cusparse::MatrixDescriptor descriptor;
    cusparse::check(cusparse::loaded::cusparseCreateConstCsc(
        descriptor.put(), row_count, col_count, static_cast<std::int64_t>(values.size()), col_ptr.data(), rows.data(),
        values.data(), CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, cusparse::data_type<T>));
    return descriptor;
  }
  bool refresh(const CsrView<T>& from, Stream stream) {
    cuda::gather(from.values, positions.data(), values.data(), static_cast<std::int64_t>(values.size()), stream);
    return true;
  }
  [[nodiscard]] std::int64_t bytes() const {
    return col_ptr.bytes() + rows.bytes() + values.bytes() + positions.bytes();
  }
};

template <class T>
double csc_bytes(std::int64_t cols, std::int64_t nnz) {
  return 4 * (static_cast<double>(cols) + 1) + static_cast<double>(nnz) * (4 + sizeof(T));
}

double positions_bytes(std::int64_t nnz) { return 4 * static_cast<double>(nnz); }

__global__ void count_up_kernel(std::int32_t* numbers, std::int64_t size) {
  const auto i = cuda::global_thread();
  if (i < size) numbers[i] = static_cast<std::int32_t>(i);
}

/// Which nonzeros of CSR lie in each column, in the order of their rows.
struct ByColumn {
  Array<std::int32_t> col_ptr;
  Array<std::int32_t> positions;
};

template <class T>
ByColumn sort_by_column(const CsrView<T>& matrix, const cusparse::Library& library, Place place, Stream stream) {
  const auto nnz = static_cast<std::size_t>(matrix.nnz);
  ByColumn sorted{Array<std::int32_t>(static_cast<std::size_t>(matrix.cols) + 1, place),
                  Array<std::int32_t>(nnz, place)};
  Array<std::uint32_t> columns(nnz, place);
  copy_bytes(columns.data(), matrix.col_idx, static_cast<std::size_t>(columns.bytes()), place, stream);
  count_up_kernel<<<cuda::grid_for(matrix.nnz), cuda::default_block, 0, cuda::InTurn(stream)>>>(sorted.positions.data(),
                                                                                                matrix.nnz);
  cuda::check_launch();
  int column_bits = 0;
  while ((matrix.cols - 1) >> column_bits != 0) ++column_bits;
  // Equal columns keep their order. A matrix of one column is in order as it is.
  if (column_bits > 0) cuda::sort_pairs(columns, sorted.positions, column_bits, stream);
  cusparse::check(cusparse::loaded::cusparseXcoo2csr(
      library.get(), reinterpret_cast<const std::int32_t*>(columns.data()), static_cast<int>(matrix.nnz),
      static_cast<int>(matrix.cols), sorted.col_ptr.data(), CUSPARSE_INDEX_BASE_ZERO));
  return sorted;
}

template <class T>
CscStorage<T> transposed(const CsrView<T>& matrix, const cusparse::Library& library, Place place, Stream stream) {
  const auto nnz = static_cast<std::size_t>(matrix.nnz);
  auto sorted = sort_by_column(matrix, library, place, stream);
  Array<std::int32_t> row_of(nnz, place);
  cusparse::check(cusparse::loaded::cusparseXcsr2coo(library.get(), std::get<0>(matrix.row_ptr),
                                                     static_cast<int>(matrix.nnz), static_cast<int>(matrix.rows),
                                                     row_of.data(), CUSPARSE_INDEX_BASE_ZERO));
  CscStorage<T> storage{matrix.rows,
                        matrix.cols,
                        std::move(sorted.col_ptr),
                        Array<std::int32_t>(nnz, place),
                        Array<T>(nnz, place),
                        std::move(sorted.positions)};
  cuda::gather(row_of.data(), storage.positions.data(), storage.rows.data(), matrix.nnz, stream);
  storage.refresh(matrix, stream);
  return storage;
}

template <class T>
class CusparseCsc final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{.name = "cusparse_csc",
                                 .version = 2,
                                 .summary = "the vendor's product by compressed columns",
                                 .paper = "NVIDIA, cuSPARSE library, cusparseSpMV()",
                                 .backends = {Backend::cuda},
                                 .offered = {},
                                 .deterministic = false,
                                 .vendor = true};
    return info;
  }

  // Both algorithms of CSR are one and the same for columns.
  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& /*params*/,
                                  const Device& device) const override {
    if (auto refusal = cusparse::refuse(features)) return *refusal;
    const double matrix_bytes = csc_bytes<T>(features.cols, features.nnz);
    Cost cost;
    cost.storage_bytes = matrix_bytes + positions_bytes(features.nnz);
    if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
    // Every nonzero reads and writes an element of y.
    const double atomics = 2 * static_cast<double>(features.nnz) * sizeof(T);
    cost.bytes = matrix_bytes + atomics + vector_bytes<T>(features);
    cost.launches = 2;
    // Additions to one element of y wait for each other, so many of them as long as a step.
    constexpr double additions_of_step = 90;
    cost.walk = walk_of_shares(static_cast<double>(features.nnz), cusparse::entries_of_thread);
    cost.walk.longest = std::max(cost.walk.longest, static_cast<double>(features.npr_max) / additions_of_step);
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& /*params*/,
                                 const Device& device) const override {
    if (auto refusal = cusparse::refuse(matrix)) return *refusal;
    const double bytes = csc_bytes<T>(matrix.cols, matrix.nnz) + positions_bytes(matrix.nnz);
    if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
    const DeviceScope scope(device);
    auto library = cusparse::open_library(device);
    auto storage = transposed(matrix, library, device, setup_stream(device));
    return cusparse::make_operator(std::move(library), std::move(storage), matrix, CUSPARSE_SPMV_CSR_ALG1, device);
  }
};

}  // namespace

AUTOSPMV_FORMAT(CusparseCsc);

}  // namespace autospmv::formats::cusparse_csc
