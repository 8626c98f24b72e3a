"""Sparse matrix-vector products that tune themselves.

    A = autospmv.Matrix(S)   # S: a sparse matrix of SciPy
    y = A @ x
"""

from autospmv._core import version
from autospmv.errors import DeviceError, Error, InvalidArgument, OutOfMemory, Unsupported
from autospmv.matrix import Matrix, aslinearoperator

__version__ = version()
__all__ = [
    "DeviceError",
    "Error",
    "InvalidArgument",
    "Matrix",
    "OutOfMemory",
    "Unsupported",
    "aslinearoperator",
]
