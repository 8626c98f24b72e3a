// The devices and matrices that the options name.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "core/matrix/matrix_data.hpp"
#include "io/load.hpp"
#include "tools/options.hpp"
#include "tools/output/report.hpp"
#include "tuner/context/service.hpp"

namespace autospmv::tools {

/// Calls body.operator()<T>() for the value type of that name: "float" or "double".
template <class Body>
auto with_value_type(std::string_view name, const Body& body) {
  return name == value_type_name<float>() ? body.template operator()<float>() : body.template operator()<double>();
}

/// Nothing where the choice is the library's. Throws Error for --backend cuda where there is no such device.
std::optional<Device> requested_device(const Options& options);

ContextOptions context_options(const Options& options);

/// Throws InvalidArgument where the options name candidates that its device does not have.
template <Scalar T>
Context open_context(const Options& options) {
  // Before there is a database: none is begun for what cannot be measured.
  if (!options.only.empty()) check_choices<T>(options.only, requested_device(options).value_or(default_device()));
  return Context(context_options(options));
}

/// Of a file, a generator, or standard input. Files keep their whole path: a relative one tells nobody anything later.
MatrixName name_of_source(const std::string& source);

/// A matrix and the host arrays that it borrows.
template <Scalar T>
struct LoadedMatrix : MatrixName {
  LoadedMatrix(const std::string& from, const Values& values)
      : MatrixName(name_of_source(from)),
        arrays(load_matrix<T>(from, values)),
        matrix(Matrix<T>::from_csr(arrays.rows, arrays.cols, std::span<const std::int64_t>(arrays.row_ptr),
                                   arrays.col_idx, arrays.values, Ownership::borrow)) {}

  HostCsr<T> arrays;
  Matrix<T> matrix;
};

/// Runs the body and says on standard error what went wrong with `name`, which errors of this library already tell. A
/// device that fails is not survived: nothing that comes after could be trusted. Interruptions are of all that is left.
template <class Body>
bool attempt(const std::string& name, const Body& body) {
  try {
    body();
    return true;
  } catch (const Interrupted&) {
    throw;
  } catch (const DeviceError&) {
    throw;
  } catch (const Error& error) {
    complain(error.what());
  } catch (const std::exception& error) {
    complain(name + ": " + text_of(error));
  }
  return false;
}

/// Puts the name before errors that do not know which matrix they are about.
template <class Body>
void naming(const std::string& name, const Body& body) {
  try {
    body();
  } catch (const Interrupted&) {
    throw;
  } catch (const DeviceError& error) {
    throw DeviceError(name + ": " + error.what());
  } catch (const Error& error) {
    throw Error(name + ": " + error.what());
  }
}

/// Loads the matrices that the arguments name, one after the other, and hands each to the body. What fails is reported,
/// and the others go on. Returns how many failed.
template <Scalar T, class Body>
int for_each_matrix(const Options& options, const Body& body) {
  int failures = 0;
  for (const auto& argument : options.arguments) {
    std::vector<std::string> sources;
    failures += attempt(argument, [&] { sources = expand_sources({argument}); }) ? 0 : 1;
    for (const auto& source : sources) {
      const bool done = attempt(source, [&] {
        const LoadedMatrix<T> loaded(source, options.values);
        naming(source, [&] { body(loaded); });
      });
      failures += done ? 0 : 1;
    }
  }
  return failures;
}

}  // namespace autospmv::tools
