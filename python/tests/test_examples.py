"""The examples run, and get the same with our products as with SciPy's."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp

EXAMPLES = Path(__file__).parents[2] / "examples" / "python"


def said_by(example, *arguments):
    environment = {**os.environ, "AUTOSPMV_DB": ":memory:"}
    command = [sys.executable, EXAMPLES / f"{example}.py", *map(str, arguments)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    lines = {line.split(":")[0]: line for line in run.stdout.splitlines()}
    assert lines["chosen"]
    return lines["SciPy"], lines["autospmv"]


def test_conjugate_gradient(tmp_path):
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(30, 30))
    eye = sp.eye_array(30)
    scipy.io.mmwrite(tmp_path / "plane.mtx", sp.coo_array(sp.kron(line, eye) + sp.kron(eye, line)))
    theirs, ours = said_by("conjugate_gradient", tmp_path / "plane.mtx")
    iterations = [int(re.search(r"(\d+) iterations", text)[1]) for text in (theirs, ours)]
    assert abs(iterations[0] - iterations[1]) <= 1
    assert float(re.search(r"<= (\S+)", ours)[1]) < 1e-5


def test_pagerank(tmp_path):
    rng = np.random.default_rng(3)
    links = sp.coo_array((np.ones(9000), (rng.integers(0, 1000, 9000), rng.integers(0, 1000, 9000) ** 2 // 1000)))
    scipy.io.mmwrite(tmp_path / "graph.mtx", sp.coo_array(sp.csr_array(links, shape=(1000, 1000))))
    theirs, ours = said_by("pagerank", tmp_path / "graph.mtx")
    assert theirs.split("first pages")[1] == ours.split("first pages")[1]


def test_drum():
    theirs, ours = said_by("drum", 12)
    assert re.search(r"\[.*\]", theirs)[0] == re.search(r"\[.*\]", ours)[0]
    assert float(ours.split("off by ")[1]) < 0.02
