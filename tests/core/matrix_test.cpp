#include "core/matrix/matrix_data.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/params.hpp"
#include "core/verify/random.hpp"
#include "io/generators.hpp"

namespace autospmv {
namespace {

using Offsets = std::vector<std::int32_t>;
using Columns = std::vector<std::int32_t>;
using Values = std::vector<double>;

std::string error_of(std::int64_t rows, std::int64_t cols, const Offsets& row_ptr, const Columns& columns,
                     const Values& values) {
  try {
    Matrix<double>::from_csr(rows, cols, row_ptr, columns, values);
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return "";
}

TEST(Matrix, ChecksItsArrays) {
  EXPECT_EQ(error_of(2, 2, {0, 1, 2}, {0, 1}, {1, 2}), "");
  EXPECT_EQ(error_of(2, 2, {0, 2}, {0, 1}, {1, 2}), "row_ptr has 2 elements, not rows + 1 = 3");
  EXPECT_EQ(error_of(2, 2, {0, 1, 2}, {0, 1}, {1}), "there are 2 columns, but 1 values");
  EXPECT_EQ(error_of(2, 2, {1, 1, 2}, {0, 1}, {1, 2}), "row_ptr[0] is 1, not 0");
  EXPECT_EQ(error_of(2, 2, {0, 1, 3}, {0, 1}, {1, 2}), "row_ptr ends at 3, but there are 2 nonzeros");
  EXPECT_EQ(error_of(3, 2, {0, 2, 1, 2}, {0, 1}, {1, 2}), "row_ptr decreases at row 1: 2, then 1");
  EXPECT_EQ(error_of(3, 2, {0, 5, 5, 2}, {0, 1}, {1, 2}), "row_ptr decreases at row 0: 0, then 5");
  EXPECT_EQ(error_of(2, 2, {0, 1, 2}, {0, 2}, {1, 2}), "column 2 of nonzero 1 is not in [0, 2)");
  EXPECT_EQ(error_of(2, 2, {0, 1, 2}, {-1, 0}, {1, 2}), "column -1 of nonzero 0 is not in [0, 2)");
  EXPECT_NE(error_of(-1, 2, {}, {}, {}), "");
}

TEST(Matrix, NarrowsOffsetsThatFit) {
  const std::vector<std::int64_t> row_ptr{0, 1, 3};
  const auto matrix = Matrix<double>::from_csr(2, 3, row_ptr, Columns{0, 1, 2}, Values{1, 2, 3});
  EXPECT_FALSE(data_of(matrix).on({}).wide());
  EXPECT_EQ(std::get<0>(data_of(matrix).on({}).row_ptr)[2], 3);
}

TEST(Matrix, BorrowsOrCopies) {
  const Offsets row_ptr{0, 1, 2};
  const Columns columns{0, 1};
  Values values{1, 2};
  const auto copied = Matrix<double>::from_csr(2, 2, row_ptr, columns, values);
  auto borrowed = Matrix<double>::from_csr(2, 2, row_ptr, columns, values, Ownership::borrow);
  values[0] = 7;
  EXPECT_EQ(data_of(copied).on({}).values[0], 1);
  EXPECT_EQ(data_of(borrowed).on({}).values, values.data());
  const Values other{5, 6};
  borrowed.update_values(other);
  EXPECT_EQ(data_of(borrowed).on({}).values, other.data());
}

TEST(Matrix, TakesWideColumnsThatFit) {
  const Offsets row_ptr{0, 1, 3};
  const std::vector<std::int64_t> wide{2, 0, 1};
  for (const auto ownership : {Ownership::copy, Ownership::borrow}) {
    const auto matrix = Matrix<double>::from_csr(2, 3, row_ptr, wide, Values{1, 2, 3}, ownership);
    const auto* columns = data_of(matrix).on({}).col_idx;
    EXPECT_EQ(std::vector<std::int32_t>(columns, columns + 3), (Columns{2, 0, 1}));
  }
  for (const std::int64_t column : {std::int64_t{-1}, std::int64_t{3}, std::int64_t{1} << 32, std::int64_t{-1} << 32}) {
    const std::vector<std::int64_t> bad{2, column, 1};
    EXPECT_THROW(Matrix<double>::from_csr(2, 3, row_ptr, bad, Values{1, 2, 3}), InvalidArgument) << column;
  }
}

TEST(Attachments, AreFoundByTheirOwner) {
  Attachments attachments;
  const int one = 0;
  const int other = 0;
  const auto note = std::make_shared<int>(7);
  attachments.put(&one, note);
  EXPECT_EQ(attachments.find(&one), note);
  EXPECT_EQ(attachments.find(&other), nullptr);
  const auto next = std::make_shared<int>(8);
  attachments.put(&one, next);
  EXPECT_EQ(attachments.find(&one), next);
  EXPECT_EQ(note.use_count(), 1);
  attachments.drop(&one);
  EXPECT_EQ(attachments.find(&one), nullptr);
  EXPECT_EQ(attachments.size(), 0U);
}

// Notes what it is told, and refuses where it shall.
class Follower final : public ValuesObserver<double> {
 public:
  explicit Follower(std::string* told, bool refuses = false) : told_(told), refuses_(refuses) {}
  [[nodiscard]] Place place() const override { return {}; }
  [[nodiscard]] bool takes_any_values() const override { return true; }
  void drain() override { *told_ += 'd'; }
  void prepare(const CsrView<double>& next, Stream /*stream*/) override {
    *told_ += 'p';
    next_ = next.values[0];
    if (refuses_) throw InvalidArgument("no");
  }
  void abandon(const CsrView<double>& former, Stream /*stream*/) override {
    *told_ += 'a';
    next_ = former.values[0];
  }
  void commit(const CsrView<double>& next, Stream /*stream*/) override {
    *told_ += 'c';
    EXPECT_EQ(next.values[0], next_);
  }
  [[nodiscard]] double next() const { return next_; }

 private:
  std::string* told_;
  bool refuses_;
  double next_ = 0;
};

TEST(Matrix, TellsWhoFollowsItsValues) {
  auto matrix = Matrix<double>::from_csr(1, 1, Offsets{0, 1}, Columns{0}, Values{1});
  std::string told;
  auto follower = std::make_shared<Follower>(&told);
  data_of(matrix).add_observer(follower);
  matrix.update_values(Values{2});
  EXPECT_EQ(told, "dpc");
  EXPECT_EQ(data_of(matrix).on({}).values[0], 2);
  follower.reset();
  matrix.update_values(Values{3});
  EXPECT_EQ(told, "dpc") << "it is gone";
}

TEST(Matrix, AnUpdateThatThrowsLeavesTheOldValuesEverywhere) {
  auto matrix = Matrix<double>::from_csr(1, 1, Offsets{0, 1}, Columns{0}, Values{1});
  std::string told;
  const auto takes = std::make_shared<Follower>(&told);
  const auto refuses = std::make_shared<Follower>(&told, true);
  data_of(matrix).add_observer(takes);
  data_of(matrix).add_observer(refuses);
  EXPECT_THROW(matrix.update_values(Values{2}), InvalidArgument);
  EXPECT_EQ(told, "ddppaa");
  EXPECT_EQ(takes->next(), 1);
  EXPECT_EQ(data_of(matrix).on({}).values[0], 1);
}

Fingerprint fingerprint(std::int64_t rows, std::int64_t cols, const Offsets& row_ptr, const Columns& columns) {
  const auto matrix = Matrix<double>::from_csr(rows, cols, row_ptr, columns, Values(columns.size(), 1.0));
  return data_of(matrix).fingerprint();
}

TEST(Fingerprint, SeesEveryChangeOfThePatternAndNoneOfTheValues) {
  const auto base = fingerprint(3, 4, {0, 2, 3, 5}, {0, 1, 2, 0, 3});
  EXPECT_EQ(base, fingerprint(3, 4, {0, 2, 3, 5}, {0, 1, 2, 0, 3}));
  EXPECT_NE(base, fingerprint(3, 5, {0, 2, 3, 5}, {0, 1, 2, 0, 3}));
  EXPECT_NE(base, fingerprint(3, 4, {0, 1, 3, 5}, {0, 1, 2, 0, 3}));
  EXPECT_NE(base, fingerprint(3, 4, {0, 2, 3, 5}, {1, 0, 2, 0, 3})) << "the order of the columns counts";
  EXPECT_NE(base, fingerprint(3, 4, {0, 2, 3, 5}, {0, 1, 2, 0, 2}));
  EXPECT_NE(base, fingerprint(3, 4, {0, 2, 3, 4}, {0, 1, 2, 0}));
  const auto other =
      Matrix<float>::from_csr(3, 4, Offsets{0, 2, 3, 5}, Columns{0, 1, 2, 0, 3}, std::vector<float>{9, 8, 7, 6, 5});
  EXPECT_EQ(base, data_of(other).fingerprint());
}

TEST(Fingerprint, IsTheSameForNarrowAndWideOffsets) {
  const std::vector<std::int64_t> wide{0, 2, 3, 5};
  const Offsets narrow{0, 2, 3, 5};
  const Columns columns{0, 1, 2, 0, 3};
  const Values values(5, 1.0);
  const CsrView<double> a{3, 4, 5, wide.data(), columns.data(), values.data()};
  const CsrView<double> b{3, 4, 5, narrow.data(), columns.data(), values.data()};
  EXPECT_EQ(fingerprint_of(a, {}), fingerprint_of(b, {}));
}

TEST(Fingerprint, TextRoundTrips) {
  const Fingerprint print{0x0123456789abcdefULL, 0xfULL};
  EXPECT_EQ(print.text(), "0123456789abcdef000000000000000f");
  EXPECT_EQ(Fingerprint::parse(print.text()), print);
  EXPECT_EQ(Fingerprint::parse("0123"), std::nullopt);
  EXPECT_EQ(Fingerprint::parse("g123456789abcdef000000000000000f"), std::nullopt);
}

// Two patterns that differ in one column must differ in about half of the bits of their fingerprints.
TEST(Fingerprint, ChangesHalfOfItsBits) {
  auto source = generate<double>("gen:pde:6");
  const auto before = fingerprint_of(source.view(), {});
  int flipped = 0;
  for (int k = 0; k < 100; ++k) {
    auto changed = source;
    changed.col_idx[static_cast<std::size_t>(k)] ^= 1;
    const auto after = fingerprint_of(changed.view(), {});
    flipped += __builtin_popcountll(before.high ^ after.high) + __builtin_popcountll(before.low ^ after.low);
  }
  EXPECT_NEAR(flipped / 100.0, 64, 6);
}

TEST(Params, TextRoundTripsAndRejectsNoise) {
  const Params params{{"T", 4}, {"block", 256}};
  EXPECT_EQ(params.text(), "T=4 block=256");
  EXPECT_EQ(Params::parse("T=4 block=256"), params);
  EXPECT_EQ(Params::parse(""), Params{});
  for (const auto* noise : {"T", "T=", "=4", "T=4x", "T=4  block=2", "T=4 T=4", "T=99999999999999999999", "a\tb=1",
                            "a-b=1", "\xff=1", "a_name_that_goes_on_and_on_and_on=1"}) {
    EXPECT_EQ(Params::parse(noise), std::nullopt) << noise;
  }
  EXPECT_THROW(static_cast<void>(params["sigma"]), InvalidArgument);
}

// In a process of its own, for names stay.
TEST(Params, TakeNoMoreMemoryForWhatIsRead) {
  const auto read_many = [] {
    const Params params{{"T", 4}};
    int taken = 0;
    for (int i = 0; i < 100'000; ++i) taken += Params::parse("junk" + std::to_string(i) + "=1") ? 1 : 0;
    const bool known_still = Params::parse("T=4") == params && Params::parse("junk0=1");
    std::_Exit(known_still && taken > 1000 && taken < 10'000 ? 0 : 1);
  };
  EXPECT_EXIT(read_many(), testing::ExitedWithCode(0), "");
}

TEST(Params, HashAlikeWhereEqual) {
  Params params{{"T", 4}};
  params.set("S", 2);
  EXPECT_EQ(Params::Hash{}(params), Params::Hash{}({{"S", 2}, {"T", 4}}));
  EXPECT_NE(Params::Hash{}(params), Params::Hash{}({{"S", 4}, {"T", 2}}));
}

TEST(Params, AreOrderedByNameThenValue) {
  Params params{{"b", 2}, {"a", 9}};
  EXPECT_EQ(params, (Params{{"a", 9}, {"b", 2}}));
  EXPECT_LT(params, (Params{{"a", 10}, {"b", 1}}));
  EXPECT_LT(params, (Params{{"a", 9}, {"b", 2}, {"c", 0}}));
  EXPECT_LT((Params{{"a", 99}}), (Params{{"b", 1}}));
  params.set("a", 3);
  EXPECT_EQ(params.text(), "a=3 b=2");
}

TEST(Params, AreNoMoreThanThereIsRoomFor) {
  Params params;
  std::string text;
  for (std::size_t i = 0; i < Params::most; ++i) {
    params.set(std::string(1, static_cast<char>('a' + i)), 1);
    text = params.text();
  }
  EXPECT_EQ(Params::parse(text), params);
  EXPECT_THROW(params.set("one more", 1), InvalidArgument);
  EXPECT_EQ(params.text(), text) << "as it was";
  params.set("a", 2);
  EXPECT_EQ(params["a"], 2);
  EXPECT_EQ(Params::parse(text + " z=1"), std::nullopt);
}

TEST(ParamSpace, CombinesItsAxes) {
  const ParamSpace space{{"a", {1, 2}}, {"b", {3, 4, 5}}};
  const auto all = space.combinations();
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[0].text(), "a=1 b=3");
  EXPECT_EQ(all[5].text(), "a=2 b=5");
  EXPECT_EQ(ParamSpace{}.combinations().size(), 1U);
}

TEST(ParamSpace, TellsWhatIsLikelyFromAllThereIs) {
  const ParamSpace space{{"a", {1}, {2}}, {"b", {3, 4}, {5}}};
  const auto all = space.combinations(Choices::all);
  ASSERT_EQ(all.size(), 6U);
  EXPECT_EQ(all[2].text(), "a=1 b=5");
  EXPECT_EQ(all[3].text(), "a=2 b=3");
  const auto likely = space.combinations(Choices::likely);
  ASSERT_EQ(likely.size(), 2U);
  EXPECT_EQ(likely[0].text(), "a=1 b=3");
  EXPECT_EQ(likely[1].text(), "a=1 b=4");
}

TEST(Random, IsUniformSignedAndRepeatable) {
  double sum = 0;
  for (std::uint64_t i = 0; i < 10000; ++i) {
    const double value = random_value(1, i);
    EXPECT_GE(std::fabs(value), 0.5);
    EXPECT_LT(std::fabs(value), 1);
    sum += value;
  }
  EXPECT_LT(std::fabs(sum) / 10000, 0.03);
  EXPECT_EQ(random_bits(3, 4), random_bits(3, 4));
  EXPECT_NE(random_bits(3, 4), random_bits(4, 3));
}

TEST(Array, OwnsAndMoves) {
  const Values source{1, 2, 3};
  auto array = Array<double>::copy_of(source, {});
  const auto* data = array.data();
  const Array<double> moved = std::move(array);
  EXPECT_EQ(moved.data(), data);
  EXPECT_EQ(moved.to_vector(), source);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data) % 256, 0U);
}

}  // namespace
}  // namespace autospmv
