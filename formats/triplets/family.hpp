// What formats that store the matrix as triplets (formats/triplets/storage.hpp) have in common: everything but how many
// entries make a share. Columns and values are those of CSR, in its order, where they are not encoded; the rows are
// stored beside them.
#pragma once

#include <cstdint>
#include <optional>

#include "core/machine/array.hpp"
#include "formats/format.hpp"
#include "formats/triplets/storage.hpp"

namespace autospmv::formats {

template <class T>
class TripletsFormat : public Format<T> {
 public:
  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const final;
  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const final;
  [[nodiscard]] bool deterministic(const Params& params, const Device& device) const final;
  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const final;

 protected:
  /// The format's own parameter, with the values that are worth trying; none: std::nullopt.
  [[nodiscard]] virtual std::optional<ParamSpace::Axis> own_param(const Features& features,
                                                                  const Device& device) const = 0;
  /// The same with all its values.
  [[nodiscard]] virtual std::optional<Allowed> whole_own_param(const Device& device) const = 0;
  /// Entries a share: a multiple of a warp on CUDA.
  [[nodiscard]] virtual std::int64_t share(const Params& params, std::int64_t entries, const Device& device) const = 0;

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const final;
  [[nodiscard]] Cut cut(const Params& params, std::int64_t entries, const Device& device) const;
};

}  // namespace autospmv::formats
