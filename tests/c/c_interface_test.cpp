// The C interface: what it computes, and what it says to arguments that cannot be.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "autospmv/autospmv.h"

namespace {

/// [2 0 1; 0 3 0], in any of the types that C takes.
template <class T = double, class Offset = std::int32_t, class Column = std::int32_t>
struct Example {
  std::vector<Offset> row_ptr{0, 2, 3};
  std::vector<Column> col_idx{0, 2, 1};
  std::vector<T> values{2, 1, 3};

  static autospmv_type type_of(double) { return AUTOSPMV_F64; }
  static autospmv_type type_of(float) { return AUTOSPMV_F32; }
  static autospmv_type type_of(std::int32_t) { return AUTOSPMV_I32; }
  static autospmv_type type_of(std::int64_t) { return AUTOSPMV_I64; }

  autospmv_status make(autospmv_matrix** matrix, int borrow = 0) const {
    return autospmv_matrix_from_csr(2, 3, 3, type_of(Offset{}), row_ptr.data(), type_of(Column{}), col_idx.data(),
                                    type_of(T{}), values.data(), borrow, nullptr, matrix);
  }
};

class CInterface : public testing::Test {
 protected:
  CInterface() {
    auto pattern = (std::filesystem::temp_directory_path() / "autospmv-c-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary directory: " + pattern);
    directory_ = pattern;
    setenv("AUTOSPMV_DB", path("default.db").c_str(), 1);
    EXPECT_EQ(autospmv_context_create("device=host database=memory effort=estimate", &context_), AUTOSPMV_OK)
        << autospmv_last_error();
    EXPECT_EQ(Example<>().make(&matrix_), AUTOSPMV_OK) << autospmv_last_error();
  }
  ~CInterface() override {
    autospmv_context_destroy(context_);
    autospmv_matrix_destroy(matrix_);
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }

  [[nodiscard]] std::string path(const std::string& name) const { return (directory_ / name).string(); }

  autospmv_status multiply(const void* alpha, const void* x, const void* beta, void* y) const {
    return autospmv_spmv(context_, matrix_, AUTOSPMV_PLAIN, alpha, x, beta, y, nullptr);
  }

  autospmv_context* context_ = nullptr;
  autospmv_matrix* matrix_ = nullptr;

