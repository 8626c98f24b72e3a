"""What a Matrix computes, takes and refuses."""

import gc
import io
import json
import resource
import signal
import sys
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp

import autospmv
from conftest import Packed, close, random_matrix, vector

FORMATS = ["csr", "csc", "coo", "bsr", "dia", "lil", "dok"]


def make(S, **options):
    return autospmv.Matrix(S, **{"device": "host", "database": "memory", **options})


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("effort", ["cached", "estimate", "measure", "online"])
def test_products(dtype, effort):
    S = random_matrix(70, 50, dtype=dtype)
    A = make(S, effort=effort)
    assert A.shape == (70, 50) and A.dtype == dtype and A.nnz == S.nnz and A.ndim == 2
    x, z = vector(50, dtype), vector(70, dtype)
    for _ in range(50):
        close(A @ x, S @ x)
        close(A.T @ z, S.T @ z)
    close(A.matvec(x), S @ x)
    close(A.rmatvec(z), S.T @ z)
    close(A.T.rmatvec(x), S @ x)
    assert A.T.T is A
    assert A.T.shape == (50, 70)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_of_scipy(form):
    S = random_matrix(30, 30)
    x = vector(30)
    close(make(S.asformat(form)) @ x, S @ x)


def test_arrays_and_wide_indices():
    S = random_matrix(40, 30)
    x = vector(30)
    for indptr in (S.indptr, S.indptr.astype(np.int64)):
        for indices in (S.indices, S.indices.astype(np.int64), S.indices.astype(np.uint16)):
            close(make((S.data, indices, indptr), shape=S.shape) @ x, S @ x)
    close(make(sp.csr_array(S)) @ x, S @ x)
    integers = sp.csr_matrix((np.arange(S.nnz), S.indices, S.indptr), shape=S.shape)
    close(make(integers) @ x, integers @ x)


def test_out():
    S = random_matrix(20, 30)
    A = make(S)
    x = vector(30)
    y = np.full(20, np.nan)
    assert A.matvec(x, out=y) is y
    close(y, S @ x)
    for wrong in (np.empty(20, np.float32), np.empty((20, 1)), np.empty(40)[::2], [0.0] * 20):
        with pytest.raises(TypeError):
            A.matvec(x, out=wrong)
    with pytest.raises(autospmv.InvalidArgument, match="y has 21 elements"):
        A.matvec(x, out=np.empty(21))
    frozen = np.zeros(20)
    frozen.flags.writeable = False
    with pytest.raises(TypeError):
        A.matvec(x, out=frozen)
    assert not frozen.any()


def test_vectors_that_are_not_contiguous_or_of_another_type():
    S = random_matrix(20, 30)
    A = make(S)
    wide = vector(60)
    close(A @ wide[::2], S @ wide[::2])
    close(A @ np.arange(30), S @ np.arange(30, dtype=float))
    close(A @ wide[:30].astype(np.float32), S @ wide[:30].astype(np.float32).astype(float))
    close(A @ list(wide[:30]), S @ wide[:30])
    close(A @ wide[:30].reshape(30, 1), (S @ wide[:30]).reshape(20, 1))
    for wrong in (np.ones(30, complex), np.array(["a"] * 30), None):
        with pytest.raises(TypeError):
            A @ wrong
    for wrong in (np.ones(29), np.ones(31)):
        with pytest.raises(autospmv.InvalidArgument, match="x has"):
            A @ wrong


def test_arrays_that_speak_dlpack():
    S = random_matrix(20, 30)
    x = vector(30)
    A = make(tuple(Packed(array) for array in (S.data, S.indices, S.indptr)), shape=S.shape)
    close(A @ Packed(x), S @ x)


@pytest.mark.parametrize("order", ["C", "F"])
def test_columns(order):
    S = random_matrix(20, 30)
    A = make(S)
    X = np.asarray(vector(90).reshape(30, 3), order=order)
    close(A @ X, S @ X)
    close(A.matmat(X), S @ X)
    close(A.rmatmat(X[:20]), S.T @ X[:20])
    assert (A @ np.empty((30, 0))).shape == (20, 0)
    with pytest.raises(autospmv.InvalidArgument):
        A.matmat(np.ones(30))


