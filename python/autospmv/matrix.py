"""Matrices that choose how they are multiplied."""

from __future__ import annotations

import functools
import math
import os
import sys
import weakref
from typing import Any, Literal

import numpy as np

from autospmv import _core, cusparse
from autospmv.arrays import library_of
from autospmv.errors import InvalidArgument

_ndarray = np.ndarray
_INDICES = (np.dtype(np.int32), np.dtype(np.int64))
_VALUES = (np.dtype(np.float32), np.dtype(np.float64))


@functools.lru_cache(maxsize=64)
def _context(**options):
    # Contexts are kept: each opens the database, and plans of one are no plans of another.
    if options["device"] != "host":
        cusparse.load()
    return _core.make_context(**options)


def _arrays_of(source, shape):
    """indptr, indices, data and shape of CSR arrays, or of what CSR can be made of."""
    if isinstance(source, tuple):
        if shape is None:
            raise TypeError("CSR arrays (data, indices, indptr) take shape=(rows, columns)")
        if len(source) != 3:
            raise TypeError("CSR arrays are three: (data, indices, indptr)")
        data, indices, indptr = source
        return indptr, indices, data, shape
    if shape is not None:
        raise TypeError("shape goes with CSR arrays (data, indices, indptr) only")
    if hasattr(source, "tocsr"):  # SciPy and CuPy
        csr = source.tocsr()
        return csr.indptr, csr.indices, csr.data, csr.shape
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(source, torch.Tensor) and source.layout is not torch.strided:
        csr = source.detach().to_sparse_csr()
        return csr.crow_indices(), csr.col_indices(), csr.values(), csr.shape
    raise TypeError(
        "a matrix is made of a sparse matrix of SciPy, CuPy or PyTorch, or of (data, indices, indptr) with shape=, "
        f"not of {type(source).__name__}"
    )


def _prepare(given, name, dtypes, borrow):
    """The library of an array and the array itself, as one of these types and contiguous."""
    library = library_of(given)
    array = library.array(given)
    if library.dtype(array) not in dtypes:
        widest = dtypes[-1]
        if borrow or not library.can_cast(array, widest):
            raise TypeError(f"{name} must be of {dtypes[0]} or {widest}, not {library.dtype(array)}")
        array = library.cast(array, widest)
    if not library.is_contiguous(array):
        if borrow:
            raise TypeError(f"{name} is not contiguous, and cannot be borrowed")
        array = library.contiguous(array)
    return library, array


def _described(given, name, borrow):
    library, array = _prepare(given, name, _INDICES, borrow)
    return library.described(array)


