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
#include <memory>
#include <utility>

#include "core/array.hpp"
#include "core/csr.hpp"
#include "core/error.hpp"
#include "formats/common/encoding.hpp"
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

  [[nodiscard]] std::int64_t bytes() const {
    return row_order.bytes() + lengths.bytes() + starts.bytes() + columns.bytes() + values.bytes();
  }
};

/// Bytes of a layout with so many slots in all; also what one product reads of it.
template <class T>
double jagged_bytes(const JaggedLayout& layout, const Features& features, double slots) {
  const double bits = 32 + value_bits_of<T>(layout.value_bits);
  return slots * bits / 8 + static_cast<double>(features.rows) * 8 + static_cast<double>(features.npr_max) * 8;
}

/// Converts, or refuses storage that is too large. Complete when it returns.
template <class T>
Result<JaggedMatrix<T>> build_jagged(const CsrView<T>& matrix, const JaggedLayout& layout, const Device& device);

/// Takes the values of a matrix with the same pattern, in the order of the stream and in place; false where they do not
/// fit their encoding.
template <class T>
[[nodiscard]] bool refresh_jagged(JaggedMatrix<T>& jagged, const CsrView<T>& matrix, Place place, Stream stream);

template <class T>
void multiply_jagged(const JaggedMatrix<T>& jagged, T alpha, const T* x, T beta, T* y, Place place, Stream stream);

template <class T>
class JaggedOperator final : public Operator<T> {
 public:
  JaggedOperator(JaggedMatrix<T> jagged, Place place) : jagged_(std::move(jagged)), place_(place) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    multiply_jagged(jagged_, alpha, x, beta, y, place_, stream);
  }
  bool update_values(const CsrView<T>& matrix, Stream stream) override {
    return refresh_jagged(jagged_, matrix, place_, stream);
  }
  [[nodiscard]] bool takes_any_values() const override { return jagged_.values.in_full(); }
  [[nodiscard]] std::int64_t bytes() const override { return jagged_.bytes(); }

 private:
  JaggedMatrix<T> jagged_;
  Place place_;
};

/// What jad and pjds have in common: everything but `pad`.
template <class T>
class JaggedFormat : public Format<T> {
 public:
  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const final;
  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params, const Device& device) const final;
  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const final;

 protected:
  explicit JaggedFormat(std::int64_t pad) : pad_(pad) {}

 private:
  [[nodiscard]] JaggedLayout layout_of(const Params& params) const;

  std::int64_t pad_;
};

}  // namespace autospmv::formats
