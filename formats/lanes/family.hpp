// What the formats in groups of lanes have in common: everything but how many lanes a row takes.
#pragma once

#include <memory>
#include <vector>

#include "formats/common/predict/rules.hpp"
#include "formats/lanes/storage.hpp"

namespace autospmv::formats {

template <class T>
class LanesFormat : public Format<T> {
 public:
  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params, const Device& device) const final;
  [[nodiscard]] Result<std::unique_ptr<Operator<T>>> build(const CsrView<T>& matrix, const Params& params,
                                                           const Device& device) const final;

 protected:
  [[nodiscard]] virtual std::vector<Allowed> allowed() const = 0;
  /// Of parameters that are all there and allowed.
  [[nodiscard]] virtual LaneClasses classes_of(const Params& params, std::int64_t nnz, const Device& device) const = 0;
  /// Why a matrix is refused in which no row takes more than a lane.
  [[nodiscard]] virtual const char* why_no_row_is_shared() const = 0;
};

}  // namespace autospmv::formats
