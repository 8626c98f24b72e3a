"""Arrays of NumPy, CuPy, PyTorch, and of whoever speaks DLPack or __cuda_array_interface__.

library_of(array) is the class that reads it, multiplies by it, and makes the result: of the same kind, in the same
place. Neither CuPy nor PyTorch is imported here: who passes an array of theirs has done that.
"""

from __future__ import annotations

import sys

import numpy as np

from autospmv import _core


# By type: what says of an array of it which library takes it. A product asks each time.
_choosers = {}


def library_of(array):
    chooser = _choosers.get(type(array))
    if chooser is None:
        chooser = _choosers[type(array)] = _chooser_of(array)
    return chooser(array)


def _chooser_of(array):
    if isinstance(array, np.ndarray):
        return lambda array: NumPy
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(array, torch.Tensor):
        return _library_of_tensor
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(array, cupy.ndarray):
        return lambda array: CuPy
    # Of one type, some arrays may lie on a device and others not.
    return lambda array: Foreign if _lies_on_device(array) else NumPy


def _library_of_tensor(tensor):
    if tensor.layout is not sys.modules["torch"].strided:
        raise TypeError(f"a tensor of layout {tensor.layout} is no vector: strided ones are taken")
    if tensor.is_cuda:
        return TorchCuda
    if tensor.is_cpu:
        return TorchHost
    raise TypeError(f"a tensor lies on {tensor.device}: those on the CPU and on CUDA devices are taken")


def _lies_on_device(array):
    if hasattr(array, "__cuda_array_interface__"):
        return True
    cuda, cuda_managed = 2, 13  # of DLPack
    place = getattr(array, "__dlpack_device__", None)
    return place is not None and place()[0] in (cuda, cuda_managed)


def _refuse(name, dtype, given):
    raise TypeError(f"{name} must be a contiguous vector of {dtype}, not {given}")


class NumPy:
    """Host memory, and whatever NumPy makes an array of."""

    @staticmethod
    def array(given):
        if not hasattr(given, "__array__") and hasattr(given, "__dlpack__"):
            return np.from_dlpack(given)
        return np.asarray(given)

    @staticmethod
    def dtype(array):
        return array.dtype

    @staticmethod
    def can_cast(array, dtype):
        return np.can_cast(array.dtype, dtype, "same_kind")

    @staticmethod
    def cast(array, dtype):
        return array.astype(dtype)

    @staticmethod
    def is_contiguous(array):
        return array.flags.c_contiguous

    @staticmethod
    def contiguous(array):
        return np.ascontiguousarray(array)

    @staticmethod
    def described(array):
        """As the compiled part takes what a matrix is made of."""
        return _core.Array(array)

    @staticmethod
    def device(array):
        return "host"

    @staticmethod
    def stream(array):
        return 0

    @staticmethod
    def product(A, x):
        return A._product(x)

    @staticmethod
    def multiply(A, x, out):
        A._core.multiply(x, out)

    @staticmethod
    def columns(A, X):
        product = np.empty((A.shape[0], X.shape[1]), A.dtype, order="F")
        for j in range(X.shape[1]):
            A.matvec(X[:, j], out=product[:, j])
        return product


class CuPy(NumPy):
    """CUDA devices, in the order of CuPy's current stream."""

    @staticmethod
    def array(given):
        return given

    @staticmethod
    def contiguous(array):
        return array if array.flags.c_contiguous else sys.modules["cupy"].ascontiguousarray(array)

    @staticmethod
    def described(array):
        return _core.Array(array.data.ptr, array.size, array.dtype.name, array)

    @staticmethod
    def device(array):
        return f"cuda:{array.device.id}"

    @staticmethod
    def stream(array):
        cuda = sys.modules["cupy"].cuda
        if array.device.id == cuda.runtime.getDevice():
            return cuda.get_current_stream().ptr
        with array.device:
            return cuda.get_current_stream().ptr

    @staticmethod
    def product(A, x):
        cupy = sys.modules["cupy"]
        if x.device.id != cupy.cuda.runtime.getDevice():
            with x.device:
                return CuPy.product(A, x)
        y = cupy.empty(A.shape[0], A.dtype)
        stream = cupy.cuda.get_current_stream().ptr
        A._core.multiply_on_device(x.data.ptr, x.size, y.data.ptr, y.size, stream, x.device.id)
        return y

    @staticmethod
    def multiply(A, x, out):
        fits = isinstance(out, sys.modules["cupy"].ndarray) and out.dtype == A.dtype and out.device == x.device
        if not fits or out.ndim != 1 or not out.flags.c_contiguous:
            _refuse("out", A.dtype, "another array, or one on another device than x")
        A._core.multiply_on_device(x.data.ptr, x.size, out.data.ptr, out.size, CuPy.stream(x), x.device.id)

    @staticmethod
    def columns(A, X):
        with X.device:
            product = sys.modules["cupy"].empty((A.shape[0], X.shape[1]), A.dtype, order="F")
        for j in range(X.shape[1]):
            A.matvec(X[:, j], out=product[:, j])
        return product


