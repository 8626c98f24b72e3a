// How many nonzeros the rows of a twin have, and in which order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "io/twin.hpp"

namespace autospmv::twin {

/// So many rows of so many nonzeros.
struct NprClass {
  std::int64_t npr;
  std::int64_t count;
};

/// By ascending length. One row is of the longest length, and the rest makes up for it.
std::vector<NprClass> npr_classes(std::int64_t rows, std::int64_t cols, const TwinFeatures& features);

/// Neighbouring rows of a matrix of similar rows are about equally long, so its rows are dealt out by length in groups.
std::vector<std::int64_t> make_row_ptr(std::int64_t rows, std::span<const NprClass> classes, double similarity,
                                       std::uint64_t seed);

}  // namespace autospmv::twin
