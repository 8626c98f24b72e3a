// The C interface, on the public C++ one alone. No exception leaves it.

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <exception>
#include <functional>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "autospmv/autospmv.h"
#include "autospmv/autospmv.hpp"

struct autospmv_context {
  autospmv::Context context;
};

struct autospmv_matrix {
  std::variant<autospmv::Matrix<float>, autospmv::Matrix<double>> matrix;
};

namespace autospmv {

namespace {

// Of a fixed size: to say that there is no memory must not take any.
thread_local std::array<char, 1024> last_error{};

autospmv_status note(autospmv_status status, std::string_view text) noexcept {
  const auto end = std::copy_n(text.begin(), std::min(text.size(), last_error.size() - 1), last_error.begin());
  std::replace_if(
      last_error.begin(), end, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  *end = '\0';
  return status;
}

/// Runs the body and makes a status of what it throws.
template <class Body>
autospmv_status guarded(const Body& body) noexcept {
  try {
    body();
    return note(AUTOSPMV_OK, "");
  } catch (const InvalidArgument& error) {
    return note(AUTOSPMV_INVALID, error.what());
  } catch (const OutOfMemory& error) {
    return note(AUTOSPMV_MEMORY, error.what());
  } catch (const std::bad_alloc&) {
    return note(AUTOSPMV_MEMORY, "out of memory");
  } catch (const DeviceError& error) {
    return note(AUTOSPMV_DEVICE, error.what());
  } catch (const Unsupported& error) {
    return note(AUTOSPMV_UNSUPPORTED, error.what());
  } catch (const std::exception& error) {
    return note(AUTOSPMV_ERROR, error.what());
  } catch (...) {
    return note(AUTOSPMV_ERROR, "unknown error");
  }
}

template <class T>
T& given(T* pointer, const char* what) {
  if (pointer == nullptr) throw InvalidArgument(std::string(what) + " is NULL");
  return *pointer;
}

/// The caller's array, which may be NULL where it has no elements.
template <class T, class Void>
std::span<T> array(Void* pointer, std::int64_t size, const char* what) {
  if (pointer == nullptr && size > 0) throw InvalidArgument(std::string(what) + " is NULL");
  return {static_cast<T*>(pointer), static_cast<std::size_t>(size)};
}

Stream stream_of(void* handle) { return {static_cast<CUstream_st*>(handle)}; }

const Context& context_of(const autospmv_context* handle) {
  return handle == nullptr ? Context::instance() : handle->context;
}

/// What a caller passed as an enumeration: in C that may be any number, which C++ must not read as one.
template <class Enumeration>
int number_of(const Enumeration& value) {
  int number = 0;
  static_assert(sizeof value == sizeof number);
  std::memcpy(&number, &value, sizeof number);
  return number;
}

Operation operation_of(const autospmv_op& op) {
  const int number = number_of(op);
  if (number == AUTOSPMV_PLAIN) return Operation::plain;
  if (number == AUTOSPMV_TRANSPOSED) return Operation::transposed;
  throw InvalidArgument("no such operation: " + std::to_string(number));
}

// --- Options ---

[[noreturn]] void refuse(std::string_view name, std::string_view value, std::string_view wanted) {
  throw InvalidArgument("option '" + std::string(name) + "' takes " + std::string(wanted) + ", not '" +
                        std::string(value) + "'");
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, number);
  if (text.empty() || parsed.ec != std::errc{} || parsed.ptr != end) return std::nullopt;
  return number;
}

template <class Number>
void read_positive(Number& target, std::string_view name, std::string_view value) {
  const auto number = parse_number<Number>(value);
  if (!number || !(*number > 0)) refuse(name, value, "a number above 0");
  target = *number;
}

void read_bool(bool& target, std::string_view name, std::string_view value) {
  if (value != "true" && value != "false") refuse(name, value, "true or false");
  target = value == "true";
}

Place parse_place(std::string_view name, std::string_view value) {
  constexpr std::string_view prefix = "cuda:";
  if (value == "host") return {Backend::host, 0};
  if (value == "cuda") return {Backend::cuda, 0};
  if (value.substr(0, prefix.size()) == prefix) {
    const auto ordinal = parse_number<int>(value.substr(prefix.size()));
    if (ordinal && *ordinal >= 0) return {Backend::cuda, *ordinal};
  }
  refuse(name, value, "host, cuda or cuda:N");
}

void read_option(ContextOptions& options, std::string_view name, std::optional<std::string_view> given_value) {
  const auto value = given_value.value_or(name == "deterministic" ? "true" : "");
  if (name == "effort") {
    const auto effort = parse_effort(value);
    if (!effort) refuse(name, value, "cached, estimate, measure, exhaustive or online");
    options.effort = *effort;
  } else if (name == "expected-calls") {
    read_positive(options.limits.expected_calls, name, value);
  } else if (name == "time-limit") {
    read_positive(options.limits.time_limit_seconds, name, value);
  } else if (name == "memory-factor") {
    read_positive(options.limits.memory_factor, name, value);
  } else if (name == "deterministic") {
    read_bool(options.limits.deterministic, name, value);
  } else if (name == "capture") {
    read_bool(options.limits.capture, name, value);
  } else if (name == "device") {
    options.device = parse_place(name, value);
  } else if (name == "database") {
    if (value.empty()) refuse(name, value, "a file or memory");
    options.database = value == "memory" ? DatabaseChoice::memory() : DatabaseChoice::file(value);
  } else if (name == "system-database") {
    if (value.empty()) refuse(name, value, "a file or none");
    options.system_databases.emplace();
    if (value != "none") options.system_databases->emplace_back(value);
  } else if (name == "background") {
    read_bool(options.background, name, value);
  } else {
    throw InvalidArgument("no option '" + std::string(name) + "'");
  }
}

ContextOptions parse_options(const char* text) {
  ContextOptions options;
  std::set<std::string, std::less<>> seen;
  std::istringstream words(text == nullptr ? "" : text);
  words.exceptions(std::ios::badbit);
  for (std::string word; words >> word;) {
    const auto equals = word.find('=');
    const auto name = word.substr(0, equals);
    if (!seen.insert(name).second) throw InvalidArgument("option '" + name + "' is given twice");
    std::optional<std::string_view> value;
    if (equals != std::string::npos) value = std::string_view(word).substr(equals + 1);
    read_option(options, name, value);
  }
  return options;
}

// --- Matrices ---

struct CsrArguments {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t nnz;
  const void* row_ptr;
  const void* col_idx;
  const void* values;
  Ownership ownership;
  Stream stream;
};

template <class T, class Offset, class Column>
Matrix<T> make_matrix(const CsrArguments& csr) {
  return Matrix<T>::from_csr(csr.rows, csr.cols, array<const Offset>(csr.row_ptr, csr.rows + 1, "row_ptr"),
                             array<const Column>(csr.col_idx, csr.nnz, "col_idx"),
                             array<const T>(csr.values, csr.nnz, "values"), csr.ownership, csr.stream);
}

template <class T, class Offset>
Matrix<T> make_matrix(const CsrArguments& csr, int columns) {
  if (columns == AUTOSPMV_I32) return make_matrix<T, Offset, std::int32_t>(csr);
  if (columns == AUTOSPMV_I64) return make_matrix<T, Offset, std::int64_t>(csr);
  throw InvalidArgument("columns are AUTOSPMV_I32 or AUTOSPMV_I64");
}

template <class T>
Matrix<T> make_matrix(const CsrArguments& csr, int offsets, int columns) {
  if (offsets == AUTOSPMV_I32) return make_matrix<T, std::int32_t>(csr, columns);
  if (offsets == AUTOSPMV_I64) return make_matrix<T, std::int64_t>(csr, columns);
  throw InvalidArgument("offsets are AUTOSPMV_I32 or AUTOSPMV_I64");
}

template <class T>
void multiply(const Context& context, const Matrix<T>& matrix, Operation op, const void* alpha, const void* x,
              const void* beta, void* y, Stream stream) {
  SpmvOptions<T> options{.stream = stream, .context = &context, .op = op};
  if (alpha != nullptr) options.alpha = *static_cast<const T*>(alpha);
  if (beta != nullptr) options.beta = *static_cast<const T*>(beta);
  const bool transposed = op == Operation::transposed;
  auto_spmv(matrix, array<const T>(x, transposed ? matrix.rows() : matrix.cols(), "x"),
            array<T>(y, transposed ? matrix.cols() : matrix.rows(), "y"), options);
}

}  // namespace

}  // namespace autospmv

