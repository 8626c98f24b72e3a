// What formats by columns have in common when they refuse and predict.
#pragma once

#include <algorithm>
#include <limits>
#include <optional>

#include "core/matrix/csr.hpp"
#include "features/features.hpp"
#include "formats/common/predict/rules.hpp"

namespace autospmv::formats {

/// The sources of entries are numbers of 32 bits.
inline std::optional<Refusal> refuse_nonzeros(std::int64_t nnz) {
  if (nnz <= std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return Refusal{"size: nonzeros are numbered in 32 bits"};
}

/// Refuses storage of so many bytes, and a conversion to it that does not fit beside it.
template <class T>
std::optional<Refusal> refuse_conversion(const CsrView<T>& matrix, double bytes, const Device& device) {
  if (auto refusal = refuse_allocation(bytes, matrix, device)) return refusal;
  // On either backend it holds at most about this many bytes a nonzero beside what is stored in the end: rows, keys and
  // nonzeros, as they are and sorted, and the scratch of the sort.
  constexpr double conversion_bytes = 24;
  bytes += static_cast<double>(matrix.nnz) * conversion_bytes;
  if (has_free_memory(bytes, device)) return std::nullopt;
  return Refusal{"memory: " + megabytes(bytes) + " for the conversion are more than is free"};
}

/// What one product moves of storage of so many bytes: the nonzeros' sources stay where they are. The scaling passes
/// over y once more; on CUDA, an addition to y moves a sector of the cache, there and back, wherever its row is.
template <class T>
double bytes_by_columns(const Features& features, double storage_bytes, const Device& device) {
  constexpr double sector = 32;
  const auto nnz = static_cast<double>(features.nnz);
  const double bytes =
      storage_bytes - nnz * 4 + vector_bytes<T>(features) + 2 * static_cast<double>(features.rows) * sizeof(T);
  return device.backend == Backend::cuda ? bytes + nnz * sector : bytes;
}

/// CUDA: additions to one element of y wait for each other, about 1 ns each; everything else streams meanwhile.
inline double contention(const Features& features) {
  constexpr double streamed_meanwhile = 100;  // nonzeros
  return std::max(1.0, streamed_meanwhile * static_cast<double>(features.npr_max) /
                           std::max(1.0, static_cast<double>(features.nnz)));
}

}  // namespace autospmv::formats
