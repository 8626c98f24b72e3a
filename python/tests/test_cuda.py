"""Arrays on a CUDA device: of CuPy, of PyTorch, and by the protocols that others speak."""

import numpy as np
import pytest

import autospmv
from conftest import Packed, close, random_matrix, vector


def _cupy():
    try:
        import cupy
        import cupyx.scipy.sparse

        cupy.cuda.runtime.getDeviceCount()
        return cupy
    except Exception:  # no such package, no driver, no device
        return None


def _torch():
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


cupy, torch = _cupy(), _torch()
needs_cupy = pytest.mark.skipif(cupy is None, reason="CuPy with a CUDA device is missing")
needs_torch = pytest.mark.skipif(torch is None, reason="PyTorch with a CUDA device is missing")
DTYPES = [np.float32, np.float64]
EFFORTS = ["cached", "measure", "online"]


def make(S, **options):
    return autospmv.Matrix(S, **{"database": "memory", **options})


def cupyx_csr(S):
    import cupyx.scipy.sparse

    return cupyx.scipy.sparse.csr_matrix(S)


def torch_csr(S, index=None):
    index = index or torch.int64
    return torch.sparse_csr_tensor(
        torch.from_numpy(S.indptr).to(index),
        torch.from_numpy(S.indices).to(index),
        torch.from_numpy(S.data),
        S.shape,
        check_invariants=True,
    ).cuda()


class Interface:
    """What speaks __cuda_array_interface__ and nothing else."""

    def __init__(self, array, stream=None):
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, "version": 3, "stream": stream}
        self.array = array


@needs_cupy
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("effort", EFFORTS)
def test_cupy_products(dtype, effort):
    S = random_matrix(700, 500, dtype=dtype)
    A = make(cupyx_csr(S), effort=effort)
    assert A.device == "cuda:0" and A.shape == S.shape and A.dtype == dtype
    x, z = vector(500, dtype), vector(700, dtype)
    for _ in range(30):
        y = A @ cupy.asarray(x)
        assert isinstance(y, cupy.ndarray) and y.device.id == 0
        close(y.get(), S @ x)
        close((A.T @ cupy.asarray(z)).get(), S.T @ z)
    X = vector(1500, dtype).reshape(500, 3)
    close((A @ cupy.asarray(X)).get(), S @ X)
    close((A @ cupy.asarray(x).reshape(-1, 1)).get(), (S @ x).reshape(-1, 1))
    close((A @ cupy.asarray(np.repeat(x, 2))[::2]).get(), S @ x)
    close((A @ cupy.arange(500)).get(), S @ np.arange(500, dtype=dtype))
    close(A @ x, S @ x)  # there and back


@needs_torch
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("effort", EFFORTS)
def test_torch_products(dtype, effort):
    S = random_matrix(700, 500, dtype=dtype)
    for index in (torch.int32, torch.int64):
        A = make(torch_csr(S, index), effort=effort)
        assert A.device == "cuda:0"
        x, z = vector(500, dtype), vector(700, dtype)
        for _ in range(30):
            y = A @ torch.from_numpy(x).cuda()
            assert isinstance(y, torch.Tensor) and y.is_cuda
            close(y.cpu().numpy(), S @ x)
            close((A.T @ torch.from_numpy(z).cuda()).cpu().numpy(), S.T @ z)
        X = vector(1500, dtype).reshape(500, 3)
        close((A @ torch.from_numpy(X).cuda()).cpu().numpy(), S @ X)
        close((A @ torch.from_numpy(x)).numpy(), S @ x)  # in host memory: there and back


@needs_cupy
def test_cupy_copies_nothing():
    S = random_matrix(300, 200)
    G = cupyx_csr(S)
    A = make(G, borrow=True, effort="cached")
    x, y = cupy.asarray(vector(200)), cupy.full(300, np.nan)
    addresses = G.data.data.ptr, x.data.ptr, y.data.ptr
    assert A.matvec(x, out=y) is y
    close(y.get(), S @ x.get())
    G.data *= 2  # the very same memory
    A.matvec(x, out=y)
    close(y.get(), 2 * (S @ x.get()))
    assert addresses == (G.data.data.ptr, x.data.ptr, y.data.ptr)
    pool = cupy.get_default_memory_pool()
    used = pool.used_bytes()
    A.matvec(x, out=y)
    assert pool.used_bytes() == used


@needs_torch
def test_torch_copies_nothing():
    S = random_matrix(300, 200)
    G = torch_csr(S, torch.int32)
    A = make(G, borrow=True, effort="cached")
    x = torch.from_numpy(vector(200)).cuda()
    y = torch.full((300,), float("nan"), dtype=torch.float64, device="cuda")
    addresses = x.data_ptr(), y.data_ptr()
    used = torch.cuda.memory_allocated()
    assert A.matvec(x, out=y) is y
    assert torch.cuda.memory_allocated() == used and addresses == (x.data_ptr(), y.data_ptr())
    close(y.cpu().numpy(), S @ x.cpu().numpy())
    G.values().mul_(2)  # the very same memory
    close(A.matvec(x, out=y).cpu().numpy(), 2 * (S @ x.cpu().numpy()))


