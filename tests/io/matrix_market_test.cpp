#include "io/matrix_market.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <vector>

#include "core/error.hpp"
#include "tests/threads.hpp"

namespace autospmv {
namespace {

using testing::Threads;

template <class T>
HostCsr<T> parse(const std::string& text) {
  return parse_matrix_market<T>(text, "m.mtx");
}

template <class T>
using Entry = std::tuple<std::int64_t, std::int32_t, T>;

template <class T>
std::vector<Entry<T>> entries_of(const HostCsr<T>& matrix) {
  std::vector<Entry<T>> entries;
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      entries.emplace_back(row, matrix.col_idx[k], matrix.values[k]);
    }
  }
  return entries;
}

template <class T>
void expect_equal(const HostCsr<T>& a, const HostCsr<T>& b) {
  EXPECT_EQ(a.rows, b.rows);
  EXPECT_EQ(a.cols, b.cols);
  EXPECT_EQ(a.row_ptr, b.row_ptr);
  EXPECT_EQ(a.col_idx, b.col_idx);
  EXPECT_EQ(a.values, b.values);
}

template <class T = double>
std::string error_of(const std::string& text) {
  try {
    parse<T>(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(MatrixMarket, ReadsGeneralReal) {
  const auto matrix = parse<double>(
      "%%MatrixMarket matrix coordinate real general\n"
      "% a comment\n"
      "\n"
      "3 4 5\n"
      "3 1 -1.5e1\n"
      "1 4 +2\n"
      "  1\t2   .25  \n"
      "\n"
      "% another comment\n"
      "2 3 0\n"
      "3 4 1E-2");
  EXPECT_EQ(matrix.rows, 3);
  EXPECT_EQ(matrix.cols, 4);
  EXPECT_EQ(matrix.nnz(), 5);
  EXPECT_EQ(matrix.row_ptr, (std::vector<std::int64_t>{0, 2, 3, 5}));
  EXPECT_EQ(matrix.col_idx, (std::vector<std::int32_t>{1, 3, 2, 0, 3}));
  EXPECT_EQ(matrix.values, (std::vector<double>{0.25, 2, 0, -15, 0.01}));
}

TEST(MatrixMarket, ViewShowsTheArrays) {
  const auto matrix = parse<float>("%%MatrixMarket matrix coordinate real general\n2 3 1\n2 3 4\n");
  const auto view = matrix.view();
  EXPECT_EQ(view.rows, 2);
  EXPECT_EQ(view.cols, 3);
  EXPECT_EQ(view.nnz, 1);
  ASSERT_TRUE(view.wide());
  EXPECT_EQ(std::get<1>(view.row_ptr), matrix.row_ptr.data());
  EXPECT_EQ(view.col_idx, matrix.col_idx.data());
  EXPECT_EQ(view.values, matrix.values.data());
}

TEST(MatrixMarket, BannerIgnoresCaseAndLinesMayEndInCarriageReturns) {
  const auto matrix = parse<double>("%%MATRIXMARKET Matrix COORDINATE Double General\r\n% c\r\n\r\n1 1 1\r\n1 1 7\r\n");
  EXPECT_EQ(entries_of(matrix), (std::vector<Entry<double>>{{0, 0, 7}}));
}

TEST(MatrixMarket, PatternEntriesAreOne) {
  const auto matrix = parse<float>("%%MatrixMarket matrix coordinate pattern general\n2 2 2\n2 1\n1 2\n");
  EXPECT_EQ(entries_of(matrix), (std::vector<Entry<float>>{{0, 1, 1}, {1, 0, 1}}));
}

TEST(MatrixMarket, IntegersOfAllOfInt64) {
  const auto matrix = parse<double>(
      "%%MatrixMarket matrix coordinate integer general\n1 3 3\n1 1 -9223372036854775808\n1 2 +12\n1 3 -7\n");
  EXPECT_EQ(matrix.values, (std::vector<double>{-0x1p63, 12, -7}));
}

TEST(MatrixMarket, SymmetricIsExpandedWithTheDiagonalOnce) {
  const std::vector<Entry<double>> expected = {{0, 0, 1}, {0, 2, 3}, {1, 1, 5}, {2, 0, 3}};
  EXPECT_EQ(entries_of(parse<double>("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n3 1 3\n2 2 5\n")),
            expected);
  EXPECT_EQ(entries_of(parse<double>("%%MatrixMarket matrix coordinate real symmetric\n3 3 3\n1 1 1\n1 3 3\n2 2 5\n")),
            expected);
}

TEST(MatrixMarket, SymmetricPattern) {
  EXPECT_EQ(entries_of(parse<double>("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n1 1\n2 1\n")),
            (std::vector<Entry<double>>{{0, 0, 1}, {0, 1, 1}, {1, 0, 1}}));
}

TEST(MatrixMarket, SkewSymmetricChangesTheSign) {
  EXPECT_EQ(entries_of(parse<double>("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 3\n2 2 0\n")),
            (std::vector<Entry<double>>{{0, 1, -3}, {1, 0, 3}, {1, 1, 0}}));
}

TEST(MatrixMarket, ArraysComeByColumn) {
  EXPECT_EQ(entries_of(parse<double>("%%MatrixMarket matrix array real general\n2 3\n1\n2\n3\n4\n5\n6\n")),
            (std::vector<Entry<double>>{{0, 0, 1}, {0, 1, 3}, {0, 2, 5}, {1, 0, 2}, {1, 1, 4}, {1, 2, 6}}));
  EXPECT_EQ(entries_of(parse<double>("%%MatrixMarket matrix array integer symmetric\n2 2\n1\n2\n3\n")),
            (std::vector<Entry<double>>{{0, 0, 1}, {0, 1, 2}, {1, 0, 2}, {1, 1, 3}}));
  EXPECT_EQ(entries_of(parse<double>("%%MatrixMarket matrix array real skew-symmetric\n3 3\n1\n2\n3\n")),
            (std::vector<Entry<double>>{{0, 1, -1}, {0, 2, -2}, {1, 0, 1}, {1, 2, -3}, {2, 0, 2}, {2, 1, 3}}));
}

TEST(MatrixMarket, EmptyMatrices) {
  const auto none = parse<double>("%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  EXPECT_EQ(none.row_ptr, std::vector<std::int64_t>{0});
  const auto wide = parse<double>("%%MatrixMarket matrix coordinate real general\n0 5 0");
  EXPECT_EQ(wide.cols, 5);
  const auto zero = parse<double>("%%MatrixMarket matrix coordinate pattern symmetric\n3 3 0\n");
  EXPECT_EQ(zero.row_ptr, (std::vector<std::int64_t>{0, 0, 0, 0}));
  EXPECT_EQ(parse<double>("%%MatrixMarket matrix array real general\n0 3\n").nnz(), 0);
}

TEST(MatrixMarket, DuplicatesStayInTheOrderOfTheText) {
  EXPECT_EQ(entries_of(parse<double>("%%MatrixMarket matrix coordinate real general\n1 2 4\n"
                                     "1 2 1\n1 1 2\n1 2 3\n1 1 4\n")),
            (std::vector<Entry<double>>{{0, 0, 2}, {0, 0, 4}, {0, 1, 1}, {0, 1, 3}}));
}

TEST(MatrixMarket, SpecialAndTinyValues) {
  const auto matrix = parse<double>(
      "%%MatrixMarket matrix coordinate real general\n1 8 8\n1 1 nan\n1 2 inf\n1 3 -inf\n1 4 1e-400\n1 5 -1e-400\n"
      "1 6 0.00000000000000000001e-99999999999999999999\n1 7 4.9406564584124654e-324\n1 8 0e999999999\n");
  EXPECT_TRUE(std::isnan(matrix.values[0]));
  EXPECT_EQ(matrix.values[1], std::numeric_limits<double>::infinity());
  EXPECT_EQ(matrix.values[2], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(matrix.values[3], 0);
  EXPECT_EQ(matrix.values[4], 0);
  EXPECT_TRUE(std::signbit(matrix.values[4]));
  EXPECT_EQ(matrix.values[5], 0);
  EXPECT_EQ(matrix.values[6], std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(matrix.values[7], 0);
  const auto narrow = parse<float>("%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 1e-300\n1 2 1e-40\n");
  EXPECT_EQ(narrow.values[0], 0);
  EXPECT_EQ(narrow.values[1], 1e-40F);
}

TEST(MatrixMarket, ErrorsNameTheLine) {
  const std::string real = "%%MatrixMarket matrix coordinate real general\n";
  const std::string sized = real + "% comment\n10 9 2\n";  // entries begin on line 4
  const std::string range = ": value out of range";
  EXPECT_EQ(error_of(""), "m.mtx:1: no Matrix Market file: it does not begin with '%%MatrixMarket'");
  EXPECT_EQ(error_of("1 1 1\n"), "m.mtx:1: no Matrix Market file: it does not begin with '%%MatrixMarket'");
  EXPECT_EQ(error_of("%%MatrixMarket vector coordinate real general\n"),
            "m.mtx:1: unknown object 'vector', not one of matrix");
  EXPECT_EQ(error_of("%%MatrixMarket matrix csr real general\n"),
            "m.mtx:1: unknown format 'csr', not one of coordinate, array");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate quad general\n"),
            "m.mtx:1: unknown field 'quad', not one of real, double, integer, complex, pattern");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real\n"),
            "m.mtx:1: unknown symmetry '', not one of general, symmetric, skew-symmetric, hermitian");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real general x\n"),
            "m.mtx:1: 'x' is left over at the end of the line");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n"),
            "m.mtx:1: complex values cannot be read as real ones");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array complex hermitian\n1 1\n1 0\n"),
            "m.mtx:1: complex values cannot be read as real ones");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real hermitian\n"),
            "m.mtx:1: a hermitian matrix has complex values");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array pattern general\n"), "m.mtx:1: an array matrix has values");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate pattern skew-symmetric\n"),
            "m.mtx:1: a skew-symmetric matrix has values");
  EXPECT_EQ(error_of(real), "m.mtx:1: the file ends before the size line");
  EXPECT_EQ(error_of(real + "% only\n\n"), "m.mtx:3: the file ends before the size line");
  EXPECT_EQ(error_of(real + "3 3\n"), "m.mtx:2: the line ends where number of entries should be");
  EXPECT_EQ(error_of(real + "3 3 1 1\n"), "m.mtx:2: '1' is left over at the end of the line");
  EXPECT_EQ(error_of(real + "-3 3 1\n"), "m.mtx:2: number of rows -3 is not in 0 to 2147483647");
  EXPECT_EQ(error_of(real + "3 2147483648 1\n"), "m.mtx:2: number of columns 2147483648 is not in 0 to 2147483647");
  EXPECT_EQ(error_of(real + "3 3 99999999999999999999\n"), "m.mtx:2: number of entries '99999999999999999999'" + range);
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real symmetric\n3 4 0\n"),
            "m.mtx:2: a matrix of 3 x 4 is not symmetric");
  EXPECT_EQ(error_of(sized + "1 1 1\n"), "m.mtx:4: promised 2 entries, found 1");
  EXPECT_EQ(error_of(sized), "m.mtx:3: promised 2 entries, found 0");
  EXPECT_EQ(error_of(sized + "1 1 1\n2 2 2\n\n3 3 3\n4 4 4\n"), "m.mtx:7: promised 2 entries, found more");
  EXPECT_EQ(error_of(sized + "1 1 1\n0 1 1\n"), "m.mtx:5: row 0 is not in 1 to 10");
  EXPECT_EQ(error_of(sized + "11 1 1\n1 1 1\n"), "m.mtx:4: row 11 is not in 1 to 10");
  EXPECT_EQ(error_of(sized + "10 10 1\n1 1 1\n"), "m.mtx:4: column 10 is not in 1 to 9");
  EXPECT_EQ(error_of(sized + "4294967297 1 1\n1 1 1\n"), "m.mtx:4: row 4294967297 is not in 1 to 10");
  EXPECT_EQ(error_of(sized + "1 1 abc\n1 1 1\n"), "m.mtx:4: value 'abc' is not a number");
  EXPECT_EQ(error_of(sized + "1 1 0x1p3\n1 1 1\n"), "m.mtx:4: value '0x1p3' is not a number");
  EXPECT_EQ(error_of(sized + "1 1 +-3\n1 1 1\n"), "m.mtx:4: value '+-3' is not a number");
  EXPECT_EQ(error_of(sized + "1 1 ++3\n1 1 1\n"), "m.mtx:4: value '++3' is not a number");
  EXPECT_EQ(error_of(sized + "1.5 1 3\n1 1 1\n"), "m.mtx:4: row '1.5' is not an integer");
  EXPECT_EQ(error_of(sized + "1 1\n1 1 1\n"), "m.mtx:4: the line ends where value should be");
  EXPECT_EQ(error_of(sized + "1 1 1 2\n1 1 1\n"), "m.mtx:4: '2' is left over at the end of the line");
  EXPECT_EQ(error_of(sized + "1 1 1e400\n1 1 1\n"), "m.mtx:4: value '1e400'" + range);
  EXPECT_EQ(error_of(sized + "1 1 -1e99999999999999999999\n1 1 1\n"),
            "m.mtx:4: value '-1e99999999999999999999'" + range);
  EXPECT_EQ(error_of<float>(sized + "1 1 1\n1 1 1e39\n"), "m.mtx:5: value '1e39'" + range);
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 9223372036854775808\n"),
            "m.mtx:3: value '9223372036854775808'" + range);
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 2.5\n"),
            "m.mtx:3: value '2.5' is not an integer");
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real skew-symmetric\n2 2 2\n2 1 3\n2 2 1\n"),
            "m.mtx:4: the diagonal of a skew-symmetric matrix is zero");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array real general\n2 2\n1\n2\n3\n"),
            "m.mtx:5: promised 4 entries, found 3");
}