 private:
  std::filesystem::path directory_;
};

void expect_failure(autospmv_status status, autospmv_status expected, const std::string& text) {
  const std::string error = autospmv_last_error();
  EXPECT_EQ(status, expected) << error;
  EXPECT_NE(error.find(text), std::string::npos) << "'" << error << "' lacks: " << text;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
}

void expect_invalid(autospmv_status status, const std::string& text) { expect_failure(status, AUTOSPMV_INVALID, text); }

TEST_F(CInterface, VersionIsThatOfTheHeaders) { EXPECT_STREQ(autospmv_version(), AUTOSPMV_VERSION); }

template <class T, class Offset, class Column>
void expect_products(const autospmv_context* const_context) {
  auto* context = const_cast<autospmv_context*>(const_context);
  autospmv_matrix* matrix = nullptr;
  const Example<T, Offset, Column> example;
  for (const int borrow : {0, 1}) {
    ASSERT_EQ(example.make(&matrix, borrow), AUTOSPMV_OK) << autospmv_last_error();
    const std::vector<T> x{1, 2, 3};
    std::vector<T> y(2, std::numeric_limits<T>::quiet_NaN());
    ASSERT_EQ(autospmv_spmv(context, matrix, AUTOSPMV_PLAIN, nullptr, x.data(), nullptr, y.data(), nullptr),
              AUTOSPMV_OK)
        << autospmv_last_error();
    EXPECT_EQ(y, (std::vector<T>{5, 6}));
    const T alpha = 2;
    const T beta = -1;
    ASSERT_EQ(autospmv_spmv(context, matrix, AUTOSPMV_PLAIN, &alpha, x.data(), &beta, y.data(), nullptr), AUTOSPMV_OK);
    EXPECT_EQ(y, (std::vector<T>{5, 6}));
    autospmv_matrix_destroy(matrix);
  }
}

TEST_F(CInterface, MultipliesInEveryType) {
  expect_products<double, std::int32_t, std::int32_t>(context_);
  expect_products<double, std::int64_t, std::int32_t>(context_);
  expect_products<double, std::int32_t, std::int64_t>(context_);
  expect_products<double, std::int64_t, std::int64_t>(context_);
  expect_products<float, std::int32_t, std::int32_t>(context_);
  expect_products<float, std::int64_t, std::int32_t>(context_);
  expect_products<float, std::int32_t, std::int64_t>(context_);
  expect_products<float, std::int64_t, std::int64_t>(context_);
}

TEST_F(CInterface, NoContextIsTheDefaultOne) {
  const std::vector<double> x{1, 2, 3};
  std::vector<double> y(2);
  ASSERT_EQ(autospmv_plan(nullptr, matrix_, AUTOSPMV_PLAIN), AUTOSPMV_OK) << autospmv_last_error();
  ASSERT_EQ(autospmv_spmv(nullptr, matrix_, AUTOSPMV_PLAIN, nullptr, x.data(), nullptr, y.data(), nullptr),
            AUTOSPMV_OK);
  EXPECT_EQ(y, (std::vector<double>{5, 6}));
}

TEST_F(CInterface, TakesNewValues) {
  const std::vector<double> x{1, 2, 3};
  std::vector<double> y(2);
  ASSERT_EQ(multiply(nullptr, x.data(), nullptr, y.data()), AUTOSPMV_OK);
  const std::vector<double> values{1, 1, -1};
  ASSERT_EQ(autospmv_update_values(matrix_, values.data(), nullptr), AUTOSPMV_OK) << autospmv_last_error();
  ASSERT_EQ(multiply(nullptr, x.data(), nullptr, y.data()), AUTOSPMV_OK);
  EXPECT_EQ(y, (std::vector<double>{4, -2}));
}

TEST_F(CInterface, AMatrixOutlivesItsContext) {
  ASSERT_EQ(autospmv_plan(context_, matrix_, AUTOSPMV_PLAIN), AUTOSPMV_OK);
  autospmv_context_destroy(context_);
  ASSERT_EQ(autospmv_context_create("device=host database=memory", &context_), AUTOSPMV_OK);
  EXPECT_EQ(autospmv_plan(context_, matrix_, AUTOSPMV_PLAIN), AUTOSPMV_OK) << autospmv_last_error();
}

TEST_F(CInterface, NothingIsDestroyedAtNoHarm) {
  autospmv_context_destroy(nullptr);
  autospmv_matrix_destroy(nullptr);
}

TEST_F(CInterface, AMatrixWithoutEntriesNeedsNoArraysForThem) {
  const std::vector<std::int32_t> row_ptr{0, 0};
  autospmv_matrix* matrix = nullptr;
  ASSERT_EQ(autospmv_matrix_from_csr(1, 0, 0, AUTOSPMV_I32, row_ptr.data(), AUTOSPMV_I32, nullptr, AUTOSPMV_F64,
                                     nullptr, 0, nullptr, &matrix),
            AUTOSPMV_OK)
      << autospmv_last_error();
  double y = 1;
  EXPECT_EQ(autospmv_spmv(context_, matrix, AUTOSPMV_PLAIN, nullptr, nullptr, nullptr, &y, nullptr), AUTOSPMV_OK)
      << autospmv_last_error();
  EXPECT_EQ(y, 0);
  EXPECT_EQ(autospmv_update_values(matrix, nullptr, nullptr), AUTOSPMV_OK) << autospmv_last_error();
  autospmv_matrix_destroy(matrix);
}

// --- Errors ---

TEST_F(CInterface, TheLastErrorIsOfThisThreadAndGoesWithSuccess) {
  expect_invalid(autospmv_plan(context_, nullptr, AUTOSPMV_PLAIN), "matrix is NULL");
  std::thread([] { EXPECT_STREQ(autospmv_last_error(), ""); }).join();
  EXPECT_STRNE(autospmv_last_error(), "");
  EXPECT_EQ(autospmv_plan(context_, matrix_, AUTOSPMV_PLAIN), AUTOSPMV_OK);
  EXPECT_STREQ(autospmv_last_error(), "");
}

TEST_F(CInterface, PointersThatAreMissing) {
  const std::vector<double> x{1, 2, 3};
  std::vector<double> y(2);
  std::size_t size = 0;
  expect_invalid(autospmv_context_create("", nullptr), "context is NULL");
  expect_invalid(autospmv_update_values(nullptr, x.data(), nullptr), "matrix is NULL");
  expect_invalid(autospmv_update_values(matrix_, nullptr, nullptr), "values is NULL");
  expect_invalid(autospmv_spmv(context_, nullptr, AUTOSPMV_PLAIN, nullptr, x.data(), nullptr, y.data(), nullptr),
                 "matrix is NULL");
  expect_invalid(multiply(nullptr, nullptr, nullptr, y.data()), "x is NULL");
  expect_invalid(multiply(nullptr, x.data(), nullptr, nullptr), "y is NULL");
  expect_invalid(autospmv_explain(context_, nullptr, AUTOSPMV_PLAIN, nullptr, &size), "matrix is NULL");
  expect_invalid(autospmv_explain(context_, matrix_, AUTOSPMV_PLAIN, nullptr, nullptr), "size is NULL");
}

TEST_F(CInterface, MatricesThatAreNone) {
  const Example<> good;
  const auto make = [](std::int64_t rows, std::int64_t cols, std::int64_t nnz, const void* row_ptr, const void* col_idx,
                       const void* values, autospmv_type offsets = AUTOSPMV_I32, autospmv_type columns = AUTOSPMV_I32,
                       autospmv_type type = AUTOSPMV_F64) {
    autospmv_matrix* matrix = nullptr;
    const auto status = autospmv_matrix_from_csr(rows, cols, nnz, offsets, row_ptr, columns, col_idx, type, values, 0,
                                                 nullptr, &matrix);
    EXPECT_EQ(matrix, nullptr);
    return status;
  };
  const auto* row_ptr = good.row_ptr.data();
  const auto* col_idx = good.col_idx.data();
  const auto* values = good.values.data();
  expect_invalid(make(-1, 3, 3, row_ptr, col_idx, values), "-1");
  expect_invalid(make(std::int64_t{1} << 31, 3, 3, row_ptr, col_idx, values), "2147483648");
  expect_invalid(make(std::numeric_limits<std::int64_t>::max(), 3, 3, row_ptr, col_idx, values), "rows");
  expect_invalid(make(2, -1, 3, row_ptr, col_idx, values), "-1");
  expect_invalid(make(2, 3, -1, row_ptr, col_idx, values), "-1");
  expect_invalid(make(2, 3, 2, row_ptr, col_idx, values), "3");
  expect_invalid(make(2, 2, 3, row_ptr, col_idx, values), "column");
  expect_invalid(make(2, 3, 3, nullptr, col_idx, values), "row_ptr is NULL");
  expect_invalid(make(2, 3, 3, row_ptr, nullptr, values), "col_idx is NULL");
  expect_invalid(make(2, 3, 3, row_ptr, col_idx, nullptr), "values is NULL");
  expect_invalid(make(2, 3, 3, row_ptr, col_idx, values, AUTOSPMV_F32), "offsets");
  expect_invalid(make(2, 3, 3, row_ptr, col_idx, values, AUTOSPMV_I32, AUTOSPMV_F64), "columns");
  expect_invalid(make(2, 3, 3, row_ptr, col_idx, values, AUTOSPMV_I32, AUTOSPMV_I32, AUTOSPMV_I32), "values_type");
  expect_invalid(autospmv_matrix_from_csr(2, 3, 3, AUTOSPMV_I32, row_ptr, AUTOSPMV_I32, col_idx, AUTOSPMV_F64, values,
                                          0, nullptr, nullptr),
                 "matrix is NULL");
}

TEST_F(CInterface, OptionsThatAreUnderstood) {
  for (const std::string text :
       {"", "  ", "effort=cached", "effort=online  expected-calls=5000", "time-limit=0.5\nmemory-factor=1.5",
        "deterministic", "deterministic=true", "deterministic=false", "background=false effort=online", "capture=false",
        "capture=true"}) {
    autospmv_context* context = nullptr;
    EXPECT_EQ(autospmv_context_create((text + " device=host").c_str(), &context), AUTOSPMV_OK)
        << text << ": " << autospmv_last_error();
    EXPECT_NE(context, nullptr);
    autospmv_context_destroy(context);
  }
  const auto file = path("trials.db");
  autospmv_context* context = nullptr;
  EXPECT_EQ(autospmv_context_create(("device=host database=" + file).c_str(), &context), AUTOSPMV_OK)
      << autospmv_last_error();
  EXPECT_TRUE(std::filesystem::exists(file));
  autospmv_context_destroy(context);
}

TEST_F(CInterface, OptionsThatAreNone) {
  struct Case {
    std::string options;
    std::string complaint;
  };
  for (const auto& [options, complaint] : std::vector<Case>{{"nosuch=1", "'nosuch'"},
                                                            {"=1", "''"},
                                                            {"effort", "effort"},
                                                            {"effort=heroic", "'heroic'"},
                                                            {"Effort=online", "'Effort'"},
                                                            {"expected-calls=0", "expected-calls"},
                                                            {"expected-calls=-1", "'-1'"},
                                                            {"expected-calls=1.5", "'1.5'"},
                                                            {"expected-calls=99999999999999999999", "expected-calls"},
                                                            {"time-limit=nan", "'nan'"},
                                                            {"time-limit=0", "time-limit"},
                                                            {"memory-factor=2x", "'2x'"},
                                                            {"memory-factor=", "memory-factor"},
                                                            {"deterministic=1", "'1'"},
                                                            {"capture", "capture"},
                                                            {"background", "background"},
                                                            {"device=tpu", "'tpu'"},
                                                            {"device=cuda:", "'cuda:'"},
                                                            {"device=cuda:-1", "'cuda:-1'"},
                                                            {"device=cuda:99", "CUDA"},
                                                            {"database=", "database"},
                                                            {"effort=cached effort=cached", "twice"}}) {
    auto* context = reinterpret_cast<autospmv_context*>(&context_);
    expect_invalid(autospmv_context_create(options.c_str(), &context), complaint);
    EXPECT_EQ(context, nullptr) << options;
  }
}

TEST_F(CInterface, ADatabaseOfAnotherProgramIsAnError) {
  const auto file = path("other.db");
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "CREATE TABLE t(a)", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  autospmv_context* context = nullptr;
  expect_failure(autospmv_context_create(("device=host database=" + file).c_str(), &context), AUTOSPMV_INVALID,
                 "another program");
}

TEST_F(CInterface, MultipliesByTheTransposedMatrix) {
  const std::vector<double> x{1, 2};
  std::vector<double> y{1, 1, 1};
  const double alpha = 2;
  const double beta = 10;
  std::size_t size = 0;
  const auto op = AUTOSPMV_TRANSPOSED;
  EXPECT_EQ(autospmv_plan(context_, matrix_, op), AUTOSPMV_OK);
  EXPECT_EQ(autospmv_spmv(context_, matrix_, op, nullptr, x.data(), nullptr, y.data(), nullptr), AUTOSPMV_OK);
  EXPECT_EQ(y, (std::vector<double>{2, 6, 1}));
  EXPECT_EQ(autospmv_spmv(context_, matrix_, op, &alpha, x.data(), &beta, y.data(), nullptr), AUTOSPMV_OK);
  EXPECT_EQ(y, (std::vector<double>{24, 72, 12}));
  EXPECT_EQ(autospmv_explain(context_, matrix_, op, nullptr, &size), AUTOSPMV_OK);
  std::string json(size, ' ');
  EXPECT_EQ(autospmv_explain(context_, matrix_, op, json.data(), &size), AUTOSPMV_OK);
  EXPECT_NE(json.find("\"transposed\":true,\"rows\":3,\"columns\":2"), std::string::npos) << json;
}

/// A number that C may pass as an enumeration, and that C++ can not even make.
template <class Enumeration>
Enumeration no_value_of() {
  Enumeration value{};
  constexpr int none = 7;
  static_assert(sizeof value == sizeof none);
  std::memcpy(&value, &none, sizeof value);
  return value;
}

TEST_F(CInterface, EnumerationsWithoutMeaning) {
  const Example<> csr;
  const auto none = no_value_of<autospmv_type>();
  expect_invalid(autospmv_plan(context_, matrix_, no_value_of<autospmv_op>()), "7");
  autospmv_matrix* matrix = nullptr;
  expect_invalid(autospmv_matrix_from_csr(2, 3, 3, none, csr.row_ptr.data(), AUTOSPMV_I32, csr.col_idx.data(),
                                          AUTOSPMV_F64, csr.values.data(), 0, nullptr, &matrix),
                 "offsets");
  expect_invalid(autospmv_matrix_from_csr(2, 3, 3, AUTOSPMV_I32, csr.row_ptr.data(), AUTOSPMV_I32, csr.col_idx.data(),
                                          none, csr.values.data(), 0, nullptr, &matrix),
                 "values_type");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
/// A matrix that there is memory for, and then none: ends the process with the second status.
[[noreturn]] void lack_memory() {
  constexpr std::int64_t rows = 1 << 24;
  const std::vector<std::int64_t> row_ptr(rows + 1, 0);
  autospmv_matrix* matrix = nullptr;
  const auto make = [&] {
    return autospmv_matrix_from_csr(rows, 1, 0, AUTOSPMV_I64, row_ptr.data(), AUTOSPMV_I64, nullptr, AUTOSPMV_F64,
                                    nullptr, 0, nullptr, &matrix);
  };
  if (make() != AUTOSPMV_OK) std::_Exit(-1);  // which also starts OpenMP's threads
  autospmv_matrix_destroy(matrix);
  constexpr rlimit limit{1 << 24, 1 << 24};
  setrlimit(RLIMIT_DATA, &limit);
  const auto status = make();
  std::fprintf(stderr, "%s\n", autospmv_last_error());
  std::_Exit(status);
}

TEST(CInterfaceDeathTest, LackOfMemoryIsAStatus) {
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(lack_memory(), testing::ExitedWithCode(AUTOSPMV_MEMORY), "memory");
}
#endif

// --- Explanations ---

TEST_F(CInterface, ExplanationsSayHowMuchRoomTheyTake) {
  std::size_t size = 12345;
  ASSERT_EQ(autospmv_explain(context_, matrix_, AUTOSPMV_PLAIN, nullptr, &size), AUTOSPMV_OK) << autospmv_last_error();
  ASSERT_GT(size, 2U);
  ASSERT_NE(size, 12345U);

  std::string json(size + 1, '?');
  auto room = size - 1;
  expect_invalid(autospmv_explain(context_, matrix_, AUTOSPMV_PLAIN, json.data(), &room), std::to_string(size));
  EXPECT_EQ(room, size);
  EXPECT_EQ(json, std::string(size + 1, '?'));

  room = size;
  ASSERT_EQ(autospmv_explain(context_, matrix_, AUTOSPMV_PLAIN, json.data(), &room), AUTOSPMV_OK);
  EXPECT_EQ(room, size);
  EXPECT_EQ(json.substr(size - 1), std::string("\0?", 2));
  json.resize(size - 1);
  EXPECT_EQ(json.front(), '{');
  EXPECT_EQ(json.back(), '}');
  EXPECT_EQ(std::count(json.begin(), json.end(), '\n'), 0);
  EXPECT_NE(json.find("\"choice\""), std::string::npos) << json;
}

}  // namespace
