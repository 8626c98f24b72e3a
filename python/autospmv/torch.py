"""Products as an operation of PyTorch, with a gradient: autospmv.torch.spmv(A, x)."""

from __future__ import annotations

import itertools
import weakref

import torch

from autospmv.arrays import library_of
from autospmv.matrix import Matrix

# An operation of PyTorch takes numbers and tensors: matrices go by number.
_numbers = itertools.count()
_matrices = weakref.WeakValueDictionary()


def _number_of(A):
    number = getattr(A, "_torch_number", None)
    if number is None:
        number = A._torch_number = next(_numbers)
        _matrices[number] = A
    return number


@torch.library.custom_op("autospmv::spmv", mutates_args=())
def _spmv(number: int, x: torch.Tensor) -> torch.Tensor:
    return library_of(x).plain_product(_matrices[number], x.contiguous())


@_spmv.register_fake
def _(number, x):
    return x.new_empty(_matrices[number].shape[0])


def _keep(ctx, inputs, output):
    # Until the gradient is computed the caller may have let go of it.
    ctx.matrix = _matrices[inputs[0]]


def _backward(ctx, gradient):
    return None, _spmv(_number_of(ctx.matrix.T), gradient)


_spmv.register_autograd(_backward, setup_context=_keep)


def spmv(A: Matrix, x: torch.Tensor) -> torch.Tensor:
    """A @ x for a tensor x of the type of A, on the CPU or on a CUDA device, and in its gradient A.T @ that of y.

    The values of A are constants: they have no gradient.
    """
    if not isinstance(A, Matrix) or not isinstance(x, torch.Tensor):
        raise TypeError("spmv takes an autospmv.Matrix and a tensor")
    library = library_of(x)
    if library.dtype(x) != A.dtype or x.ndim != 1:
        raise TypeError(f"x must be a vector of {A.dtype}, not {x.ndim} dimensions of {library.dtype(x)}")
    return _spmv(_number_of(A), x)
