// What the formats in groups of lanes have in common: everything but how many lanes a row takes.
#pragma once

#include "formats/lanes/storage.hpp"

namespace autospmv::formats {

template <class T>
class LanesFormat : public Format<T> {
 public:
  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const final;
  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const final;

 protected:
  /// Of parameters that are all there and allowed.
  [[nodiscard]] virtual LaneClasses classes_of(const Params& params, std::int64_t nnz, const Device& device) const = 0;
  /// Why a matrix is refused in which no row takes more than a lane.
  [[nodiscard]] virtual const char* why_no_row_is_shared() const = 0;
};

}  // namespace autospmv::formats
