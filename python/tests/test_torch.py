"""Tensors in host memory, and gradients. Those on CUDA devices are in test_cuda.py."""

import gc

import numpy as np
import pytest

import autospmv
from conftest import close, random_matrix, vector

torch = pytest.importorskip("torch", reason="PyTorch is not installed")


def make(S, **options):
    return autospmv.Matrix(S, **{"device": "host", "database": "memory", **options})


def sparse_tensor(S, index=torch.int64):
    return torch.sparse_csr_tensor(
        torch.from_numpy(S.indptr).to(index),
        torch.from_numpy(S.indices).to(index),
        torch.from_numpy(S.data),
        S.shape,
        check_invariants=True,
    )


@pytest.mark.parametrize("index", [torch.int32, torch.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products(index, dtype):
    S = random_matrix(40, 30, dtype=dtype)
    A = make(sparse_tensor(S, index))
    x, z = vector(30, dtype), vector(40, dtype)
    y = A @ torch.from_numpy(x)
    assert isinstance(y, torch.Tensor) and y.device.type == "cpu"
    close(y.numpy(), S @ x)
    close((A.T @ torch.from_numpy(z)).numpy(), S.T @ z)
    close(A @ x, S @ x)
    X = torch.from_numpy(vector(90, dtype).reshape(30, 3))
    close((A @ X).numpy(), S @ X.numpy())
    assert (A @ X[:, :0]).shape == (40, 0)


def test_other_layouts_and_plain_arrays():
    S = random_matrix(20, 20)
    x = torch.from_numpy(vector(20))
    for tensor in (sparse_tensor(S).to_sparse_coo(), sparse_tensor(S).to_sparse_csc()):
        close((make(tensor) @ x).numpy(), S @ x.numpy())
    arrays = tuple(torch.from_numpy(array) for array in (S.data, S.indices, S.indptr))
    close((make(arrays, shape=S.shape) @ x).numpy(), S @ x.numpy())


def test_views():
    S = random_matrix(20, 30)
    A = make(S)
    wide = torch.from_numpy(vector(60))
    close((A @ wide[::2]).numpy(), S @ wide[::2].numpy())
    negated = torch.complex(wide[:30], wide[30:]).conj().imag
    assert negated.is_neg()
    close((A @ negated).numpy(), S @ -wide[30:].numpy())


def test_nothing_is_copied():
    S = random_matrix(20, 30)
    values = torch.from_numpy(S.data.copy())
    A = make((values, torch.from_numpy(S.indices), torch.from_numpy(S.indptr)), shape=S.shape, borrow=True)
    x = torch.from_numpy(vector(30))
    values *= 2  # the very same memory
    close((A @ x).numpy(), 2 * (S @ x.numpy()))
    y = torch.empty(20, dtype=torch.float64)
    address = y.data_ptr()
    assert A.matvec(x, out=y) is y and y.data_ptr() == address
    close(y.numpy(), 2 * (S @ x.numpy()))
    A.update_values(values / 2)
    close((A @ x).numpy(), S @ x.numpy())


def test_what_is_refused():
    S = random_matrix(20, 30)
    A = make(S)
    x = torch.ones(30, dtype=torch.float64)
    for wrong in (x.to(torch.complex128), x.to("meta"), x.reshape(15, 2), x.to_sparse()):
        with pytest.raises((TypeError, autospmv.InvalidArgument)):
            A @ wrong
    close((A @ x.to(torch.bfloat16)).numpy(), S @ np.ones(30))
    for wrong in (np.empty(20), torch.empty(20), torch.empty(20, 1, dtype=torch.float64)):
        with pytest.raises(TypeError, match="out must be"):
            A.matvec(x, out=wrong)
    with pytest.raises(TypeError, match="a matrix is made of"):
        make(torch.eye(3))
    with pytest.raises(TypeError, match="data must be of"):
        make(sparse_tensor(S).to(torch.complex128))
    with pytest.raises(TypeError, match="no gradient"):
        A.matvec(x.requires_grad_(), out=torch.empty(20, dtype=torch.float64))


def test_gradients():
    A = make(random_matrix(7, 5, 0.4))
    x = torch.randn(5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: autospmv.torch.spmv(A, x), x)
    assert torch.autograd.gradcheck(lambda x: A @ x, x)
    assert torch.autograd.gradcheck(lambda x: A.T @ (A @ x) ** 2, x)
    assert torch.autograd.gradgradcheck(lambda x: (A @ x) ** 3, x)
    X = torch.randn(5, 2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda X: A @ X, X)
    torch.library.opcheck(torch.ops.autospmv.spmv.default, (autospmv.torch._number_of(A), x))


def test_gradients_outlive_the_matrix():
    S = random_matrix(7, 5, 0.4)
    x = torch.ones(5, dtype=torch.float64, requires_grad=True)
    y = make(S) @ x
    gc.collect()
    y.sum().backward()
    close(x.grad.numpy(), S.T @ np.ones(7))


def test_spmv_takes_tensors_of_the_type_of_the_matrix():
    A = make(random_matrix(7, 5, 0.4))
    for wrong in (np.ones(5), torch.ones(5), torch.ones(5, 1, dtype=torch.float64)):
        with pytest.raises(TypeError):
            autospmv.torch.spmv(A, wrong)
    with pytest.raises(TypeError):
        autospmv.torch.spmv(np.eye(5), torch.ones(5))
