// The two kinds of operators that most formats build: over a storage of their own, and over the arrays of the matrix.
#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "core/error.hpp"
#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "formats/common/encoding/encoding.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

/// The matrix as it was converted to a storage, which says what becomes of it. Storage<T> is moved in and has
///   void multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const     as Operator::apply()
///   bool refresh(const CsrView<T>& matrix, Place place, Stream stream)                     as update_values()
///   bool takes_any_values() const                       as there; a storage without it does
///   std::int64_t bytes() const                          of its arrays
template <template <class> class Storage, class T>
class StoredOperator final : public Operator<T> {
 public:
  StoredOperator(Storage<T> storage, Place place) : storage_(std::move(storage)), place_(place) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    storage_.multiply(alpha, x, beta, y, place_, stream);
  }
  bool update_values(const CsrView<T>& matrix, Stream stream) override {
    return storage_.refresh(matrix, place_, stream);
  }
  [[nodiscard]] bool takes_any_values() const override {
    if constexpr (requires { storage_.takes_any_values(); }) return storage_.takes_any_values();
    return true;
  }
  [[nodiscard]] std::int64_t bytes() const override { return storage_.bytes(); }

 private:
  Storage<T> storage_;
  Place place_;
};

template <template <class> class Storage, class T>
std::unique_ptr<Operator<T>> operator_of(Storage<T> storage, Place place) {
  return std::make_unique<StoredOperator<Storage, T>>(std::move(storage), place);
}

/// The operator of what was built, or why nothing was.
template <template <class> class Storage, class T>
Built<T> operator_or_refusal(Result<Storage<T>> built, Place place) {
  if (!built) return Refusal{built.reason()};
  return operator_of(std::move(*built), place);
}

/// Reads the arrays of the matrix where they are, but for values in fewer bits, which it owns.
template <class T>
class CsrOperator : public Operator<T> {
 public:
  /// Stores the values in so many bits; false where they need more. Waits for the stream where there is something to
  /// encode.
  [[nodiscard]] bool encode(int value_bits, Stream stream) {
    return encode_values_of(matrix_, values_, value_bits, place_, stream);
  }

  bool update_values(const CsrView<T>& matrix, Stream stream) final {
    matrix_ = matrix;
    return replace_values_of(matrix_, values_, place_, stream);
  }
  [[nodiscard]] bool takes_any_values() const final { return values_.in_full(); }
  [[nodiscard]] std::int64_t bytes() const override { return values_.bytes(); }

 protected:
  CsrOperator(const CsrView<T>& matrix, Place place) : matrix_(matrix), place_(place) {}

  CsrView<T> matrix_;
  Place place_;
  EncodedValues<T> values_;
};

/// Adds what such an operator stores of values in so many bits, and what a product reads of it instead of CSR's own.
template <class T>
void add_encoded_values(const Features& features, std::int64_t value_bits, Cost& cost) {
  if (value_bits >= full_value_bits<T>) return;
  const auto nnz = static_cast<double>(features.nnz);
  const double bytes = nnz * static_cast<double>(value_bits) / 8;
  cost.storage_bytes += bytes;
  cost.bytes += bytes - nnz * sizeof(T);
}

}  // namespace autospmv::formats
