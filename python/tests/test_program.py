"""The program comes with the package."""

import subprocess
import sys
from pathlib import Path

import autospmv


def test_the_program_is_of_the_same_version():
    program = Path(sys.executable).parent / "autospmv"
    run = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert autospmv.__version__ in run.stdout
