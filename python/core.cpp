// The part of the Python package that is compiled: matrices, contexts and products, on the public headers alone.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <charconv>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include <autospmv/autospmv.hpp>

#include "array.hpp"
#include "matrix.hpp"
#include "watch.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace autospmv::python {

namespace {

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
                     const std::optional<std::string>& database, bool progress) {
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
  watch_tunings(options, progress);
  return Context(options);
}

std::optional<double> speedup(const Explanation& explanation) {
  const auto& baseline = explanation.baseline;
  if (!baseline || baseline->seconds <= 0 || explanation.choice.seconds <= 0) return std::nullopt;
  return baseline->seconds / explanation.choice.seconds;
}

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
  } catch (const Interrupted& error) {
    if (PyErr_Occurred() == nullptr) PyErr_SetString(PyExc_KeyboardInterrupt, error.what());
  } catch (const Error& error) {
    raise("Error", error.what());
  }
}

}  // namespace

}  // namespace autospmv::python

NB_MODULE(_core, module) {
  using namespace autospmv;
  using python::Array;
  using python::PyMatrix;
  nb::register_exception_translator(python::translate);
  module.def("version", [] { return std::string(version()); });

  nb::class_<Context>(module, "Context", "Where products run, and how hard to look for the best.")
      .def_prop_ro("device", &Context::device_name)
      .def_prop_ro("effort", [](const Context& context) { return std::string(name_of(context.effort())); });
  module.def("make_context", &python::make_context, "effort"_a, "expected_calls"_a, "time_limit"_a, "memory_factor"_a,
             "deterministic"_a, "device"_a.none(), "database"_a.none(), "progress"_a);

  nb::class_<ExplainedCandidate>(module, "Candidate", "A format with its parameters, and what is known of it.")
      .def_ro("format", &ExplainedCandidate::format)
      .def_ro("parameters", &ExplainedCandidate::parameters)
      .def_ro("outcome", &ExplainedCandidate::outcome)
      .def_ro("reason", &ExplainedCandidate::reason)
      .def_ro("seconds", &ExplainedCandidate::seconds)
      .def_ro("setup_seconds", &ExplainedCandidate::setup_seconds)
      .def_ro("bytes", &ExplainedCandidate::bytes);
  nb::class_<Explanation>(module, "Explanation", "Why products run as they do: print it, or read its members.")
      .def_ro("device", &Explanation::device)
      .def_ro("source", &Explanation::source)
      .def_ro("tier", &Explanation::tier)
      .def_ro("known_on", &Explanation::known_on)
      .def_ro("settled", &Explanation::settled)
      .def_ro("choice", &Explanation::choice)
      .def_ro("runner_up", &Explanation::runner_up)
      .def_ro("baseline", &Explanation::baseline)
      .def_ro("bytes_per_nonzero", &Explanation::bytes_per_nonzero)
      .def_ro("tuning_seconds", &Explanation::tuning_seconds)
      .def_ro("candidates", &Explanation::candidates)
      .def_prop_ro("speedup", &python::speedup, "over the baseline; None where it was not measured")
      .def_prop_ro("json", &Explanation::json, "one object, on one line")
      .def("__repr__", &Explanation::text)
      .def("_repr_html_",
           [](nb::handle self) { return nb::module_::import_("autospmv.notebook").attr("html_of")(self); });

  nb::class_<Array>(module, "Array", "A contiguous vector that a matrix is made of.")
      .def(nb::init<python::AnyArray>(), "array"_a.noconvert())
      .def(nb::init<std::uintptr_t, std::size_t, std::string, nb::object>(), "address"_a, "size"_a, "dtype"_a,
           "owner"_a)
      .def_prop_ro("address", &Array::address)
      .def_prop_ro("size", &Array::size)
      .def_prop_ro("dtype", &Array::dtype);
  nb::class_<PyMatrix>(module, "Matrix", "What autospmv.Matrix has inside.")
      .def(nb::init<std::int64_t, std::int64_t, Array, Array, Array, bool, Context, std::uintptr_t>(), "rows"_a,
           "cols"_a, "indptr"_a, "indices"_a, "data"_a, "borrow"_a, "context"_a, "stream"_a)
      .def("transposed", &PyMatrix::transposed)
      .def_prop_ro("rows", &PyMatrix::rows)
      .def_prop_ro("cols", &PyMatrix::cols)
      .def_prop_ro("nnz", &PyMatrix::nnz)
      .def_prop_ro("dtype", &PyMatrix::dtype)
      .def_prop_ro("device", &PyMatrix::device)
      .def("product", &PyMatrix::product, "x"_a.noconvert())
      .def("multiply", &PyMatrix::multiply, "x"_a.noconvert(), "out"_a.noconvert())
      .def("multiply_on_host", &PyMatrix::multiply_on_host, "x"_a, "x_size"_a, "out"_a, "out_size"_a)
      .def("multiply_on_device", &PyMatrix::multiply_on_device, "x"_a, "x_size"_a, "out"_a, "out_size"_a, "stream"_a,
           "ordinal"_a)
      .def("update_values", &PyMatrix::update_values, "data"_a, "stream"_a)
      .def("explain", &PyMatrix::explain);
}