# Work that takes a while, then x, then the product: without the order of the stream the product would read the old x.
@needs_cupy
def test_the_current_stream_of_cupy():
    S = random_matrix(2000, 2000, 0.01)
    A = make(cupyx_csr(S), effort="cached")
    A @ cupy.ones(2000)
    slow = cupy.ones((4000, 4000))
    new = vector(2000)
    source = cupy.asarray(new)
    x, y = cupy.zeros(2000), cupy.zeros(2000)
    cupy.cuda.Device().synchronize()
    stream = cupy.cuda.Stream(non_blocking=True)
    with stream:
        for _ in range(5):
            slow = slow @ slow * 1e-4
        x[:] = source
        A.matvec(x, out=y)
        z = A @ x
    stream.synchronize()
    close(y.get(), S @ new)
    close(z.get(), S @ new)


@needs_torch
def test_the_current_stream_of_torch():
    S = random_matrix(2000, 2000, 0.01)
    A = make(torch_csr(S), effort="cached")
    new = torch.from_numpy(vector(2000))
    source = new.cuda()
    x = torch.zeros(2000, dtype=torch.float64, device="cuda")
    A @ x
    slow = torch.ones((4000, 4000), dtype=torch.float64, device="cuda")
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(5):
            slow = slow @ slow * 1e-4
        x.copy_(source)
        y = A @ x
    stream.synchronize()
    close(y.cpu().numpy(), S @ new.numpy())


@needs_torch
def test_products_are_captured_into_graphs():
    S = random_matrix(300, 300)
    A = make(torch_csr(S), effort="measure")
    x = torch.ones(300, dtype=torch.float64, device="cuda")
    y = torch.empty_like(x)
    A.matvec(x, out=y)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        A.matvec(x, out=y)
    new = vector(300)
    x.copy_(torch.from_numpy(new))
    graph.replay()
    close(y.cpu().numpy(), S @ new)


@needs_torch
def test_gradients_on_a_device():
    A = make(torch_csr(random_matrix(7, 5, 0.4)), effort="cached")
    x = torch.randn(5, dtype=torch.float64, device="cuda", requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: A @ x, x)
    assert torch.autograd.gradcheck(lambda x: autospmv.torch.spmv(A, x), x)


@needs_cupy
@pytest.mark.parametrize("wrapped", [Interface, Packed])
def test_the_protocols(wrapped):
    S = random_matrix(300, 200)
    data, indices, indptr = (wrapped(cupy.asarray(array)) for array in (S.data, S.indices, S.indptr))
    A = make((data, indices, indptr), shape=S.shape, effort="cached")
    x, y = cupy.asarray(vector(200)), cupy.zeros(300)
    assert A.matvec(wrapped(x), out=wrapped(y)).array is y
    close(y.get(), S @ x.get())
    with pytest.raises(TypeError, match="needs out="):
        A @ wrapped(x)
    close((A @ x).get(), S @ x.get())
    A.update_values(wrapped(cupy.asarray(2 * S.data)))
    close((A @ x).get(), 2 * (S @ x.get()))
    with pytest.raises(TypeError):
        A.matvec(wrapped(x.astype(np.float32)), out=wrapped(y))


@needs_cupy
@needs_torch
def test_one_matrix_serves_all_libraries():
    S = random_matrix(300, 200)
    A = make(S, device="cuda", effort="cached")
    x = vector(200)
    assert isinstance(A @ x, np.ndarray)
    close((A @ cupy.asarray(x)).get(), A @ x)
    close((A @ torch.from_numpy(x).cuda()).cpu().numpy(), A @ x)
    with pytest.raises(TypeError, match="out must be"):
        A.matvec(cupy.asarray(x), out=np.empty(300))
    with pytest.raises(TypeError):
        A.matvec(x, out=cupy.empty(300))


@needs_cupy
def test_vectors_on_a_device_of_a_matrix_on_the_host():
    A = make(random_matrix(30, 30), device="host")
    with pytest.raises(autospmv.InvalidArgument, match="products run on host"):
        A @ cupy.ones(30)
    S = random_matrix(30, 30)
    close(make(cupyx_csr(S), device="host") @ np.ones(30), S @ np.ones(30))


@needs_cupy
def test_wrong_lengths_and_types():
    A = make(cupyx_csr(random_matrix(30, 20)), effort="cached")
    with pytest.raises(autospmv.InvalidArgument, match="x has 21"):
        A @ cupy.ones(21)
    with pytest.raises(TypeError, match="float64"):
        A @ cupy.ones(20, complex)
    with pytest.raises(autospmv.InvalidArgument, match="y has 31"):
        A.matvec(cupy.ones(20), out=cupy.empty(31))
    with pytest.raises(TypeError, match="out must be"):
        A.matvec(cupy.ones(20), out=cupy.empty(30, np.float32))


@needs_cupy
def test_the_solvers_of_cupy():
    import cupyx.scipy.sparse.linalg as la
    import scipy.sparse as sp

    S = sp.diags([-1.0, 2.5, -1.0], [-1, 0, 1], shape=(400, 400)).tocsr()
    op = autospmv.aslinearoperator(make(cupyx_csr(S)))
    assert isinstance(op, la.LinearOperator)
    b = cupy.ones(400)
    ours, ended = la.cg(op, b, rtol=1e-10)
    theirs, _ = la.cg(cupyx_csr(S), b, rtol=1e-10)
    assert ended == 0
    np.testing.assert_allclose(ours.get(), theirs.get(), rtol=1e-7)


@needs_cupy
def test_matrices_that_go_leave_no_device_memory_behind():
    S = cupyx_csr(random_matrix(60, 60))
    x = cupy.ones(60)

    def free_after(count):
        for _ in range(count):
            make(S, effort="cached") @ x
        cupy.cuda.Device().synchronize()
        return cupy.cuda.runtime.memGetInfo()[0]

    before = free_after(200)
    assert before - free_after(1000) < 32 << 20
