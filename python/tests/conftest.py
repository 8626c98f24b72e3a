"""What the tests share."""

import numpy as np
import pytest
import scipy.sparse as sp


@pytest.fixture(autouse=True)
def no_database(monkeypatch):
    monkeypatch.setenv("AUTOSPMV_DB", ":memory:")
    monkeypatch.setenv("AUTOSPMV_SYSTEM_DB", "")


def random_matrix(rows, cols, density=0.05, dtype=np.float64, seed=1):
    return sp.random(rows, cols, density, format="csr", dtype=dtype, random_state=seed)


def vector(size, dtype=np.float64, seed=2):
    return np.random.default_rng(seed).standard_normal(size).astype(dtype)


def close(y, expected):
    assert y.dtype == expected.dtype
    tolerance = 1e-12 if y.dtype == np.float64 else 1e-5
    np.testing.assert_allclose(y, expected, rtol=tolerance, atol=tolerance)


class Packed:
    """What speaks DLPack and nothing else."""

    def __init__(self, array):
        self.array = array

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()
