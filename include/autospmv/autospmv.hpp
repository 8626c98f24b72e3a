// autospmv: sparse matrix-vector products that tune themselves.
//
//     auto A = autospmv::Matrix<double>::from_csr(rows, cols, row_ptr, col_idx, values);
//     autospmv::auto_spmv(A, x, y);        // y = A x
//
//     auto plan = autospmv::make_plan(A);  // or with the tuning apart from the products
//     plan(x, y, {.alpha = 2, .beta = 1});
#pragma once

#include <optional>
#include <span>
#include <type_traits>

#include "autospmv/context.hpp"
#include "autospmv/error.hpp"
#include "autospmv/export.h"
#include "autospmv/matrix.hpp"
#include "autospmv/options.hpp"
#include "autospmv/plan.hpp"
#include "autospmv/stream.hpp"
#include "autospmv/types.hpp"
#include "autospmv/version.h"

namespace autospmv {

/// Of the library in use; AUTOSPMV_VERSION is that of the headers.
AUTOSPMV_API const char* version();

template <Scalar T>
struct SpmvOptions {
  T alpha = 1;
  T beta = 0;
  Stream stream = {};                 ///< as in ApplyOptions
  std::optional<Memory> memory = {};  ///< as in ApplyOptions
  const Context* context = nullptr;   ///< none: Context::instance()
  Operation op = Operation::plain;    ///< transposed: A^T in place of A; x has rows elements then, y cols
};

/// y = alpha A x + beta y, by the plan that the matrix keeps for this context and operation: made by the first call,
/// which may tune, and used by every later one. As Plan<T>::operator() otherwise.
template <Scalar T>
AUTOSPMV_API void auto_spmv(const Matrix<T>& matrix, std::type_identity_t<std::span<const T>> x,
                            std::type_identity_t<std::span<T>> y,
                            const SpmvOptions<std::type_identity_t<T>>& options = {});

/// That plan, made now if need be.
template <Scalar T>
AUTOSPMV_API Plan<T> kept_plan(const Matrix<T>& matrix, const Context& context = Context::instance(),
                               Operation op = Operation::plain);

/// Why products with this matrix run as they do.
template <Scalar T>
Explanation explain(const Matrix<T>& matrix, const Context& context = Context::instance(),
                    Operation op = Operation::plain) {
  return kept_plan(matrix, context, op).explain();
}

}  // namespace autospmv
