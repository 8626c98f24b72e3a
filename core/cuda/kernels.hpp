// The CUDA sides of core/verify/random.hpp, core/matrix/fingerprint.hpp, core/verify/equal.hpp and
// core/matrix/pattern_check.hpp.
#pragma once

#include <cstdint>

#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "core/matrix/fingerprint.hpp"
#include "core/matrix/pattern_check.hpp"
#include "core/verify/random.hpp"

namespace autospmv::cuda {

template <class T>
void fill_random(T* data, std::int64_t size, const RandomVector& vector, Place place, Stream stream);

Fingerprint fingerprint_of(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                           const std::int32_t* col_idx, Place place);

PatternFault find_fault(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                        const std::int32_t* col_idx, Place place);

/// narrow[i] = wide[i], for matrices whose offsets fit.
void narrow_offsets(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size, Stream stream);

/// The same for columns. Those that do not fit become numbers that no matrix has a column of: negative or 2^31 - 1.
void narrow_columns(const std::int64_t* wide, std::int32_t* narrow, std::int64_t size, Stream stream);

bool equal_bytes(const void* a, const void* b, std::size_t bytes, Place place);

}  // namespace autospmv::cuda
