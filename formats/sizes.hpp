// What a matrix takes as CSR, and how few bits its values need: what formats and the tuner ask of the features alike.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/error.hpp"
#include "core/matrix/csr.hpp"
#include "features/features.hpp"

namespace autospmv::formats {

/// Of the CSR arrays.
template <class T>
double csr_bytes(std::int64_t rows, std::int64_t nnz) {
  const double offset_bytes = nnz > max_narrow_nnz ? 8 : 4;
  return (static_cast<double>(rows) + 1) * offset_bytes + static_cast<double>(nnz) * (4 + sizeof(T));
}

/// x read once, y written once.
template <class T>
double vector_bytes(const Features& features) {
  return static_cast<double>(features.rows + features.cols) * sizeof(T);
}

template <class T>
inline constexpr int full_value_bits = 8 * static_cast<int>(sizeof(T));

/// Values of a dictionary, the +0.0 at its start not among them.
inline constexpr std::int64_t largest_dictionary = 255;

/// Why values cannot be stored in so many bits, going by the features.
template <class T>
std::optional<Refusal> refuse_value_bits(const Features& features, std::int64_t bits);

/// The fewest bits for these values, and those of T: what is worth trying.
template <class T>
std::vector<std::int64_t> value_bits_for(const Features& features);

}  // namespace autospmv::formats
