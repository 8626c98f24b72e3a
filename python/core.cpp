// The part of the Python package that is compiled: matrices, contexts and products, on the public headers alone.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <charconv>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

#include <autospmv/autospmv.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace autospmv::python {

namespace {

/// Any array that is contiguous in host memory.
using HostArray = nb::ndarray<nb::ro, nb::device::cpu, nb::c_contig>;
using WritableArray = nb::ndarray<nb::device::cpu, nb::c_contig>;

[[noreturn]] void refuse_type(const std::string& text) { throw nb::type_error(text.c_str()); }

template <class T>
constexpr const char* dtype_name() {
  if constexpr (std::is_same_v<T, float>) return "float32";
  if constexpr (std::is_same_v<T, double>) return "float64";
  if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
  return "int64";
}

template <class T, class Array>
bool holds(const Array& array) {
  return array.dtype() == nb::dtype<T>();
}

/// The elements of a vector of T; a TypeError says what is taken where it is none.
template <class T, class Array>
auto elements_of(const Array& array, const char* name) {
  using Element = std::conditional_t<std::is_same_v<Array, WritableArray>, T, const T>;
  if (array.ndim() != 1 || !holds<T>(array)) {
    refuse_type(std::string(name) + " must be a contiguous vector of " + dtype_name<T>());
  }
  return std::span<Element>(static_cast<Element*>(array.data()), array.shape(0));
}

Place parse_device(std::string_view name) {
  constexpr std::string_view prefix = "cuda:";
  if (name == "host") return {Backend::host, 0};
  if (name == "cuda") return {Backend::cuda, 0};
  int ordinal = -1;
  if (name.substr(0, prefix.size()) == prefix) {
    const auto* end = name.data() + name.size();
    if (std::from_chars(name.data() + prefix.size(), end, ordinal).ptr != end) ordinal = -1;
  }
  if (ordinal < 0) throw InvalidArgument("device is host, cuda or cuda:N, not '" + std::string(name) + "'");
  return {Backend::cuda, ordinal};
}

Context make_context(const std::string& effort, std::int64_t expected_calls, double time_limit, double memory_factor,
                     bool deterministic, const std::optional<std::string>& device,
                     const std::optional<std::string>& database) {
  const auto known = parse_effort(effort);
  if (!known) {
    throw InvalidArgument("effort is cached, estimate, measure, exhaustive or online, not '" + effort + "'");
  }
  if (expected_calls < 1) throw InvalidArgument("expected_calls must be above 0");
  ContextOptions options;
  options.effort = *known;
  options.limits = {.expected_calls = expected_calls,
                    .time_limit_seconds = time_limit,
                    .memory_factor = memory_factor,
                    .deterministic = deterministic};
  if (device) options.device = parse_device(*device);
  if (database) options.database = *database == "memory" ? DatabaseChoice::memory() : DatabaseChoice::file(*database);
  return Context(options);
}

/// What the arrays of a borrowing matrix belong to: kept as long as the last of its handles lives.
struct Borrowed {
  HostArray row_ptr;
  HostArray col_idx;
  HostArray values;
};

/// A matrix, or the same transposed, and the context in which it is multiplied.
class PyMatrix {
 public:
  using Handle = std::variant<Matrix<float>, Matrix<double>>;

  PyMatrix(std::int64_t rows, std::int64_t cols, const HostArray& row_ptr, const HostArray& col_idx,
           const HostArray& values, bool borrow, Context context)
      : handle_(make(rows, cols, row_ptr, col_idx, values, borrow)), context_(std::move(context)) {
    if (borrow) borrowed_ = std::make_shared<Borrowed>(Borrowed{row_ptr, col_idx, values});
  }

  [[nodiscard]] PyMatrix transposed() const {
    PyMatrix other(*this);
    other.op_ = is_transposed() ? Operation::plain : Operation::transposed;
    return other;
  }

  [[nodiscard]] bool is_transposed() const { return op_ == Operation::transposed; }
  [[nodiscard]] std::int64_t rows() const { return is_transposed() ? stored_cols() : stored_rows(); }
  [[nodiscard]] std::int64_t cols() const { return is_transposed() ? stored_rows() : stored_cols(); }
  [[nodiscard]] std::int64_t nnz() const {
    return std::visit([](const auto& matrix) { return matrix.nnz(); }, handle_);
  }
  [[nodiscard]] std::string dtype() const {
    return std::visit([]<class T>(const Matrix<T>&) { return std::string(dtype_name<T>()); }, handle_);
  }

