// The shape of columns that gives the features asked for.
#pragma once

#include <cstdint>
#include <span>

#include "io/twin.hpp"
#include "io/twin/columns.hpp"
#include "io/twin/lengths.hpp"

namespace autospmv::twin {

/// For rows of these lengths, which are those of the classes.
Shape shape_for(std::int64_t cols, std::span<const NprClass> classes, std::span<const std::int64_t> row_ptr,
                const TwinFeatures& features, std::uint64_t seed);

}  // namespace autospmv::twin
