#!/usr/bin/env python3
"""Solves A u = b by SciPy's conjugate gradients, with products by autospmv and by SciPy itself.

    conjugate_gradient.py MATRIX.mtx [TOLERANCE]

MATRIX.mtx is symmetric and positive definite; b is such that u is all ones. The first products tune while they
multiply, so the time includes finding the format.
"""

import sys
import time

import autospmv
import numpy as np
import scipy.io
import scipy.sparse as sp
from scipy.sparse.linalg import cg


def solve(A, b, tolerance):
    products = 0

    def count(_):
        nonlocal products
        products += 1

    start = time.perf_counter()
    u, _ = cg(A, b, rtol=tolerance, maxiter=20 * b.size, callback=count)
    return u, products, time.perf_counter() - start


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    S = sp.csr_array(scipy.io.mmread(sys.argv[1], spmatrix=False), dtype=float)
    tolerance = float(sys.argv[2]) if len(sys.argv) == 3 else 1e-8
    b = S @ np.ones(S.shape[0])
    A = autospmv.Matrix(S)
    for name, operator in (("SciPy", S), ("autospmv", autospmv.aslinearoperator(A))):
        u, products, seconds = solve(operator, b, tolerance)
        print(f"{name}: {products} iterations, {seconds:.3f} s, |u - 1| <= {abs(u - 1).max():.1e}")
    chosen = A.plan.choice
    print(f"chosen: {chosen.format} {chosen.parameters}")


if __name__ == "__main__":
    main()
