// Row offsets of either width for kernels that convert: to ask at each for the width costs nothing beside the memory
// that they wait for, while a kernel for each width takes longer to load than small matrices take to convert.
#pragma once

#include <cstdint>
#include <variant>

#include "core/machine/host_device.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv::formats {

class AnyOffsets {
 public:
  explicit AnyOffsets(const RowOffsets& offsets) {
    if (const auto* narrow = std::get_if<const std::int32_t*>(&offsets)) {
      narrow_ = *narrow;
    } else {
      wide_ = std::get<const std::int64_t*>(offsets);
    }
  }

  AUTOSPMV_HD std::int64_t operator[](std::int64_t row) const { return narrow_ != nullptr ? narrow_[row] : wide_[row]; }

 private:
  const std::int32_t* narrow_ = nullptr;
  const std::int64_t* wide_ = nullptr;
};

}  // namespace autospmv::formats