class Matrix:
    """A sparse matrix with a fixed pattern, of float32 or float64.

    S is a sparse matrix of SciPy, CuPy or PyTorch, in any format, or CSR arrays (data, indices, indptr) with shape=,
    of NumPy, CuPy, PyTorch, or of any library that speaks DLPack or __cuda_array_interface__. Its arrays are copied;
    with borrow=True they are relied on to stay as they are, and must be contiguous CSR of these types.

    The first product tunes, or finds in the database what an earlier process has learned; `effort` says how hard it
    looks: "online" (trials ride on the products, when these have paid for them), "measure", "exhaustive", "estimate" or
    "cached". The other options are limits: the products over which a format must pay off, seconds for trials, bytes of
    a format over those of the CSR arrays, and whether results must be the same bits from run to run. Products run where
    the arrays of S lie, or on `device`: "host", "cuda" or "cuda:N". `database` is a file, or "memory" for none.
    On a terminal and in Jupyter a line shows how far a tuning is; not so with progress=False. Ctrl-C ends a tuning, and
    what was measured is kept.

    A may be used from many threads at once.
    """

    # NumPy leaves `x @ A` and `x * A` to this class.
    __array_ufunc__ = None

    ndim = 2

    def __init__(
        self,
        S: Any,
        *,
        shape: tuple[int, int] | None = None,
        borrow: bool = False,
        effort: Literal["cached", "estimate", "measure", "exhaustive", "online"] = "online",
        expected_calls: int = 1000,
        time_limit: float = math.inf,
        memory_factor: float = math.inf,
        deterministic: bool = False,
        device: str | None = None,
        database: str | os.PathLike | None = None,
        progress: bool = True,
    ) -> None:
        indptr, indices, data, shape = _arrays_of(S, shape)
        library, data = _prepare(data, "data", _VALUES, borrow)
        context = _context(
            effort=effort,
            expected_calls=expected_calls,
            time_limit=time_limit,
            memory_factor=memory_factor,
            deterministic=deterministic,
            device=library.device(data) if device is None else device,
            database=None if database is None else str(database),
            progress=progress,
        )
        rows, cols = shape
        self._bind(
            _core.Matrix(
                rows,
                cols,
                _described(indptr, "indptr", borrow),
                _described(indices, "indices", borrow),
                library.described(data),
                borrow,
                context,
                library.stream(data),
            )
        )

    def _bind(self, core: _core.Matrix, original: weakref.ref[Matrix] | None = None) -> None:
        self._core = core
        self._transposed: Matrix | None = None
        self._original = original
        self._product = core.product
        self.shape: tuple[int, int] = (core.rows, core.cols)
        self.dtype = np.dtype(core.dtype)
        self.nnz = core.nnz

    def __repr__(self) -> str:
        rows, cols = self.shape
        return f"<autospmv.Matrix of {rows} x {cols}, {self.nnz} nonzeros, {self.dtype}, on {self.device}>"

    @property
    def device(self) -> str:
        """Where products run: "host", "cuda:0"."""
        return self._core.device

    def __matmul__(self, x: Any) -> Any:
        """A @ x for a vector, or for a matrix of columns: of the library of x, on its device."""
        if type(x) is _ndarray:  # the short way
            try:
                return self._product(x)
            except TypeError:
                pass
        library = library_of(x)
        x = library.array(x)
        return library.columns(self, x) if x.ndim == 2 else self._multiply(library, x, None)

    def matvec(self, x: Any, out: Any = None) -> Any:
        """A @ x, in `out` where it is given. x has shape (columns,) or (columns, 1)."""
        library = library_of(x)
        x = library.array(x)
        if x.ndim == 2 and x.shape[1] == 1:
            y = self._multiply(library, x.reshape(-1), out)
            return y.reshape(-1, 1) if out is None else out
        return self._multiply(library, x, out)

    def _multiply(self, library, x, out):
        if library.dtype(x) != self.dtype:
            if not library.can_cast(x, self.dtype):
                raise TypeError(f"x must be of {self.dtype}, not {library.dtype(x)}")
            x = library.cast(x, self.dtype)
        if x.ndim != 1:
            raise TypeError(f"x has {x.ndim} dimensions, not 1")
        x = library.contiguous(x)
        if out is None:
            return library.product(self, x)
        library.multiply(self, x, out)
        return out

    def rmatvec(self, x: Any, out: Any = None) -> Any:
        """A.T @ x, in `out` where it is given."""
        return self.T.matvec(x, out)

    def matmat(self, X: Any) -> Any:
        """A @ X, column by column."""
        library = library_of(X)
        X = library.array(X)
        if X.ndim != 2:
            raise InvalidArgument(f"X has {X.ndim} dimensions, not 2")
        return library.columns(self, X)

    def rmatmat(self, X: Any) -> Any:
        """A.T @ X, column by column."""
        return self.T.matmat(X)

    @property
    def T(self) -> Matrix:
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

    def update_values(self, data: Any) -> None:
        """New values for the same pattern, in the order of the CSR arrays that it was made of. Nothing is tuned again.

        A borrowing matrix refers to `data` from now on.
        """
        library = library_of(data)
        array = library.contiguous(library.array(data))
        self._core.update_values(library.described(array), library.stream(array))

    @property
    def plan(self) -> _core.Explanation:
        """What products run by: found now, if that is still to be done, and shown in Jupyter as a table."""
        return self._core.explain()

    def explain(self) -> _core.Explanation:
        """Why products run as they do: print it, or read its members; .json is one object for programs."""
        return self._core.explain()


def aslinearoperator(A: Matrix) -> Any:
    """A as an operator for the solvers of scipy.sparse.linalg, or, on a CUDA device, of cupyx.scipy.sparse.linalg."""
    operator = _operator_of_cupy() if A.device != "host" else None
    if operator is None:
        from scipy.sparse.linalg import LinearOperator as operator
    return operator(
        shape=A.shape, dtype=A.dtype, matvec=A.matvec, rmatvec=A.rmatvec, matmat=A.matmat, rmatmat=A.rmatmat
    )


def _operator_of_cupy():
    try:
        from cupyx.scipy.sparse.linalg import LinearOperator
    except ImportError:
        return None
    return LinearOperator