  void multiply(const HostArray& x, const WritableArray& y, double alpha, double beta) const {
    std::visit(
        [&]<class T>(const Matrix<T>& matrix) {
          const auto from = elements_of<T>(x, "x");
          const auto to = elements_of<T>(y, "out");
          const SpmvOptions<T> options{.alpha = static_cast<T>(alpha),
                                       .beta = static_cast<T>(beta),
                                       .memory = Memory::host,
                                       .context = &context_,
                                       .op = op_};
          const nb::gil_scoped_release others_run;
          auto_spmv(matrix, from, to, options);
        },
        handle_);
  }

  /// A new vector: y = A x.
  [[nodiscard]] nb::object product(const HostArray& x) const {
    return std::visit(
        [&]<class T>(const Matrix<T>& matrix) {
          const auto from = elements_of<T>(x, "x");
          const auto size = static_cast<std::size_t>(rows());
          auto* data = new T[size];
          nb::capsule owner(data, [](void* owned) noexcept { delete[] static_cast<T*>(owned); });
          {
            const nb::gil_scoped_release others_run;
            auto_spmv<T>(matrix, from, {data, size}, {.memory = Memory::host, .context = &context_, .op = op_});
          }
          return nb::cast(nb::ndarray<nb::numpy, T>(data, {size}, owner));
        },
        handle_);
  }

  void update_values(const HostArray& values) {
    std::visit(
        [&]<class T>(Matrix<T>& matrix) {
          const auto given = elements_of<T>(values, "data");
          const nb::gil_scoped_release others_run;
          matrix.update_values(given);
        },
        handle_);
    if (borrowed_) borrowed_->values = values;
  }

  void make_plan() const {
    const nb::gil_scoped_release others_run;
    std::visit([&](const auto& matrix) { (void)kept_plan(matrix, context_, op_); }, handle_);
  }

  [[nodiscard]] Explanation explain() const {
    const nb::gil_scoped_release others_run;
    return std::visit([&](const auto& matrix) { return autospmv::explain(matrix, context_, op_); }, handle_);
  }

 private:
  [[nodiscard]] std::int64_t stored_rows() const {
    return std::visit([](const auto& matrix) { return matrix.rows(); }, handle_);
  }
  [[nodiscard]] std::int64_t stored_cols() const {
    return std::visit([](const auto& matrix) { return matrix.cols(); }, handle_);
  }

  template <class T, class Offset, class Column>
  static Handle make(std::int64_t rows, std::int64_t cols, const HostArray& row_ptr, const HostArray& col_idx,
                     const HostArray& values, bool borrow) {
    const auto offsets = elements_of<Offset>(row_ptr, "indptr");
    const auto columns = elements_of<Column>(col_idx, "indices");
    const auto numbers = elements_of<T>(values, "data");
    const nb::gil_scoped_release others_run;
    return Matrix<T>::from_csr(rows, cols, offsets, columns, numbers, borrow ? Ownership::borrow : Ownership::copy);
  }

  template <class T>
  static Handle make_of(std::int64_t rows, std::int64_t cols, const HostArray& row_ptr, const HostArray& col_idx,
                        const HostArray& values, bool borrow) {
    using I32 = std::int32_t;
    using I64 = std::int64_t;
    const bool wide_offsets = holds<I64>(row_ptr);
    const bool wide_columns = holds<I64>(col_idx);
    if (wide_offsets && wide_columns) return make<T, I64, I64>(rows, cols, row_ptr, col_idx, values, borrow);
    if (wide_offsets) return make<T, I64, I32>(rows, cols, row_ptr, col_idx, values, borrow);
    if (wide_columns) return make<T, I32, I64>(rows, cols, row_ptr, col_idx, values, borrow);
    return make<T, I32, I32>(rows, cols, row_ptr, col_idx, values, borrow);
  }

