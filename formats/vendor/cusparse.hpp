// What the vendor's formats share: handles that are owned, the matrices that cusparseSpMV takes, and the product
// itself. A format adds its storage: the arrays, how they are described to the library, and how new values reach them.
// CUDA builds only.
//
// Source: NVIDIA, cuSPARSE library 12.6, "cusparseSpMV()".
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include "core/cuda/check.hpp"
#include "core/machine/array.hpp"
#include "features/features.hpp"
#include "formats/common/streams/scratch.hpp"
#include "formats/format.hpp"
#include "formats/vendor/cusparse_functions.hpp"

namespace autospmv::formats::cusparse {

/// Nonzeros that a thread of its CSR and COO kernels is taken to have: they are balanced, and not public.
inline constexpr double entries_of_thread = 8;

/// Throws DeviceError naming the error and the place of the call.
void check(cusparseStatus_t status, std::source_location where = std::source_location::current());

template <class T>
inline constexpr cudaDataType_t data_type = std::is_same_v<T, float> ? CUDA_R_32F : CUDA_R_64F;

/// A handle with its own destroy function.
template <class Handle, const auto& destroy>
class Owned {
 public:
  Owned() = default;
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_ != nullptr) static_cast<void>(destroy(handle_));
  }
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;

  [[nodiscard]] Handle get() const { return handle_; }
  /// Where a create function writes the handle; there is none yet.
  [[nodiscard]] Handle* put() { return &handle_; }

 private:
  Handle handle_ = nullptr;
};

/// A handle of the library on a device. To create one takes longer than many products, so that one that nobody needs
/// any more is kept for the next who asks.
class Library {
 public:
  explicit Library(int ordinal);
  ~Library();
  Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), ordinal_(other.ordinal_) {}
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] cusparseHandle_t get() const { return handle_; }

 private:
  cusparseHandle_t handle_ = nullptr;
  int ordinal_;
};

using MatrixDescriptor = Owned<cusparseConstSpMatDescr_t, loaded::cusparseDestroySpMat>;

/// A handle of the library that works on the setup stream until a product takes it to another one.
Library open_library(const Device& device);

/// Of the arrays of the matrix, where they are.
template <class T>
MatrixDescriptor describe_csr(const CsrView<T>& matrix) {
  MatrixDescriptor descriptor;
  check(loaded::cusparseCreateConstCsr(descriptor.put(), matrix.rows, matrix.cols, matrix.nnz,
                                       std::get<0>(matrix.row_ptr), matrix.col_idx, matrix.values, CUSPARSE_INDEX_32I,
                                       CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, data_type<T>));
  return descriptor;
}

/// Where there is no library, or why cusparseSpMV does not take a matrix, in whatever format: it wants nonzeros, no
/// more of them than there are places, and indices and offsets of one width, of which 32 bits are what columns have.
std::optional<Refusal> refuse_size(bool is_there, std::int64_t rows, std::int64_t cols, std::int64_t nnz);

inline std::optional<Refusal> refuse(const Features& features) {
  return refuse_size(may_be_there(), features.rows, features.cols, features.nnz);
}

template <class T>
std::optional<Refusal> refuse(const CsrView<T>& matrix) {
  if (matrix.wide()) return Refusal{"size: 64-bit row offsets would need 64-bit columns too"};
  return refuse_size(is_there(), matrix.rows, matrix.cols, matrix.nnz);
}

/// What a product hands to the library. An analysed buffer belongs to the descriptor that it was analysed for, and one
/// descriptor has one such buffer at a time.
struct Analysed {
  MatrixDescriptor matrix;
  Owned<cusparseDnVecDescr_t, loaded::cusparseDestroyDnVec> x;
  Owned<cusparseDnVecDescr_t, loaded::cusparseDestroyDnVec> y;
  Array<std::uint8_t> buffer;

  [[nodiscard]] std::int64_t bytes() const { return buffer.bytes(); }
};

/// y = alpha A x + beta y by one matrix, from many threads and on many streams.
template <class T>
class Product {
 public:
  /// Analyses the matrix on the setup stream, complete when this returns; and again for products that are captured.
  /// `matrix` is the one that was converted; only its dimensions are of interest.
  Product(Library library, std::function<MatrixDescriptor()> describe, const CsrView<T>& matrix,
          cusparseSpMVAlg_t algorithm, const Device& device);

  void operator()(T alpha, const T* x, T beta, T* y, Stream stream) const;

  [[nodiscard]] std::int64_t bytes() const { return analysed_.bytes(); }

 private:
  [[nodiscard]] Analysed analyse() const;

  Library library_;
  std::function<MatrixDescriptor()> describe_;
  CsrView<T> matrix_;
  cusparseSpMVAlg_t algorithm_;
  Place place_;
  Scratch<Analysed> analysed_;
};

/// The operator of a vendor's format. Storage is moved in and has
///   MatrixDescriptor describe() const                      of its arrays
///   bool refresh(const CsrView<T>& matrix, Stream)         takes new values where those before them lie
///   std::int64_t bytes() const                             of its arrays
template <class T, class Storage>
class CusparseOperator final : public Operator<T> {
 public:
  CusparseOperator(Library library, Storage storage, const CsrView<T>& matrix, cusparseSpMVAlg_t algorithm,
                   const Device& device)
      : storage_(std::move(storage)),
        product_(
            std::move(library), [this] { return storage_.describe(); }, matrix, algorithm, device) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override { product_(alpha, x, beta, y, stream); }

  bool update_values(const CsrView<T>& matrix, Stream stream) override { return storage_.refresh(matrix, stream); }

  [[nodiscard]] std::int64_t bytes() const override { return storage_.bytes() + product_.bytes(); }

 private:
  Storage storage_;
  Product<T> product_;
};

template <class T, class Storage>
std::unique_ptr<Operator<T>> make_operator(Library library, Storage storage, const CsrView<T>& matrix,
                                           cusparseSpMVAlg_t algorithm, const Device& device) {
  return std::make_unique<CusparseOperator<T, Storage>>(std::move(library), std::move(storage), matrix, algorithm,
                                                        device);
}

}  // namespace autospmv::formats::cusparse
