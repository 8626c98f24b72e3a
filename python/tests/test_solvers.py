"""SciPy's solvers on our operator give what they give on SciPy's matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg as la

import autospmv


def laplacian(n):
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    eye = sp.identity(n)
    return (sp.kron(line, eye) + sp.kron(eye, line)).tocsr()


def operator(S):
    return autospmv.aslinearoperator(autospmv.Matrix(S, device="host", database="memory"))


@pytest.fixture
def symmetric():
    return laplacian(20)


@pytest.fixture
def rectangular():
    return sp.random(200, 120, 0.05, format="csr", random_state=3)


def test_cg(symmetric):
    b = np.ones(symmetric.shape[0])
    ours, ended = la.cg(operator(symmetric), b, rtol=1e-10)
    theirs, _ = la.cg(symmetric, b, rtol=1e-10)
    assert ended == 0
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)


def test_gmres(symmetric):
    S = (symmetric + sp.diags([0.3], [1], shape=symmetric.shape)).tocsr()
    b = np.ones(S.shape[0])
    ours, ended = la.gmres(operator(S), b, rtol=1e-10)
    theirs, _ = la.gmres(S, b, rtol=1e-10)
    assert ended == 0
    np.testing.assert_allclose(ours, theirs, rtol=1e-7)


def test_eigsh(symmetric):
    start = np.ones(symmetric.shape[0])
    ours = la.eigsh(operator(symmetric), k=4, v0=start, return_eigenvectors=False)
    theirs = la.eigsh(symmetric, k=4, v0=start, return_eigenvectors=False)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_svds(rectangular):
    start = np.ones(min(rectangular.shape))
    ours = la.svds(operator(rectangular), k=4, v0=start, return_singular_vectors=False)
    theirs = la.svds(rectangular, k=4, v0=start, return_singular_vectors=False)
    np.testing.assert_allclose(ours, theirs, rtol=1e-9)


def test_lsqr(rectangular):
    b = np.ones(rectangular.shape[0])
    ours = la.lsqr(operator(rectangular), b, atol=1e-12, btol=1e-12)[0]
    theirs = la.lsqr(rectangular, b, atol=1e-12, btol=1e-12)[0]
    np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9)


def test_operators_compose(rectangular):
    op = operator(rectangular)
    x = np.ones(120)
    np.testing.assert_allclose((op.T @ op) @ x, rectangular.T @ (rectangular @ x))