def test_update_values():
    S = random_matrix(50, 40)
    A = make(S)
    x, z = vector(40), vector(50)
    A @ x, A.T @ z
    S.data[:] = vector(S.nnz, seed=7)
    A.update_values(S.data)
    close(A @ x, S @ x)
    close(A.T @ z, S.T @ z)
    S.data *= 2
    A.T.update_values(S.data)
    close(A @ x, S @ x)
    with pytest.raises(autospmv.InvalidArgument, match="values for"):
        A.update_values(S.data[1:])
    with pytest.raises(TypeError):
        A.update_values(S.data.astype(np.float32))
    close(A @ x, S @ x)


def test_borrowed_arrays_are_not_copied():
    S = random_matrix(50, 40)
    A = make(S, borrow=True)
    x = vector(40)
    close(A @ x, S @ x)
    S.data[0] += 5  # the very same memory
    close(A @ x, S @ x)
    values = vector(S.nnz, seed=9)
    expected = sp.csr_matrix((values, S.indices, S.indptr), shape=S.shape) @ x
    A.update_values(values)
    del values
    gc.collect()
    _ = [vector(S.nnz) for _ in range(20)]
    close(A @ x, expected)
    with pytest.raises(TypeError, match="contiguous"):
        make((np.empty(2 * S.nnz)[::2], S.indices, S.indptr), shape=S.shape, borrow=True)
    with pytest.raises(TypeError, match="float"):
        make((np.arange(S.nnz), S.indices, S.indptr), shape=S.shape, borrow=True)


def test_borrowed_arrays_live_as_long_as_any_handle():
    S = random_matrix(50, 40)
    x = vector(50)
    expected = S.T @ x
    T = make(S.copy(), borrow=True).T
    gc.collect()
    _ = [vector(S.nnz) for _ in range(20)]
    close(T @ x, expected)


@pytest.mark.parametrize(
    "arguments, error, text",
    [
        (dict(effort="hard"), autospmv.InvalidArgument, "effort is cached"),
        (dict(expected_calls=0), autospmv.InvalidArgument, "expected_calls"),
        (dict(device="gpu"), autospmv.InvalidArgument, "device is host"),
        (dict(device="cuda:99"), autospmv.Error, "cuda|CUDA"),
        (dict(shape=(3, 3)), TypeError, "shape goes with"),
        (dict(colour=1), TypeError, "colour"),
    ],
)
def test_wrong_options(arguments, error, text):
    with pytest.raises(error, match=text) as raised:
        make(random_matrix(3, 3), **arguments)
    assert "\n" not in str(raised.value)


def test_wrong_matrices():
    for wrong in (np.eye(3), [[1]], None, "a.mtx"):
        with pytest.raises(TypeError, match="a matrix is made of"):
            make(wrong)
    data, indices, indptr = np.ones(2), np.array([0, 1]), np.array([0, 1, 2])
    with pytest.raises(TypeError, match="shape="):
        make((data, indices, indptr))
    with pytest.raises(TypeError, match="three"):
        make((data, indices), shape=(2, 2))
    with pytest.raises(autospmv.InvalidArgument, match="column 1 of nonzero 1"):
        make((data, indices, indptr), shape=(2, 1))
    with pytest.raises(autospmv.InvalidArgument, match="row_ptr has 3"):
        make((data, indices, indptr), shape=(3, 2))
    with pytest.raises(TypeError, match="float"):
        make((data.astype(complex), indices, indptr), shape=(2, 2))
    with pytest.raises(TypeError, match="int"):
        make((data, indices.astype(float), indptr), shape=(2, 2))


def test_errors_are_of_one_tree():
    for name in ("InvalidArgument", "OutOfMemory", "DeviceError", "Unsupported"):
        assert issubclass(getattr(autospmv, name), autospmv.Error)
    assert issubclass(autospmv.InvalidArgument, ValueError)
    assert issubclass(autospmv.OutOfMemory, MemoryError)