TEST(MatrixMarket, ErrorsAreOneShortPrintableLine) {
  const auto error =
      error_of("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 \x01\x02" + std::string(1000, 'z') + "\n");
  EXPECT_EQ(error, "m.mtx:3: value '\\x01\\x02" + std::string(38, 'z') + "...' is not a number");
}

TEST(MatrixMarket, PromisesAreNotBelieved) {
  EXPECT_EQ(error_of("%%MatrixMarket matrix coordinate real general\n5 5 1000000000000000000\n1 1 1\n"),
            "m.mtx:3: promised 1000000000000000000 entries, found 1");
  EXPECT_EQ(error_of("%%MatrixMarket matrix array real general\n2147483647 2147483647\n1\n"),
            "m.mtx:3: promised 4611686014132420609 entries, found 1");
}

// Long enough to be read in many parts.
std::string long_text(std::int64_t entries) {
  std::string text = "%%MatrixMarket matrix coordinate real general\n1000 1000 " + std::to_string(entries) + '\n';
  std::mt19937 random(7);
  for (std::int64_t k = 0; k < entries; ++k) {
    if (k % 1000 == 999) text += "% a comment between entries\n\n";
    text += std::to_string(random() % 1000 + 1) + ' ' + std::to_string(random() % 1000 + 1) + ' ' + std::to_string(k) +
            (k % 3 == 0 ? "\r\n" : "\n");
  }
  return text;
}