using namespace autospmv;

const char* autospmv_version(void) { return version(); }

const char* autospmv_last_error(void) { return last_error.data(); }

autospmv_status autospmv_context_create(const char* options, autospmv_context** context) {
  return guarded([&] {
    given(context, "context") = nullptr;
    *context = new autospmv_context{Context(parse_options(options))};
  });
}

void autospmv_context_destroy(autospmv_context* context) { delete context; }

autospmv_status autospmv_matrix_from_csr(int64_t rows, int64_t cols, int64_t nnz, autospmv_type offsets,
                                         const void* row_ptr, autospmv_type columns, const void* col_idx,
                                         autospmv_type values_type, const void* values, int borrow, void* stream,
                                         autospmv_matrix** matrix) {
  return guarded([&] {
    given(matrix, "matrix") = nullptr;
    // Before they become lengths of arrays.
    if (rows < 0 || rows > INT32_MAX) throw InvalidArgument("rows is not in [0, 2^31 - 1]: " + std::to_string(rows));
    if (nnz < 0) throw InvalidArgument("nnz is negative: " + std::to_string(nnz));
    const CsrArguments csr{.rows = rows,
                           .cols = cols,
                           .nnz = nnz,
                           .row_ptr = row_ptr,
                           .col_idx = col_idx,
                           .values = values,
                           .ownership = borrow != 0 ? Ownership::borrow : Ownership::copy,
                           .stream = stream_of(stream)};
    if (number_of(values_type) == AUTOSPMV_F32) {
      *matrix = new autospmv_matrix{make_matrix<float>(csr, number_of(offsets), number_of(columns))};
    } else if (number_of(values_type) == AUTOSPMV_F64) {
      *matrix = new autospmv_matrix{make_matrix<double>(csr, number_of(offsets), number_of(columns))};
    } else {
      throw InvalidArgument("values_type is AUTOSPMV_F32 or AUTOSPMV_F64");
    }
  });
}

