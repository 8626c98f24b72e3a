// ELLPACK in groups of 32 lanes, the threads of a warp. Rows are sorted by length; a short row takes one lane, a longer
// one takes several neighbouring lanes of its group, which deal its entries out among them and add their sums up
// afterwards. A group is stored chunk by chunk, an entry for each lane, up to its own longest lane. Formats are this
// with their own rule of how many lanes a row of some length takes.
//
//   4 lanes a group, at most 4 entries a lane        lanes of rows   0 0 1 2
//   row 0: a b c d e f g                             chunk 0         a b h j
//   row 1: h i                                       chunk 1         c d i .
//   row 2: j                                         chunk 2         e f . .
//                                                    chunk 3         g . . .
//
// Padding is marked by column -1 and never takes part in a product. A group that has rows of one lane only is what
// ELL-WARP's first kernel has; a row that takes all lanes is stored in its own order, so that the few rows that are
// still too long for a warp can be read by all warps of a block.
#pragma once

#include <cstdint>

#include "core/array.hpp"
#include "core/csr.hpp"
#include "core/error.hpp"
#include "core/host_device.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

/// Lanes of a group.
inline constexpr int group_lanes = 32;

/// How many lanes a row takes: the fewest that leave each lane `height` entries at most. Class 0 is for rows that are
/// longer than all lanes of a group should take.
struct LaneClasses {
  static constexpr int most = 11;

  std::int64_t height = 1;
  int count = 0;
  int lanes[most] = {};  ///< decreasing: 32 for class 0, 32 for class 1, ..., 1 for the last

  [[nodiscard]] AUTOSPMV_HD int class_of(std::int64_t length) const {
    int narrowest = count - 1;
    while (narrowest > 0 && length > height * lanes[narrowest]) --narrowest;
    return narrowest;
  }
};

/// What is stored; every array lies in the memory of the place it was built at.
template <class T>
struct WarpEll {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t groups = 0;
  std::int64_t long_groups = 0;      ///< the first groups, of a single row each that wants a block of threads
  int block = 256;                   ///< CUDA: threads a block
  Array<std::int32_t> group_chunks;  ///< groups + 1 offsets, in chunks of 32 slots
  Array<std::int32_t> row_of_lane;   ///< 32 a group; -1 for a lane without a row
  Array<std::int32_t> columns;       ///< one a slot; -1 for padding
  Array<T> values;

  [[nodiscard]] std::int64_t chunks() const { return static_cast<std::int64_t>(values.size()) / group_lanes; }
  [[nodiscard]] std::int64_t bytes() const {
    return group_chunks.bytes() + row_of_lane.bytes() + columns.bytes() + values.bytes();
  }
};

/// What a product would cost, or why the storage is refused, from the histogram of row lengths.
template <class T>
Result<Cost> predict_warp_ell(const Features& features, const LaneClasses& classes, const Device& device);

/// Converts, or refuses storage that is too large. Complete when it returns.
template <class T>
Result<WarpEll<T>> build_warp_ell(const CsrView<T>& matrix, const LaneClasses& classes, const Device& device);

/// Takes the values of a matrix with the same pattern, in the order of the stream.
template <class T>
void refresh_warp_ell(WarpEll<T>& ell, const CsrView<T>& matrix, Place place, Stream stream);

template <class T>
void multiply_warp_ell(const WarpEll<T>& ell, T alpha, const T* x, T beta, T* y, Place place, Stream stream);

/// A format that is nothing but groups of lanes.
template <class T>
class WarpEllOperator final : public Operator<T> {
 public:
  WarpEllOperator(WarpEll<T> ell, Place place) : ell_(std::move(ell)), place_(place) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    multiply_warp_ell(ell_, alpha, x, beta, y, place_, stream);
  }
  bool update_values(const CsrView<T>& matrix, Stream stream) override {
    refresh_warp_ell(ell_, matrix, place_, stream);
    return true;
  }
  [[nodiscard]] std::int64_t bytes() const override { return ell_.bytes(); }

  /// Builds the operator of a format in one step.
  static Result<std::unique_ptr<Operator<T>>> make(const CsrView<T>& matrix, const LaneClasses& classes,
                                                   const Device& device) {
    auto ell = build_warp_ell(matrix, classes, device);
    if (!ell) return Refusal{ell.reason()};
    return std::unique_ptr<Operator<T>>(std::make_unique<WarpEllOperator>(std::move(*ell), device));
  }

 private:
  WarpEll<T> ell_;
  Place place_;
};

}  // namespace autospmv::formats
