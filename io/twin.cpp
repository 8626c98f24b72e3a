#include "io/twin.hpp"

#include "core/error.hpp"
#include "io/twin/calibration.hpp"
#include "io/twin/columns.hpp"
#include "io/twin/lengths.hpp"

namespace autospmv {

namespace {

void check(std::int64_t cols, const TwinFeatures& features) {
  if (features.npr_mean > static_cast<double>(cols)) {
    throw InvalidArgument("a row has no more nonzeros than columns");
  }
  if (features.bandwidth > 1) throw InvalidArgument("a bandwidth is a share of the columns, at most 1");
  if (features.neighbours > 2) throw InvalidArgument("a nonzero has at most 2 neighbours");
  if (features.similarity > 1) throw InvalidArgument("a similarity is a share of the nonzeros, at most 1");
}

}  // namespace

TwinPattern make_twin(std::int64_t rows, std::int64_t cols, const TwinFeatures& features, std::uint64_t seed) {
  check(cols, features);
  const auto classes = twin::npr_classes(rows, cols, features);
  TwinPattern pattern{twin::make_row_ptr(rows, classes, features.similarity, ~seed), {}};
  const auto shape = twin::shape_for(cols, classes, pattern.row_ptr, features, seed);
  pattern.col_idx.resize(pattern.row_ptr.back());
  const twin::Blocks blocks(pattern.row_ptr);
  twin::for_each_block(blocks.count, [&](std::int64_t block) {
    const auto share = blocks.of(block);
    twin::make_rows(pattern.row_ptr, cols, shape, seed, share, pattern.col_idx.data() + pattern.row_ptr[share.first]);
  });
  return pattern;
}

}  // namespace autospmv
