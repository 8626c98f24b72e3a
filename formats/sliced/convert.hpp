// The steps of a conversion to the sliced layout that depend on where it happens.
#pragma once

#include "formats/sliced/storage.hpp"

namespace autospmv::formats {

namespace host {

/// Rows ordered by decreasing length within each window, stably.
template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix, std::int64_t window);

/// chunks[s] = chunks of slice s: those of its longest row, which ends at the cap.
template <class T>
void count_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced);

/// Offsets from counts, in place; returns the total, which may be past what the offsets can hold.
std::int64_t scan_chunks(Array<std::int32_t>& chunks);

/// Writes the slots, not encoded, and the lengths. Without room for columns, it leaves them out.
template <class T>
void fill(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Array<std::int32_t>& columns, Array<T>& values);

template <class T>
void multiply(const SlicedMatrix<T>& sliced, T alpha, const T* x, T beta, T* y);

}  // namespace host

namespace cuda_steps {

template <class T>
Array<std::int32_t> sort_rows(const CsrView<T>& matrix, std::int64_t window, Place place, Stream stream);
template <class T>
void count_chunks(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Stream stream);
std::int64_t scan_chunks(Array<std::int32_t>& chunks, Stream stream);
template <class T>
void fill(const CsrView<T>& matrix, SlicedMatrix<T>& sliced, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream);
template <class T>
void multiply(const SlicedMatrix<T>& sliced, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace cuda_steps

}  // namespace autospmv::formats