TEST(MatrixMarket, TheNumberOfThreadsDoesNotMatter) {
  constexpr std::int64_t entries = 200000;
  const auto text = long_text(entries);
  const auto serial = [&] {
    const Threads one(1);
    return parse<double>(text);
  }();
  ASSERT_EQ(serial.nnz(), entries);
  double total = 0;
  for (std::int64_t row = 0; row < serial.rows; ++row) {
    for (std::int64_t k = serial.row_ptr[row]; k < serial.row_ptr[row + 1]; ++k) {
      total += serial.values[k];
      if (k == serial.row_ptr[row]) continue;
      ASSERT_LE(serial.col_idx[k - 1], serial.col_idx[k]);
      // Values count the entries of the text, so equal places must come in that order.
      if (serial.col_idx[k - 1] == serial.col_idx[k]) {
        ASSERT_LT(serial.values[k - 1], serial.values[k]);
      }
    }
  }
  EXPECT_EQ(total, entries * (entries - 1) / 2);
  for (const int threads : {2, 3, 7}) {
    const Threads several(threads);
    expect_equal(parse<double>(text), serial);
  }
}

TEST(MatrixMarket, TheFirstBadLineWinsForAnyNumberOfThreads) {
  std::vector<std::string> lines;
  std::istringstream text(long_text(200000));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  const auto join = [&](std::size_t first_bad, std::size_t second_bad) {
    std::string joined;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      joined += i == first_bad ? "1 1 first" : i == second_bad ? "1 1 second" : lines[i];
      joined += '\n';
    }
    return joined;
  };
  for (const int threads : {1, 2, 5}) {
    const Threads several(threads);
    for (const std::size_t bad : {std::size_t{2}, lines.size() / 3, lines.size() - 2}) {
      EXPECT_EQ(error_of(join(bad, lines.size() - 1)),
                "m.mtx:" + std::to_string(bad + 1) + ": value 'first' is not a number");
    }
    // One entry too many comes before the bad last line.
    auto longer = join(lines.size(), lines.size()) + "1 1 1\n1 1 second\n";
    EXPECT_EQ(error_of(longer), "m.mtx:" + std::to_string(lines.size() + 1) + ": promised 200000 entries, found more");
  }
}

