#include "core/verify/long_rows.hpp"

#include <algorithm>
#include <functional>

#include "core/cuda/reference.hpp"
#include "core/machine/array.hpp"

namespace autospmv {

namespace {

// Those whose columns increase have none twice; of the others it is not known.
template <class T>
std::vector<LongRow> find_long_rows(const CsrView<T>& matrix, std::int64_t least, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return cuda::find_long_rows(matrix, least, place);
  }
  std::vector<LongRow> found;
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      const std::int64_t length = row_ptr[row + 1] - row_ptr[row];
      if (length <= least) continue;
      const auto* first = matrix.col_idx + row_ptr[row];
      const auto* last = first + length;
      const bool increase = std::adjacent_find(first, last, std::greater_equal<>()) == last;
      found.push_back({row, row_ptr[row], length, increase ? 1 : 0});
    }
  });
  return found;
}

// How often each column occurs in one row after another.
class Occurrences {
 public:
  explicit Occurrences(std::int64_t cols) : counts_(static_cast<std::size_t>(cols), 0) {}

  std::int64_t most(const std::vector<std::int32_t>& columns) {
    std::int32_t most = 0;
    for (const auto column : columns) most = std::max(most, ++counts_[static_cast<std::size_t>(column)]);
    for (const auto column : columns) counts_[static_cast<std::size_t>(column)] = 0;
    return most;
  }

 private:
  std::vector<std::int32_t> counts_;
};

}  // namespace

template <class T>
std::vector<LongRow> long_rows(const CsrView<T>& matrix, std::int64_t least, Place place) {
  if (matrix.nnz <= least) return {};
  auto rows = find_long_rows(matrix, least, place);
  const auto is_known = [](const LongRow& row) { return row.repeats > 0; };
  if (std::all_of(rows.begin(), rows.end(), is_known)) return rows;
  Occurrences occurrences(matrix.cols);
  const auto stream = setup_stream(place);
  for (auto& row : rows) {
    if (is_known(row)) continue;
    std::vector<std::int32_t> columns(static_cast<std::size_t>(row.length));
    copy_bytes(columns.data(), matrix.col_idx + row.first, columns.size() * sizeof(std::int32_t), place, stream);
    synchronize(place, stream);
    row.repeats = occurrences.most(columns);
  }
  return rows;
}

template std::vector<LongRow> long_rows(const CsrView<float>&, std::int64_t, Place);
template std::vector<LongRow> long_rows(const CsrView<double>&, std::int64_t, Place);

}  // namespace autospmv
