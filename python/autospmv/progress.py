"""The line that a tuning writes while it runs: on a terminal and in Jupyter, and nowhere else."""

from __future__ import annotations

import sys
import time

_CELLS = 20

_began = 0.0
_width = 0


def _is_shown(stream):
    return stream is not None and (stream.isatty() or type(stream).__module__.startswith("ipykernel"))


def show(done, total, candidate):
    """Called before each trial; whether a line stands now."""
    global _began, _width
    stream = sys.stderr
    if not _is_shown(stream):
        return False
    if done == 0:
        _began = time.monotonic()
    share = min(1.0, done / max(1, total))
    bar = ("#" * round(_CELLS * share)).ljust(_CELLS, ".")
    text = f"tuning [{bar}] {done}/{total}, {time.monotonic() - _began:.1f} s, {candidate}"[:100]
    stream.write("\r" + text.ljust(_width))
    stream.flush()
    _width = len(text)
    return True


def clear():
    """Called when the tuning ends."""
    global _width
    if sys.stderr is not None:
        sys.stderr.write("\r" + " " * _width + "\r")
        sys.stderr.flush()
    _width = 0
