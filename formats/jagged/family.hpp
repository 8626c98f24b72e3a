// What the formats of jagged diagonals have in common: everything but `pad`.
#pragma once

#include "formats/jagged/storage.hpp"

namespace autospmv::formats {

template <class T>
class JaggedFormat : public Format<T> {
 public:
  [[nodiscard]] ParamSpace params(const Features& features, const Device& device) const final;
  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const final;
  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const final;

 protected:
  explicit JaggedFormat(std::int64_t pad) : pad_(pad) {}

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const final;
  [[nodiscard]] JaggedLayout layout_of(const Params& params) const;

  std::int64_t pad_;
};

}  // namespace autospmv::formats
