"""SciPy's solvers on our operator give what they give on SciPy's matrix.

Always on generated matrices; and on ten of those in the folder that AUTOSPMV_CORPUS names, of Matrix Market files.
"""

import lzma
import os
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
import scipy.sparse.linalg as la

import autospmv
from conftest import random_matrix

CORPUS = os.environ.get("AUTOSPMV_CORPUS")
FILES = 10


def laplacian(n):
    line = sp.diags([-1.0, 2.0, -1.0], [-1, 0, 1], shape=(n, n))
    eye = sp.identity(n)
    return (sp.kron(line, eye) + sp.kron(eye, line)).tocsr()


GENERATED = {
    "laplacian": lambda: laplacian(20),
    "scattered": lambda: random_matrix(300, 300),
    "wide": lambda: random_matrix(120, 200),
    "tall": lambda: random_matrix(200, 120),
}


def read(path):
    with lzma.open(path) if path.suffix == ".xz" else open(path, "rb") as file:
        S = sp.csr_matrix(scipy.io.mmread(file, spmatrix=False), dtype=np.float64)
    # What structures without values of their own have is alike everywhere, and hides much.
    S.data = np.random.default_rng(7).uniform(0.5, 1.5, S.nnz)
    return S


def smallest_of_corpus():
    files = [path for path in Path(CORPUS).iterdir() if ".mtx" in path.suffixes]
    return sorted(files, key=lambda path: (path.stat().st_size, path.name))[:FILES]


def cases():
    yield from (pytest.param(make, id=name) for name, make in GENERATED.items())
    if not CORPUS:
        no_corpus = pytest.mark.skip(reason="AUTOSPMV_CORPUS names no folder of Matrix Market files")
        yield pytest.param(None, id="corpus", marks=no_corpus)
        return
    yield from (pytest.param(lambda path=path: read(path), id=path.name.split(".")[0]) for path in smallest_of_corpus())


@pytest.fixture(scope="module", params=list(cases()))
def matrix(request):
    """Scaled, so that no value of a solver is far from 1."""
    S = request.param()
    return (S / abs(S).sum(axis=1).max()).tocsr()


@pytest.fixture(scope="module")
def normal(matrix):
    """Symmetric and positive definite, and well enough conditioned for few iterations."""
    return (matrix.T @ matrix + sp.identity(matrix.shape[1])).tocsr()


def operator(S):
    return autospmv.aslinearoperator(autospmv.Matrix(S, device="host", database="memory", effort="measure"))


def same(ours, theirs, tolerance=1e-7):
    assert np.all(np.isfinite(theirs))
    scale = np.abs(theirs).max()
    np.testing.assert_allclose(ours, theirs, rtol=tolerance, atol=tolerance * scale)


def test_cg(normal):
    b = np.ones(normal.shape[0])
    ours, ended = la.cg(operator(normal), b, rtol=1e-10)
    theirs, _ = la.cg(normal, b, rtol=1e-10)
    assert ended == 0
    same(ours, theirs)


def test_gmres(normal):
    S = (normal + sp.diags([0.3], [1], shape=normal.shape)).tocsr()
    b = np.ones(S.shape[0])
    ours, ended = la.gmres(operator(S), b, rtol=1e-10)
    theirs, _ = la.gmres(S, b, rtol=1e-10)
    assert ended == 0
    same(ours, theirs)


def test_eigsh(normal):
    start = np.random.default_rng(1).uniform(0.5, 1, normal.shape[0])
    ours = la.eigsh(operator(normal), k=3, v0=start, return_eigenvectors=False)
    theirs = la.eigsh(normal, k=3, v0=start, return_eigenvectors=False)
    same(ours, theirs)


def test_svds(matrix):
    start = np.random.default_rng(1).uniform(0.5, 1, min(matrix.shape))
    ours = la.svds(operator(matrix), k=3, v0=start, return_singular_vectors=False)
    theirs = la.svds(matrix, k=3, v0=start, return_singular_vectors=False)
    same(ours, theirs)


def test_lsqr(matrix):
    b = np.random.default_rng(1).uniform(-1, 1, matrix.shape[0])
    damping = 0.1  # so that few iterations do
    ours = la.lsqr(operator(matrix), b, damp=damping, atol=1e-12, btol=1e-12)[0]
    theirs = la.lsqr(matrix, b, damp=damping, atol=1e-12, btol=1e-12)[0]
    same(ours, theirs)


def test_operators_compose(matrix):
    op = operator(matrix)
    x = np.ones(matrix.shape[1])
    same((op.T @ op) @ x, matrix.T @ (matrix @ x))
