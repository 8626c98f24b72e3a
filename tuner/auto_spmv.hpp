// The product that callers call.
#pragma once

#include <span>
#include <type_traits>

#include "core/matrix.hpp"
#include "core/stream.hpp"
#include "tuner/context.hpp"
#include "tuner/plan.hpp"

namespace autospmv {

template <Scalar T>
struct SpmvOptions {
  T alpha = 1;
  T beta = 0;
  Stream stream = {};                ///< ignored by the host backend
  const Context* context = nullptr;  ///< none: Context::instance()
};

/// The plan of this matrix in this context: the attached one, or one made now, which may tune.
template <Scalar T>
std::shared_ptr<const Plan<T>> plan_for(const Matrix<T>& matrix, const Context& context);

namespace detail {
// T comes from the matrix alone, so that anything contiguous is taken as a vector.
template <class T>
using ConstVector = std::type_identity_t<std::span<const T>>;
template <class T>
using Vector = std::type_identity_t<std::span<T>>;
}  // namespace detail

/// y = alpha A x + beta y; x has cols elements, y rows, and they do not overlap. With beta = 0, y may hold anything.
///
/// The first call on a matrix makes its plan: from the database, or by trials. Every later call is the product and
/// nothing else: with vectors in the memory of the context's device it allocates nothing, waits for nothing, may come
/// from many threads and streams at once and may be captured into a CUDA graph. Vectors in host memory are accepted
/// on a CUDA device too; they are copied there and back, and the call returns when y is complete.
///
/// Throws InvalidArgument for lengths that do not fit.
template <Scalar T>
void auto_spmv(const Matrix<T>& matrix, detail::ConstVector<T> x, detail::Vector<T> y,
               const SpmvOptions<std::type_identity_t<T>>& options = {});

}  // namespace autospmv