TEST(MatrixMarket, LongArraysAndSymmetricMatricesInParts) {
  constexpr std::int64_t n = 600;
  std::string text = "%%MatrixMarket matrix array real symmetric\n600 600\n";
  for (std::int64_t col = 0; col < n; ++col) {
    for (std::int64_t row = col; row < n; ++row) text += std::to_string(row * n + col) + '\n';
  }
  const Threads several(3);
  const auto matrix = parse<double>(text);
  ASSERT_EQ(matrix.nnz(), n * n);
  for (std::int64_t row = 0; row < n; ++row) {
    for (std::int64_t col = 0; col < n; ++col) {
      ASSERT_EQ(matrix.col_idx[row * n + col], col);
      ASSERT_EQ(matrix.values[row * n + col], std::max(row, col) * n + std::min(row, col));
    }
  }
}

TEST(MatrixMarket, WritesWhatItReads) {
  std::mt19937_64 random(3);
  std::string text = "%%MatrixMarket matrix coordinate real general\n50 70 500\n";
  for (int k = 0; k < 500; ++k)
    text += std::to_string(random() % 50 + 1) + ' ' + std::to_string(random() % 70 + 1) + " 1\n";
  auto matrix = parse<double>(text);
  for (auto& value : matrix.values) {
    do {
      value = std::bit_cast<double>(random());
    } while (!std::isfinite(value));
  }
  std::ostringstream out;
  write_matrix_market(out, matrix.view(), "first line\nsecond line");
  EXPECT_TRUE(
      out.str().starts_with("%%MatrixMarket matrix coordinate real general\n% first line\n% second line\n50 70 500\n"));
  expect_equal(parse<double>(out.str()), matrix);
}

