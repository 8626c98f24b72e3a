"""Where cuSPARSE is: NVIDIA's packages for Python and conda put it where the loader does not look."""

from __future__ import annotations

import functools


@functools.cache
def load():
    """Loads it, if it can be found; without it the formats that it multiplies are left out."""
    try:
        from cuda import pathfinder

        pathfinder.load_nvidia_dynamic_lib("cusparse")
    except (ImportError, RuntimeError):
        pass  # then there is what the loader finds
