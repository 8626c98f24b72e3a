#include "matrix.hpp"

#include <nanobind/ndarray.h>

#include <span>
#include <utility>

#include "watch.hpp"

namespace nb = nanobind;

namespace autospmv::python {

namespace {

using Handle = std::variant<Matrix<float>, Matrix<double>>;

/// What a matrix is made of.
struct Given {
  std::int64_t rows;
  std::int64_t cols;
  const Array& row_ptr;
  const Array& col_idx;
  const Array& values;
  Ownership ownership;
  Stream stream;
};

template <class T, class Offset, class Column>
Handle make_from(const Given& given) {
  const auto offsets = given.row_ptr.elements<Offset>("indptr");
  const auto columns = given.col_idx.elements<Column>("indices");
  const auto values = given.values.elements<T>("data");
  const nb::gil_scoped_release others_run;
  return Matrix<T>::from_csr(given.rows, given.cols, offsets, columns, values, given.ownership, given.stream);
}

template <class T>
Handle make_of(const Given& given) {
  using I32 = std::int32_t;
  using I64 = std::int64_t;
  const bool wide_offsets = given.row_ptr.holds<I64>();
  const bool wide_columns = given.col_idx.holds<I64>();
  if (wide_offsets && wide_columns) return make_from<T, I64, I64>(given);
  if (wide_offsets) return make_from<T, I64, I32>(given);
  if (wide_columns) return make_from<T, I32, I64>(given);
  return make_from<T, I32, I32>(given);
}

Handle make(const Given& given) {
  if (given.values.holds<float>()) return make_of<float>(given);
  if (given.values.holds<double>()) return make_of<double>(given);
  refuse_type("data must be of float32 or float64");
}

}  // namespace

PyMatrix::PyMatrix(std::int64_t rows, std::int64_t cols, const Array& row_ptr, const Array& col_idx,
                   const Array& values, bool borrow, Context context, std::uintptr_t stream)
    : handle_(make(
          {rows, cols, row_ptr, col_idx, values, borrow ? Ownership::borrow : Ownership::copy, stream_of(stream)})),
      context_(std::move(context)) {
  if (borrow) borrowed_ = std::make_shared<Borrowed>(Borrowed{row_ptr, col_idx, values});
}

PyMatrix PyMatrix::transposed() const {
  PyMatrix other(*this);
  other.op_ = is_transposed() ? Operation::plain : Operation::transposed;
  return other;
}

std::int64_t PyMatrix::nnz() const {
  return std::visit([](const auto& matrix) { return matrix.nnz(); }, handle_);
}

std::string PyMatrix::dtype() const {
  return std::visit([]<class T>(const Matrix<T>&) { return std::string(dtype_name<T>()); }, handle_);
}

std::string PyMatrix::device() const {
  const auto place = context_.device();
  return place.backend == Backend::host ? "host" : "cuda:" + std::to_string(place.ordinal);
}

nb::object PyMatrix::product(const HostArray& x) const {
  return std::visit(
      [&]<class T>(const Matrix<T>& matrix) {
        const auto from = elements_of<T>(x, "x");
        const auto size = static_cast<std::size_t>(rows());
        auto* data = new T[size];
        nb::capsule owner(data, [](void* owned) noexcept { delete[] static_cast<T*>(owned); });
        {
          const OthersRun others_run;
          auto_spmv<T>(matrix, from, {data, size}, {.memory = Memory::host, .context = &context_, .op = op_});
        }
        return nb::cast(nb::ndarray<nb::numpy, T>(data, {size}, owner));
      },
      handle_);
}

void PyMatrix::multiply(const HostArray& x, const WritableArray& y) const {
  std::visit(
      [&]<class T>(const Matrix<T>& matrix) {
        const auto from = elements_of<T>(x, "x");
        const auto to = elements_of<T>(y, "out");
        const OthersRun others_run;
        auto_spmv<T>(matrix, from, to, {.memory = Memory::host, .context = &context_, .op = op_});
      },
      handle_);
}

void PyMatrix::multiply_at(std::uintptr_t x, std::size_t x_size, std::uintptr_t y, std::size_t y_size, Stream stream,
                           std::optional<Memory> memory) const {
  const OthersRun others_run;
  std::visit(
      [&]<class T>(const Matrix<T>& matrix) {
        const std::span from(pointer_to<const T>(x), x_size);
        const std::span to(pointer_to<T>(y), y_size);
        auto_spmv<T>(matrix, from, to, {.stream = stream, .memory = memory, .context = &context_, .op = op_});
      },
      handle_);
}

void PyMatrix::multiply_on_host(std::uintptr_t x, std::size_t x_size, std::uintptr_t y, std::size_t y_size) const {
  multiply_at(x, x_size, y, y_size, {}, Memory::host);
}

void PyMatrix::multiply_on_device(std::uintptr_t x, std::size_t x_size, std::uintptr_t y, std::size_t y_size,
                                  std::uintptr_t stream, int ordinal) const {
  const auto place = context_.device();
  if (place.backend == Backend::host || (ordinal >= 0 && ordinal != place.ordinal)) {
    const auto where = ordinal < 0 ? "a CUDA device" : "cuda:" + std::to_string(ordinal);
    throw InvalidArgument("x lies on " + where + ", and products run on " + device());
  }
  const auto known = ordinal < 0 ? std::nullopt : std::optional(Memory::device);
  multiply_at(x, x_size, y, y_size, stream_of(stream), known);
}

void PyMatrix::update_values(const Array& values, std::uintptr_t stream) {
  std::visit(
      [&]<class T>(Matrix<T>& matrix) {
        const auto given = values.elements<T>("data");
        const nb::gil_scoped_release others_run;
        matrix.update_values(given, stream_of(stream));
      },
      handle_);
  if (borrowed_) borrowed_->values = values;
}

Explanation PyMatrix::explain() const {
  const OthersRun others_run;
  return std::visit([&](const auto& matrix) { return autospmv::explain(matrix, context_, op_); }, handle_);
}

std::int64_t PyMatrix::stored_rows() const {
  return std::visit([](const auto& matrix) { return matrix.rows(); }, handle_);
}

std::int64_t PyMatrix::stored_cols() const {
  return std::visit([](const auto& matrix) { return matrix.cols(); }, handle_);
}

}  // namespace autospmv::python
