// A matrix as Python sees it: with the context in which it is multiplied, plain or transposed.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include <autospmv/autospmv.hpp>

#include "array.hpp"

namespace autospmv::python {

/// A cudaStream_t as the libraries of Python write it: 0 and 1 are the legacy default stream.
inline Stream stream_of(std::uintptr_t handle) { return {pointer_to<CUstream_st>(handle)}; }

class PyMatrix {
 public:
  PyMatrix(std::int64_t rows, std::int64_t cols, const Array& row_ptr, const Array& col_idx, const Array& values,
           bool borrow, Context context, std::uintptr_t stream);

  [[nodiscard]] PyMatrix transposed() const;

  [[nodiscard]] bool is_transposed() const { return op_ == Operation::transposed; }
  [[nodiscard]] std::int64_t rows() const { return is_transposed() ? stored_cols() : stored_rows(); }
  [[nodiscard]] std::int64_t cols() const { return is_transposed() ? stored_rows() : stored_cols(); }
  [[nodiscard]] std::int64_t nnz() const;
  [[nodiscard]] std::string dtype() const;
  /// "host", "cuda:0".
  [[nodiscard]] std::string device() const;

  /// A new vector of NumPy: y = A x.
  [[nodiscard]] nanobind::object product(const HostArray& x) const;
  /// y = A x in an array that is there.
  void multiply(const HostArray& x, const WritableArray& y) const;
  /// The same by addresses in host memory, of vectors of the type of the matrix.
  void multiply_on_host(std::uintptr_t x, std::size_t x_size, std::uintptr_t y, std::size_t y_size) const;
  /// The same on CUDA device `ordinal`; -1: it is to be found out which. Throws InvalidArgument where it is not that of
  /// the matrix.
  void multiply_on_device(std::uintptr_t x, std::size_t x_size, std::uintptr_t y, std::size_t y_size,
                          std::uintptr_t stream, int ordinal) const;

  void update_values(const Array& values, std::uintptr_t stream);

  [[nodiscard]] Explanation explain() const;

 private:
  using Handle = std::variant<Matrix<float>, Matrix<double>>;

  /// What the arrays of a borrowing matrix belong to: kept as long as the last of its handles lives.
  struct Borrowed {
    Array row_ptr;
    Array col_idx;
    Array values;
  };

  void multiply_at(std::uintptr_t x, std::size_t x_size, std::uintptr_t y, std::size_t y_size, Stream stream,
                   std::optional<Memory> memory) const;
  [[nodiscard]] std::int64_t stored_rows() const;
  [[nodiscard]] std::int64_t stored_cols() const;

  // The arrays go after the matrix that reads them.
  std::shared_ptr<Borrowed> borrowed_;
  Handle handle_;
  Context context_;
  Operation op_ = Operation::plain;
};

}  // namespace autospmv::python
