"""The program comes with the package."""

import json
import subprocess
import sys
from pathlib import Path

import autospmv

PROGRAM = Path(sys.executable).parent / "autospmv"


def test_the_program_is_of_the_same_version():
    run = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True)
    assert autospmv.__version__ in run.stdout


def test_both_find_what_is_known_of_other_matrices(monkeypatch):
    monkeypatch.delenv("AUTOSPMV_SYSTEM_DB")
    words = ["explain", "--json", "--backend", "host", "--effort", "estimate", "gen:pde:20"]
    run = subprocess.run([PROGRAM, *words], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["known_on"]
    # In a process of its own: contexts of this one may be of another environment.
    script = (
        "import autospmv, scipy.sparse as sp\n"
        "S = sp.random(2000, 2000, 0.01, format='csr', random_state=1)\n"
        "print(autospmv.Matrix(S, effort='estimate', device='host', database='memory').explain().json)\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(run.stdout)["known_on"]