class _Torch:
    """What PyTorch's tensors have in common wherever they lie."""

    # NumPy's types of PyTorch's; those that NumPy does not have keep their name.
    _dtypes = {}

    @staticmethod
    def array(given):
        return given

    @staticmethod
    def dtype(array):
        known = _Torch._dtypes.get(array.dtype)
        if known is None:
            name = str(array.dtype).removeprefix("torch.")
            known = _Torch._dtypes[array.dtype] = np.dtype(name) if hasattr(np, name) else name
        return known

    @staticmethod
    def can_cast(array, dtype):
        return sys.modules["torch"].can_cast(array.dtype, _torch_dtype(dtype))

    @staticmethod
    def cast(array, dtype):
        return array.to(_torch_dtype(dtype))

    @staticmethod
    def is_contiguous(array):
        return array.is_contiguous() and not array.is_neg()

    @staticmethod
    def contiguous(array):
        # Of some views the signs stand apart from the numbers.
        return array.resolve_neg().contiguous() if array.is_neg() else array.contiguous()

    @classmethod
    def product(cls, A, x):
        if x.requires_grad and sys.modules["torch"].is_grad_enabled():
            from autospmv.torch import spmv

            return spmv(A, x)
        return cls.plain_product(A, x)

    @classmethod
    def plain_product(cls, A, x):
        y = x.new_empty(A.shape[0])
        cls.plain_multiply(A, x, y)
        return y

    @classmethod
    def multiply(cls, A, x, out):
        torch = sys.modules["torch"]
        fits = isinstance(out, torch.Tensor) and out.dtype is x.dtype and out.device == x.device
        if not fits or out.ndim != 1 or not cls.is_contiguous(out):
            _refuse("out", A.dtype, "another array, or one on another device than x")
        if (x.requires_grad or out.requires_grad) and torch.is_grad_enabled():
            raise TypeError("products with out= have no gradient: use A @ x, or torch.no_grad()")
        cls.plain_multiply(A, x, out)

    @staticmethod
    def columns(A, X):
        if X.shape[1] == 0:
            return X.new_empty((A.shape[0], 0), dtype=_torch_dtype(A.dtype))
        return sys.modules["torch"].stack([A.matvec(column) for column in X.unbind(1)], dim=1)


class TorchHost(_Torch):
    """Host memory."""

    @staticmethod
    def described(array):
        return _core.Array(array.detach().numpy())

    @staticmethod
    def device(array):
        return "host"

    @staticmethod
    def stream(array):
        return 0

    @staticmethod
    def plain_multiply(A, x, out):
        A._core.multiply_on_host(x.data_ptr(), x.numel(), out.data_ptr(), out.numel())


class TorchCuda(_Torch):
    """CUDA devices, in the order of PyTorch's current stream."""

    @staticmethod
    def described(array):
        return _core.Array(array.data_ptr(), array.numel(), str(_Torch.dtype(array)), array)

    @staticmethod
    def device(array):
        return f"cuda:{array.get_device()}"

    @staticmethod
    def stream(array):
        torch = sys.modules["torch"]
        # What Triton's launchers ask: an object of the stream takes ten times as long to make.
        raw = getattr(torch._C, "_cuda_getCurrentRawStream", None)
        if raw is not None:
            return raw(array.get_device())
        return torch.cuda.current_stream(array.device).cuda_stream

    @staticmethod
    def plain_multiply(A, x, out):
        ordinal = x.get_device()
        A._core.multiply_on_device(
            x.data_ptr(), x.numel(), out.data_ptr(), out.numel(), TorchCuda.stream(x), ordinal
        )


def _torch_dtype(dtype):
    return getattr(sys.modules["torch"], str(dtype))


class Foreign:
    """CUDA devices, by DLPack or __cuda_array_interface__: read as they are, and written where `out` is given."""

    @staticmethod
    def array(given):
        return _Described(given)

    @staticmethod
    def dtype(array):
        return array.dtype

    @staticmethod
    def can_cast(array, dtype):
        return False

    @staticmethod
    def is_contiguous(array):
        return True

    @staticmethod
    def contiguous(array):
        return array

    @staticmethod
    def described(array):
        return array.core

    @staticmethod
    def device(array):
        return None

    @staticmethod
    def stream(array):
        return array.stream

    @staticmethod
    def columns(A, X):
        raise TypeError(f"{X.kind} has 2 dimensions: vectors are taken")

    @staticmethod
    def product(A, x):
        raise TypeError(f"the result needs out=: no {x.kind} can be made here")

    @staticmethod
    def multiply(A, x, out):
        y = _Described(out, writable=True)
        if y.dtype != A.dtype:
            _refuse("out", A.dtype, y.dtype)
        unknown = -1
        A._core.multiply_on_device(x.core.address, x.core.size, y.core.address, y.core.size, x.stream, unknown)


class _Described:
    """A vector that another library has on a device."""

    ndim = 1

    def __init__(self, given, writable=False):
        self.kind = type(given).__name__
        self.stream = 0  # for DLPack the legacy default one is meant where none is said
        interface = getattr(given, "__cuda_array_interface__", None)
        if interface is None:
            if not _lies_on_device(given):
                raise TypeError(f"{self.kind} lies on no CUDA device")
            self.core = _core.Array(given)
            self.dtype = np.dtype(self.core.dtype)
            return
        self.dtype = np.dtype(interface["typestr"])
        shape, strides = interface["shape"], interface.get("strides")
        if len(shape) != 1 or (strides is not None and shape[0] > 1 and strides[0] != self.dtype.itemsize):
            raise TypeError(f"{self.kind} is no contiguous vector")
        address, read_only = interface["data"]
        if writable and read_only:
            raise TypeError(f"{self.kind} is read-only")
        self.stream = interface.get("stream") or 0
        self.core = _core.Array(address, shape[0], self.dtype.name, given)