TEST(MatrixMarket, WritesShortestDigits) {
  HostCsr<float> matrix{1, 3, {0, 3}, {0, 1, 2}, {0.1F, -3, std::numeric_limits<float>::infinity()}};
  std::ostringstream out;
  write_matrix_market(out, matrix.view());
  EXPECT_EQ(out.str(), "%%MatrixMarket matrix coordinate real general\n1 3 3\n1 1 0.1\n1 2 -3\n1 3 inf\n");
  expect_equal(parse<float>(out.str()), matrix);
}

TEST(MatrixMarket, WritesNarrowOffsets) {
  const std::vector<std::int32_t> row_ptr = {0, 0, 1};
  const std::int32_t col = 0;
  const double value = 1.5;
  std::ostringstream out;
  write_matrix_market(out, CsrView<double>{2, 1, 1, row_ptr.data(), &col, &value});
  EXPECT_EQ(out.str(), "%%MatrixMarket matrix coordinate real general\n2 1 1\n2 1 1.5\n");
}

TEST(MatrixMarket, WritingToABrokenStreamFails) {
  const auto matrix = parse<double>("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 1\n");
  std::ostringstream out;
  out.setstate(std::ios::badbit);
  EXPECT_THROW(write_matrix_market(out, matrix.view()), Error);
}

}  // namespace
}  // namespace autospmv
