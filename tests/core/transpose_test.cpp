// Transposed matrices: their arrays, and how their values follow.
#include "core/matrix/transpose.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "io/generators.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"
#include "tests/threads.hpp"

namespace autospmv::testing {
namespace {

/// A matrix's arrays on the host.
template <class T>
struct Arrays {
  std::vector<std::int64_t> row_ptr;
  std::vector<std::int32_t> col_idx;
  std::vector<T> values;

  friend bool operator==(const Arrays&, const Arrays&) = default;
};

template <class V>
std::vector<V> on_host(const V* data, std::int64_t size, Place place) {
  std::vector<V> copy(static_cast<std::size_t>(size));
  copy_bytes(copy.data(), data, copy.size() * sizeof(V), place, setup_stream(place));
  synchronize(place, setup_stream(place));
  return copy;
}

template <class T>
Arrays<T> arrays_of(const MatrixData<T>& matrix) {
  const auto view = matrix.on(matrix.home());
  const auto row_ptr = with_offsets(view.row_ptr, [&](const auto* offsets) {
    const auto narrow = on_host(offsets, view.rows + 1, matrix.home());
    return std::vector<std::int64_t>(narrow.begin(), narrow.end());
  });
  return {row_ptr, on_host(view.col_idx, view.nnz, matrix.home()), on_host(view.values, view.nnz, matrix.home())};
}

// One nonzero after the other, as one would by hand.
template <class T>
Arrays<T> transposed_by_hand(const HostCsr<T>& matrix, const std::vector<T>& values) {
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(matrix.cols));
  std::vector<std::vector<T>> values_of(rows.size());
  for (std::size_t row = 0; row + 1 < matrix.row_ptr.size(); ++row) {
    for (auto k = static_cast<std::size_t>(matrix.row_ptr[row]); static_cast<std::int64_t>(k) < matrix.row_ptr[row + 1];
         ++k) {
      rows[static_cast<std::size_t>(matrix.col_idx[k])].push_back(static_cast<std::int32_t>(row));
      values_of[static_cast<std::size_t>(matrix.col_idx[k])].push_back(values[k]);
    }
  }
  Arrays<T> transposed{{0}, {}, {}};
  for (std::size_t column = 0; column < rows.size(); ++column) {
    transposed.col_idx.insert(transposed.col_idx.end(), rows[column].begin(), rows[column].end());
    transposed.values.insert(transposed.values.end(), values_of[column].begin(), values_of[column].end());
    transposed.row_ptr.push_back(static_cast<std::int64_t>(transposed.col_idx.size()));
  }
  return transposed;
}

template <class T>
Matrix<T> matrix_of(const HostCsr<T>& source, Ownership ownership = Ownership::copy) {
  return Matrix<T>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, source.values, ownership);
}

template <class T>
std::shared_ptr<const MatrixData<T>> transposed(const Matrix<T>& matrix, Place place) {
  return MatrixData<T>::transposed(detail::Access::state_of(matrix)->data, place);
}

template <class T>
class Transposed : public ::testing::Test {};
using ValueTypes = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Transposed, ValueTypes);

TYPED_TEST(Transposed, HasTheArraysThatOneWouldWriteByHand) {
  using T = TypeParam;
  for (const auto& scenario : scenarios<T>()) {
    SCOPED_TRACE(scenario.name);
    const auto source = scenario.make();
    const auto matrix = matrix_of(source);
    const auto expected = transposed_by_hand(source, source.values);
    for (const auto& device : devices()) {
      for (const int threads : {1, 2, 5}) {
        const Threads set(threads);
        const auto made = transposed(matrix, device);
        EXPECT_EQ(made->rows(), source.cols);
        EXPECT_EQ(made->cols(), source.rows);
        EXPECT_EQ(made->operation(), Operation::transposed);
        EXPECT_TRUE(arrays_of(*made) == expected) << name_of(device.backend) << ", " << threads << " threads";
      }
    }
  }
}

// More shares than one count their nonzeros only where these are many times the columns.
TEST(TransposedPattern, IsTheSameForAnyNumberOfThreads) {
  const auto source = generate<double>("gen:dense:300:400");
  const Threads one(1);
  const auto alone =
      transpose(source.rows, source.cols, source.nnz(), source.row_ptr.data(), source.col_idx.data(), {});
  const Threads many(7);
  const auto shared =
      transpose(source.rows, source.cols, source.nnz(), source.row_ptr.data(), source.col_idx.data(), {});
  EXPECT_EQ(alone.narrow_offsets.to_vector(), shared.narrow_offsets.to_vector());
  EXPECT_EQ(alone.col_idx.to_vector(), shared.col_idx.to_vector());
  EXPECT_EQ(alone.source.to_vector(), shared.source.to_vector());
}

