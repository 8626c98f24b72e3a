// autospmv: sparse matrix-vector products that tune themselves.
//
//     auto A = autospmv::Matrix<double>::from_csr(rows, cols, row_ptr, col_idx, values);
//     autospmv::auto_spmv(A, x, y);  // y = A x
#pragma once

#include "core/error.hpp"
#include "core/matrix.hpp"
#include "tuner/auto_spmv.hpp"
#include "tuner/context.hpp"
#include "tuner/tuner.hpp"