def test_explains():
    S = random_matrix(300, 300)
    A = make(S, effort="measure")
    said = A.plan
    assert said.source == "measured" and said.settled
    assert said.choice.seconds > 0 and said.baseline.seconds > 0
    assert said.choice.format in str(said)
    read = json.loads(said.json)
    assert read["choice"]["format"] == said.choice.format
    assert not read["transposed"] and json.loads(A.T.explain().json)["transposed"]


def test_empty():
    for shape in ((0, 5), (5, 0), (0, 0), (3, 4)):
        A = make(sp.csr_matrix(shape))
        close(A @ np.ones(shape[1]), np.zeros(shape[0]))
        close(A.T @ np.ones(shape[0]), np.zeros(shape[1]))


def test_a_file_keeps_what_was_learned(tmp_path):
    S = random_matrix(200, 200)
    file = tmp_path / "trials.db"
    assert make(S, effort="measure", database=file).plan.source == "measured"
    assert make(S, effort="cached", database=file).plan.source == "database"


def test_four_threads_multiply_at_once():
    S = random_matrix(2000, 2000, 0.01)
    A = make(S)
    wrong = []

    def work(seed):
        x = vector(2000, seed=seed)
        expected = S @ x
        wrong.extend(i for i in range(200) if not np.allclose(A @ x, expected))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_matrix_goes_at_once_with_its_transposed_one():
    gc.disable()
    try:
        A = make(random_matrix(9, 9))
        T = A.T
        watched = weakref.ref(A), weakref.ref(T)
        del T
        assert A.T is watched[1]()
        del A
        assert watched[0]() is None and watched[1]() is None
        T = make(random_matrix(9, 9)).T
        close(T.T @ np.ones(9), random_matrix(9, 9) @ np.ones(9))
    finally:
        gc.enable()


def test_matrices_that_go_leave_no_memory_behind():
    S = random_matrix(60, 60)
    x = vector(60)

    def make_and_drop(count):
        for _ in range(count):
            A = make(S, effort="cached")
            A @ x, A.T @ x
        gc.collect()

    make_and_drop(2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    make_and_drop(10000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 4096  # KiB


def test_an_interrupted_tuning_leaves_nothing_bad(tmp_path):
    S = random_matrix(3000, 3000, 0.01)
    x = vector(3000)
    A = make(S, effort="exhaustive", database=tmp_path / "trials.db")
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            A @ x  # takes minutes
    finally:
        signal.signal(signal.SIGALRM, before)
    # What was measured is known, and a matrix that shall not be tuned any more can be multiplied at once.
    known = make(S, effort="cached", database=tmp_path / "trials.db")
    close(known @ x, S @ x)
    close(make(S, effort="estimate", database=tmp_path / "trials.db") @ x, S @ x)
    del A, known
    gc.collect()


def test_what_a_handler_raises_comes_out(tmp_path):
    class Stopped(Exception):
        pass

    def handler(number, frame):
        raise Stopped

    A = make(random_matrix(3000, 3000, 0.01), effort="exhaustive")
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.2)
    try:
        with pytest.raises(Stopped):
            A.plan
    finally:
        signal.signal(signal.SIGALRM, before)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stream, progress", [(Terminal, True), (Terminal, False), (io.StringIO, True)])
def test_a_line_of_progress_on_terminals(monkeypatch, stream, progress):
    said = stream()
    monkeypatch.setattr(sys, "stderr", said)
    make(random_matrix(200, 200), effort="measure", progress=progress) @ vector(200)
    text = said.getvalue()
    if stream is Terminal and progress:
        assert "tuning [" in text and text.endswith(" \r") and "\n" not in text
    else:
        assert text == ""


def test_plans_in_notebooks(tmp_path):
    plan = make(random_matrix(300, 300), effort="measure", database=tmp_path / "trials.db").plan
    html = plan._repr_html_()
    assert html.startswith("<table>") and plan.choice.format in html
    assert ("runner-up" in html) == (plan.runner_up is not None)
    assert plan.speedup > 0 and f"{plan.speedup:.2f} times" in html
    assert repr(plan) == str(plan) and plan.candidates
    cached = make(random_matrix(300, 300), effort="cached").plan
    assert cached.speedup is None and "not measured" in cached._repr_html_()
