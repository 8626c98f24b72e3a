// What the formats in groups of lanes have in common: everything but how many lanes a row takes, and the parameters
// that say so.
#pragma once

#include "formats/lanes/storage.hpp"

namespace autospmv::formats {

template <class T>
class LanesFormat : public Format<T> {
 public:
  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const final;
  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const final;
  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const final;

 protected:
  using Axes = std::vector<ParamSpace::Axis>;

  /// Parameters besides the encodings, as params() and allowed() of a format.
  [[nodiscard]] virtual Axes own_params(const Features& /*features*/, const Device& /*device*/) const { return {}; }
  [[nodiscard]] virtual std::vector<Allowed> own_allowed() const { return {}; }
  /// Of parameters that are all there and allowed.
  [[nodiscard]] virtual LaneClasses classes_of(const Params& params, std::int64_t nnz, const Device& device) const = 0;
  /// Why a matrix is refused in which no row takes more than a lane.
  [[nodiscard]] virtual const char* why_no_row_is_shared() const = 0;

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const final;
  [[nodiscard]] LanesLayout layout_of(const Params& params, std::int64_t nnz, const Device& device) const;
};

}  // namespace autospmv::formats
