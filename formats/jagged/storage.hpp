// The jagged core: rows sorted by decreasing length, their j-th entries side by side in jagged diagonal j, which is as
// long as there are rows of more than j entries, rounded up to a multiple of `pad` rows. With pad = 1 it is JAD and
// holds no padding at all; with pad = 32 it is pJDS, whose diagonals all begin where a warp's loads like.
//
//   a b .     rows 2 0 1     values  e a d | f b | g       lengths     3 2 1
//   d . .                            0       1     2       starts      0 3 5 6
//   e f g
//
// Thread p sums the slots starts[0] + p, starts[1] + p, ... of the row at position p, as many as the row has entries,
// so padding is never read.
#pragma once

#include <cstdint>

#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

struct JaggedLayout {
  std::int64_t pad = 1;  ///< rows that the length of a diagonal is a multiple of
  int block = 256;       ///< CUDA: threads a block
  int value_bits = 64;   ///< 0, 8, 32, or 64 for all of T
};

/// What is stored; every array lies in the memory of the place it was built at.
template <class T>
struct JaggedMatrix {
  JaggedLayout layout;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t slots = 0;
  Array<std::int32_t> row_order;  ///< row at each position
  Array<std::int32_t> lengths;    ///< of the row at each position, decreasing
  Array<std::int64_t> starts;     ///< first slot of each diagonal
  EncodedColumns columns;         ///< one a slot
  EncodedValues<T> values;

  // As formats/common/operators.hpp has it.
  void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const;
  [[nodiscard]] bool refresh(const CsrView<T>& matrix, Place place, Stream stream);
  [[nodiscard]] bool takes_any_values() const { return values.in_full(); }
  [[nodiscard]] std::int64_t bytes() const {
    return row_order.bytes() + lengths.bytes() + starts.bytes() + columns.bytes() + values.bytes();
  }
};

/// Converts, or refuses storage that is too large. Complete when it returns.
template <class T>
Result<JaggedMatrix<T>> build_jagged(const CsrView<T>& matrix, const JaggedLayout& layout, const Device& device);

}  // namespace autospmv::formats
