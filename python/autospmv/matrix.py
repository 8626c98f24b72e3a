"""Matrices that choose how they are multiplied."""

from __future__ import annotations

import functools
import math
import weakref

import numpy as np

from autospmv import _core
from autospmv.errors import InvalidArgument


@functools.lru_cache(maxsize=64)
def _context(**options):
    # Contexts are kept: each opens the database, and plans of one are no plans of another.
    return _core.make_context(**options)


def _arrays(source, shape):
    """indptr, indices, data and shape of CSR arrays, or of anything that SciPy makes CSR of."""
    if isinstance(source, tuple):
        if shape is None:
            raise TypeError("CSR arrays (data, indices, indptr) take shape=(rows, columns)")
        if len(source) != 3:
            raise TypeError("CSR arrays are three: (data, indices, indptr)")
        data, indices, indptr = (np.asarray(array) for array in source)
        return indptr, indices, data, shape
    if shape is not None:
        raise TypeError("shape goes with CSR arrays (data, indices, indptr) only")
    if not hasattr(source, "tocsr"):
        raise TypeError(
            "a matrix is made of a sparse matrix of SciPy or of (data, indices, indptr) with shape=, "
            f"not of {type(source).__name__}"
        )
    csr = source.tocsr()
    return csr.indptr, csr.indices, csr.data, csr.shape


def _integers(array, name, borrow):
    if array.dtype not in (np.int32, np.int64):
        if borrow or not np.issubdtype(array.dtype, np.integer):
            raise TypeError(f"{name} must be of int32 or int64, not {array.dtype}")
        array = array.astype(np.int64)
    return _contiguous(array, name, borrow)


def _values(array, name, borrow):
    if array.dtype not in (np.float32, np.float64):
        if borrow or np.issubdtype(array.dtype, np.complexfloating) or array.dtype == object:
            raise TypeError(f"{name} must be of float32 or float64, not {array.dtype}")
        array = array.astype(np.float64)
    return _contiguous(array, name, borrow)


def _contiguous(array, name, borrow):
    if borrow and not array.flags.c_contiguous:
        raise TypeError(f"{name} is not contiguous, and cannot be borrowed")
    return np.ascontiguousarray(array)


class Matrix:
    """A sparse matrix with a fixed pattern, of float32 or float64.

    S is a sparse matrix of SciPy, in any format, or CSR arrays (data, indices, indptr) with shape=. Its arrays are
    copied; with borrow=True they are relied on to stay as they are, and must be contiguous CSR of these types.

    The first product tunes, or finds in the database what an earlier process has learned; `effort` says how hard it
    looks: "online" (trials ride on the products, when these have paid for them), "measure", "exhaustive", "estimate" or
    "cached". The other options are limits: the products over which a format must pay off, seconds for trials, bytes of
    a format over those of the CSR arrays, and whether results must be the same bits from run to run. `device` is
    "host", "cuda" or "cuda:N"; `database` a file, or "memory" for none.

    A may be used from many threads at once.
    """

    # NumPy leaves `x @ A` and `x * A` to this class.
    __array_ufunc__ = None

    def __init__(
        self,
        S,
        *,
        shape=None,
        borrow=False,
        effort="online",
        expected_calls=1000,
        time_limit=math.inf,
        memory_factor=math.inf,
        deterministic=False,
        device=None,
        database=None,
    ):
        context = _context(
            effort=effort,
            expected_calls=expected_calls,
            time_limit=time_limit,
            memory_factor=memory_factor,
            deterministic=deterministic,
            device=device,
            database=None if database is None else str(database),
        )
        indptr, indices, data, shape = _arrays(S, shape)
        rows, cols = shape
        self._bind(
            _core.Matrix(
                rows,
                cols,
                _integers(indptr, "indptr", borrow),
                _integers(indices, "indices", borrow),
                _values(data, "data", borrow),
                borrow,
                context,
            )
        )

    def _bind(self, core, original=None):
        self._core = core
        self._transposed = None
        self._original = original
        self._product = core.product
        self.shape = (core.rows, core.cols)
        self.dtype = np.dtype(core.type)
        self.nnz = core.nnz

    ndim = 2

    def __repr__(self):
        return f"<autospmv.Matrix of {self.shape[0]} x {self.shape[1]}, {self.nnz} nonzeros, {self.dtype}>"

    def __matmul__(self, x):
        """A @ x for a vector, or for a matrix of columns."""
        try:
            return self._product(x)
        except TypeError:
            return self.matmat(x) if np.ndim(x) == 2 else self.matvec(x)

    def matvec(self, x, out=None):
        """A @ x, in `out` where it is given. x has shape (columns,) or (columns, 1)."""
        return _multiply(self._core, self.dtype, x, out)

    def rmatvec(self, x, out=None):
        """A.T @ x, in `out` where it is given."""
        return self.T.matvec(x, out)

    def matmat(self, X):
        """A @ X, column by column."""
        X = np.asarray(X)
        if X.ndim != 2:
            raise InvalidArgument(f"X has {X.ndim} dimensions, not 2")
        product = np.empty((self.shape[0], X.shape[1]), self.dtype, order="F")
        for j in range(X.shape[1]):
            self.matvec(X[:, j], out=product[:, j])
        return product

    def rmatmat(self, X):
        """A.T @ X, column by column."""
        return self.T.matmat(X)

    @property
    def T(self):
        """The matrix transposed: the same values, and plans of its own, made with its first product."""
        # Two that held each other would go with the next garbage collection only.
        original = self._original() if self._original is not None else None
        if original is not None:
            return original
        if self._transposed is None:
            self._transposed = object.__new__(Matrix)
            self._transposed._bind(self._core.transposed(), weakref.ref(self))
        return self._transposed

    # For SciPy: the matrix is real.
    adjoint = H = T

    def update_values(self, data):
        """New values for the same pattern, in the order of the CSR arrays that it was made of. Nothing is tuned again.

        A borrowing matrix refers to `data` from now on.
        """
        self._core.update_values(np.ascontiguousarray(data))

    def plan(self):
        """Finds the format now, not with the first product, and explains it."""
        self._core.make_plan()
        return self.explain()

    def explain(self):
        """Why products run as they do: print it, or read its members."""
        return self._core.explain()


def _multiply(core, dtype, x, out):
    x = np.asarray(x)
    if x.dtype != dtype:
        if not np.can_cast(x.dtype, dtype, "same_kind"):
            raise TypeError(f"x must be of {dtype}, not {x.dtype}")
        x = x.astype(dtype)
    column = x.ndim == 2 and x.shape[1] == 1
    x = np.ascontiguousarray(x.reshape(-1) if column else x)
    if out is None:
        y = core.product(x)
        return y.reshape(-1, 1) if column else y
    core.multiply(x, out)
    return out


def aslinearoperator(A):
    """A as an operator of SciPy, for its solvers."""
    from scipy.sparse.linalg import LinearOperator

    return LinearOperator(
        shape=A.shape, dtype=A.dtype, matvec=A.matvec, rmatvec=A.rmatvec, matmat=A.matmat, rmatmat=A.rmatmat
    )
