"""Sparse matrix-vector products that tune themselves.

    A = autospmv.Matrix(S)   # S: a sparse matrix of SciPy, CuPy or PyTorch
    y = A @ x
"""

import importlib

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


def __getattr__(name):
    # Imports PyTorch, which nothing else here does.
    if name == "torch":
        return importlib.import_module("autospmv.torch")
    raise AttributeError(f"module 'autospmv' has no attribute {name!r}")