  static Handle make(std::int64_t rows, std::int64_t cols, const HostArray& row_ptr, const HostArray& col_idx,
                     const HostArray& values, bool borrow) {
    if (holds<float>(values)) return make_of<float>(rows, cols, row_ptr, col_idx, values, borrow);
    if (holds<double>(values)) return make_of<double>(rows, cols, row_ptr, col_idx, values, borrow);
    refuse_type("data must be of float32 or float64");
  }

  // The arrays go after the matrix that reads them.
  std::shared_ptr<Borrowed> borrowed_;
  Handle handle_;
  Context context_;
  Operation op_ = Operation::plain;
};

/// Python's own classes of errors, by name.
void raise(const char* name, const char* text) {
  const nb::object type = nb::module_::import_("autospmv.errors").attr(name);
  PyErr_SetString(type.ptr(), text);
}

void translate(const std::exception_ptr& thrown, void* /*payload*/) {
  try {
    std::rethrow_exception(thrown);
  } catch (const InvalidArgument& error) {
    raise("InvalidArgument", error.what());
  } catch (const OutOfMemory& error) {
    raise("OutOfMemory", error.what());
  } catch (const DeviceError& error) {
    raise("DeviceError", error.what());
  } catch (const Unsupported& error) {
    raise("Unsupported", error.what());
  } catch (const Error& error) {
    raise("Error", error.what());
  }
}

}  // namespace

}  // namespace autospmv::python

NB_MODULE(_core, module) {
  using namespace autospmv;
  using python::PyMatrix;
  nb::register_exception_translator(python::translate);
  module.def("version", [] { return std::string(version()); });

  nb::class_<Context>(module, "Context")
      .def_prop_ro("device", &Context::device_name)
      .def_prop_ro("effort", [](const Context& context) { return std::string(name_of(context.effort())); });
  module.def("make_context", &python::make_context, "effort"_a, "expected_calls"_a, "time_limit"_a, "memory_factor"_a,
             "deterministic"_a, "device"_a.none(), "database"_a.none());

  nb::class_<ExplainedCandidate>(module, "Candidate")
      .def_ro("format", &ExplainedCandidate::format)
      .def_ro("parameters", &ExplainedCandidate::parameters)
      .def_ro("outcome", &ExplainedCandidate::outcome)
      .def_ro("reason", &ExplainedCandidate::reason)
      .def_ro("seconds", &ExplainedCandidate::seconds)
      .def_ro("setup_seconds", &ExplainedCandidate::setup_seconds)
      .def_ro("bytes", &ExplainedCandidate::bytes);
  nb::class_<Explanation>(module, "Explanation")
      .def_ro("device", &Explanation::device)
      .def_ro("source", &Explanation::source)
      .def_ro("settled", &Explanation::settled)
      .def_ro("choice", &Explanation::choice)
      .def_ro("runner_up", &Explanation::runner_up)
      .def_ro("baseline", &Explanation::baseline)
      .def_ro("bytes_per_nonzero", &Explanation::bytes_per_nonzero)
      .def_ro("tuning_seconds", &Explanation::tuning_seconds)
      .def_prop_ro("json", &Explanation::json)
      .def("__str__", &Explanation::text);

  nb::class_<PyMatrix>(module, "Matrix", nb::is_weak_referenceable())
      .def(nb::init<std::int64_t, std::int64_t, python::HostArray, python::HostArray, python::HostArray, bool,
                    Context>(),
           "rows"_a, "cols"_a, "indptr"_a, "indices"_a, "data"_a, "borrow"_a, "context"_a)
      .def("transposed", &PyMatrix::transposed)
      .def_prop_ro("rows", &PyMatrix::rows)
      .def_prop_ro("cols", &PyMatrix::cols)
      .def_prop_ro("nnz", &PyMatrix::nnz)
      .def_prop_ro("type", &PyMatrix::dtype)
      .def("multiply", &PyMatrix::multiply, "x"_a.noconvert(), "out"_a.noconvert(), "alpha"_a = 1.0, "beta"_a = 0.0)
      .def("product", &PyMatrix::product, "x"_a.noconvert())
      .def("update_values", &PyMatrix::update_values, "data"_a.noconvert())
      .def("make_plan", &PyMatrix::make_plan)
      .def("explain", &PyMatrix::explain);
}
