// The steps of a conversion to the sliced layout that depend on where it happens.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "formats/sliced/storage.hpp"

namespace autospmv::formats {

namespace host {

/// Parts of equal work, one for each thread that multiplies: where each begins, a multiple of `whole` rows, and the
/// number of rows.
template <class T>
std::vector<std::int64_t> equal_parts(const CsrView<T>& matrix, std::int64_t whole);

/// Rows ordered by decreasing length, stably, within each window of each part.
template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix, std::int64_t window, std::span<const std::int64_t> parts);
/// All of them.
template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix);

/// chunks[s] = chunks of slice s: those of its longest row, which ends at the cap.
template <class T>
void count_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced);

/// Writes the lengths and the slots, into those arrays that have room for them; refuses what would be lost by so few
/// bits.
template <class T>
std::optional<Refusal> fill(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, EncodedColumns& columns,
                            EncodedValues<T>& values);
/// Writes the columns by chunk, of slices of 8 or 16 rows that are laid out; refuses what would be no shorter.
template <class T>
std::optional<Refusal> fill_column_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced);
/// The lengths and the values alone, in full.
template <class T>
void fill_values(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Array<T>& values);

template <class T>
void multiply(const SlicedMatrix<T>& sliced, T alpha, const T* x, T beta, T* y);

}  // namespace host

namespace cuda_steps {

template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix, std::int64_t window, Place place, Stream stream);
template <class T>
void count_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Stream stream);
/// Writes the slots, not encoded, and the lengths. Without room for columns, it leaves them out.
template <class T>
void fill(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream);
template <class T>
void multiply(const SlicedMatrix<T>& sliced, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace cuda_steps

}  // namespace autospmv::formats