TEST(TransposedMatrix, SharesASymmetricPattern) {
  for (const auto& device : devices()) {
    const auto symmetric = matrix_of(generate<double>("gen:grid2d:30"));
    const auto of_symmetric = transposed(symmetric, device);
    EXPECT_FALSE(of_symmetric->has_own_pattern());
    EXPECT_EQ(of_symmetric->on(device).col_idx, data_of(symmetric).on(device).col_idx);
    EXPECT_EQ(of_symmetric->fingerprint(), data_of(symmetric).fingerprint());
    const auto other = matrix_of(generate<double>("gen:rmat:8"));
    const auto of_other = transposed(other, device);
    EXPECT_TRUE(of_other->has_own_pattern());
    EXPECT_NE(of_other->fingerprint(), data_of(other).fingerprint());
  }
}

TEST(TransposedMatrix, IsMadeOnceAndGoesWithItsLastUser) {
  const auto matrix = matrix_of(generate<double>("gen:rmat:6"));
  auto one = transposed(matrix, Place{});
  EXPECT_EQ(transposed(matrix, Place{}), one);
  const std::weak_ptr<const MatrixData<double>> watched = one;
  one.reset();
  EXPECT_TRUE(watched.expired());
}

TEST(TransposedMatrix, OutlivesTheHandleOfTheMatrix) {
  const auto source = generate<double>("gen:grid2d:9");
  std::shared_ptr<const MatrixData<double>> kept;
  {
    const auto matrix = matrix_of(source);
    kept = transposed(matrix, Place{});
  }
  EXPECT_TRUE(arrays_of(*kept) == transposed_by_hand(source, source.values));
}

TYPED_TEST(Transposed, FollowsUpdates) {
  using T = TypeParam;
  const auto source = generate<T>("gen:circuit:500");
  auto twice = source.values;
  for (auto& value : twice) value *= 2;
  std::vector<T> numbered(source.values.size());
  std::iota(numbered.begin(), numbered.end(), T{1});
  for (const auto ownership : {Ownership::copy, Ownership::borrow}) {
    for (const auto& device : devices()) {
      auto matrix = matrix_of(source, ownership);
      const auto on_device = transposed(matrix, device);
      const auto on_the_host = transposed(matrix, Place{});
      for (const auto& values : {twice, numbered, source.values}) {
        matrix.update_values(values);
        synchronize(device);
        const auto expected = transposed_by_hand(source, values);
        EXPECT_TRUE(arrays_of(*on_device) == expected) << name_of(device.backend);
        EXPECT_TRUE(arrays_of(*on_the_host) == expected) << name_of(device.backend);
      }
    }
  }
}

// Refuses every update.
class Refuser final : public ValuesObserver<double> {
 public:
  explicit Refuser(Place place) : place_(place) {}
  [[nodiscard]] Place place() const override { return place_; }
  [[nodiscard]] bool takes_any_values() const override { return false; }
  void drain() override {}
  void prepare(const CsrView<double>& /*next*/, Stream /*stream*/) override { throw InvalidArgument("no"); }
  void abandon(const CsrView<double>& /*former*/, Stream /*stream*/) override {}
  void commit(const CsrView<double>& /*next*/, Stream /*stream*/) override { FAIL() << "it was refused"; }

 private:
  Place place_;
};

TEST(TransposedMatrix, ThatRefusesAnUpdateLeavesTheOldValuesEverywhere) {
  for (const auto& device : devices()) {
    const auto source = generate<double>("gen:rmat:6");
    auto matrix = matrix_of(source);
    const auto made = transposed(matrix, device);
    const auto refuser = std::make_shared<Refuser>(device);
    made->add_observer(refuser);
    EXPECT_THROW(matrix.update_values(std::vector<double>(source.values.size(), 7.0)), InvalidArgument);
    synchronize(device);
    EXPECT_TRUE(arrays_of(*made) == transposed_by_hand(source, source.values));
    EXPECT_EQ(on_host(data_of(matrix).on({}).values, source.nnz(), {}), source.values);
  }
}

}  // namespace
}  // namespace autospmv::testing