autospmv_status autospmv_update_values(autospmv_matrix* matrix, const void* values, void* stream) {
  return guarded([&] {
    std::visit(
        [&]<class T>(Matrix<T>& typed) {
          typed.update_values(array<const T>(values, typed.nnz(), "values"), stream_of(stream));
        },
        given(matrix, "matrix").matrix);
  });
}

void autospmv_matrix_destroy(autospmv_matrix* matrix) { delete matrix; }

autospmv_status autospmv_plan(autospmv_context* context, autospmv_matrix* matrix, autospmv_op op) {
  return guarded([&] {
    const auto& typed = given(matrix, "matrix").matrix;
    const auto operation = operation_of(op);
    std::visit([&](const auto& known) { (void)kept_plan(known, context_of(context), operation); }, typed);
  });
}

autospmv_status autospmv_spmv(autospmv_context* context, autospmv_matrix* matrix, autospmv_op op, const void* alpha,
                              const void* x, const void* beta, void* y, void* stream) {
  return guarded([&] {
    const auto& typed = given(matrix, "matrix").matrix;
    const auto operation = operation_of(op);
    std::visit(
        [&](const auto& known) {
          multiply(context_of(context), known, operation, alpha, x, beta, y, stream_of(stream));
        },
        typed);
  });
}

autospmv_status autospmv_explain(autospmv_context* context, autospmv_matrix* matrix, autospmv_op op, char* json,
                                 size_t* size) {
  return guarded([&] {
    const auto& typed = given(matrix, "matrix").matrix;
    auto& room = given(size, "size");
    const auto operation = operation_of(op);
    const auto text =
        std::visit([&](const auto& known) { return explain(known, context_of(context), operation).json(); }, typed);
    const auto needed = text.size() + 1;
    const auto had = std::exchange(room, needed);
    if (json == nullptr) return;
    if (had < needed) {
      throw InvalidArgument("the text takes " + std::to_string(needed) + " bytes, and there is room for " +
                            std::to_string(had));
    }
    std::memcpy(json, text.c_str(), needed);
  });
}
