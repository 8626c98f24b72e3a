// Products of CSR by row blocks. The products of a block's nonzeros are staged where its threads can all see them, read
// in the order of memory whatever the rows' lengths; then the rows are summed from there.
//
//   rows         a b c | d e | f        block of three rows
//   staged       ax bx cx dx ex fx      thread 0 writes ax, thread 1 bx, ...: every load is coalesced
//   y            ax + bx + cx, dx + ex, fx     as many threads a row as there are for each, their sums by shuffles
//
// On CUDA,
// - staged products lie in shared memory with a gap after every 128 bytes, so that rows of equal length do not begin in
//   the same bank;
// - a row much longer than its block's others is summed by a warp;
// - a row that is alone in its block is summed by all of its threads, in registers;
// - a row that is cut into parts leaves a sum a part, and whichever block comes last adds them up in their order: one
//   launch, and the same bits every time. Only such matrices need scratch memory, and products then take turns.
// On the host a thread stages the products of a block in its cache, and sums of parts are added after the parallel
// loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "core/machine/array.hpp"
#include "core/machine/on_backend.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/common/kernels/row_parts.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/streams/scratch.hpp"
#include "formats/format.hpp"
#include "formats/staged/row_blocks.hpp"

namespace autospmv::formats {

/// Where a staged product lies, with the gaps.
template <class T>
AUTOSPMV_HD inline int staged_slot(int entry) {
  constexpr int line = 128 / static_cast<int>(sizeof(T));
  return entry + entry / line;
}

/// Shared memory of a block that stages so many products, in bytes.
template <class T>
AUTOSPMV_HD inline int staged_bytes(std::int64_t entries) {
  return (staged_slot<T>(static_cast<int>(entries)) + 1) * static_cast<int>(sizeof(T));
}

struct StagedRows {
  int block = 256;    ///< CUDA: threads a block, a power of two from 32 to 1024
  bool wide = false;  ///< CUDA: values in full are read 16 bytes a thread, where the arrays are aligned to that
};

/// Most products that a block of the host stages: they share a core's cache with the matrix.
inline constexpr std::int64_t most_staged_on_host = 4096;

template <class T>
void multiply_staged_rows_host(const CsrView<T>& matrix, const RowBlocks& blocks, PartSums<T>& parts, T alpha,
                               const T* x, T beta, T* y);

/// `encoded` with full bits stands for the matrix' own values.
template <class T>
void multiply_staged_rows_cuda(const CsrView<T>& matrix, const EncodedValues<T>& encoded, const RowBlocks& blocks,
                               PartSums<T>& parts, const StagedRows& shape, T alpha, const T* x, T beta, T* y,
                               Stream stream);

/// Owns the blocks.
template <class T>
class StagedRowsOperator final : public CsrOperator<T> {
 public:
  StagedRowsOperator(const CsrView<T>& matrix, RowBlocks blocks, const StagedRows& shape, Place place)
      : CsrOperator<T>(matrix, place), blocks_(std::move(blocks)), shape_(shape) {
    if (!blocks_.split) return;
    parts_.emplace(place, [this] {
      return make_part_sums<T>(static_cast<std::size_t>(blocks_.count()), this->place_, setup_stream(this->place_));
    });
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    const auto product = [&](PartSums<T>& parts) { multiply(parts, alpha, x, beta, y, stream); };
    if (parts_) return parts_->use(stream, product);
    PartSums<T> none;
    product(none);
  }

  [[nodiscard]] std::int64_t bytes() const override {
    return blocks_.bytes() + (parts_ ? parts_->bytes() : 0) + this->values_.bytes();
  }

 private:
  void multiply(PartSums<T>& parts, T alpha, const T* x, T beta, T* y, [[maybe_unused]] Stream stream) const {
    on_backend(
        this->place_, [&] { multiply_staged_rows_host(this->matrix_, blocks_, parts, alpha, x, beta, y); },
        [&] {
          multiply_staged_rows_cuda(this->matrix_, this->values_, blocks_, parts, shape_, alpha, x, beta, y, stream);
        });
  }

  RowBlocks blocks_;
  std::optional<Scratch<PartSums<T>>> parts_;  ///< where rows are cut
  StagedRows shape_;
};

}  // namespace autospmv::formats
