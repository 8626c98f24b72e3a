// The steps of the jagged core that depend on where it happens.
#pragma once

#include "formats/jagged/storage.hpp"

namespace autospmv::formats {

namespace host {

/// Sets row_order, lengths and starts from the sorted rows; returns the slots.
template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, JaggedMatrix<T>& jagged);
template <class T>
void fill(const CsrView<T>& matrix, const JaggedMatrix<T>& jagged, Array<std::int32_t>& columns, Array<T>& values);
template <class T>
void multiply(const JaggedMatrix<T>& jagged, T alpha, const T* x, T beta, T* y);

}  // namespace host

namespace cuda_steps {

template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, JaggedMatrix<T>& jagged, Place place, Stream stream);
template <class T>
void fill(const CsrView<T>& matrix, const JaggedMatrix<T>& jagged, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream);
template <class T>
void multiply(const JaggedMatrix<T>& jagged, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace cuda_steps

}  // namespace autospmv::formats
