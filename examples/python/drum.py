#!/usr/bin/env python3
"""The lowest tones of a round drum, by SciPy's eigsh on a mesh of triangles, with products by autospmv and by SciPy.

    drum.py [RINGS]       of the mesh; 40, which are 4,921 nodes

The exact squares of the frequencies are those of the zeros of Bessel functions: 5.783, 14.682, 14.682, 26.375.
"""

import sys
import time

import autospmv
import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from scipy.spatial import Delaunay

EXACT = np.array([5.783186, 14.681971, 14.681971, 26.374616])


def mesh(rings):
    """Nodes on circles around the middle, those of the rim last, and triangles of them."""
    nodes = [(0.0, 0.0)]
    for ring in range(1, rings + 1):
        angles = 2 * np.pi * np.arange(6 * ring) / (6 * ring)
        nodes.extend(zip(ring / rings * np.cos(angles), ring / rings * np.sin(angles)))
    nodes = np.array(nodes)
    return nodes, Delaunay(nodes).simplices, len(nodes) - 6 * rings


def assemble(nodes, triangles, inner):
    """Stiffness by linear elements, divided by the masses of the nodes; the rim is held."""
    corners = nodes[triangles]
    edges = np.roll(corners, -1, axis=1) - np.roll(corners, 1, axis=1)
    areas = abs(edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]) / 2
    local = np.einsum("tik,tjk->tij", edges, edges) / (4 * areas[:, None, None])
    rows, cols = np.repeat(triangles, 3, axis=1), np.tile(triangles, 3)
    stiffness = sp.coo_array((local.ravel(), (rows.ravel(), cols.ravel())), shape=(len(nodes),) * 2).tocsr()
    masses = np.bincount(triangles.ravel(), np.repeat(areas / 3, 3))
    scale = sp.diags_array(1 / np.sqrt(masses[:inner]))
    return sp.csr_array(scale @ stiffness[:inner, :inner] @ scale)


def main():
    rings = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    K = assemble(*mesh(rings))
    # Lanczos finds the ends of a spectrum, and the large end soonest: it is turned around.
    top = abs(K).sum(axis=1).max()
    S = sp.csr_array(top * sp.eye_array(K.shape[0]) - K)
    A = autospmv.Matrix(S)
    start_vector = np.ones(S.shape[0])
    for name, operator in (("SciPy", S), ("autospmv", autospmv.aslinearoperator(A))):
        start = time.perf_counter()
        values = eigsh(operator, k=4, which="LA", v0=start_vector, ncv=40, return_eigenvectors=False)
        seconds = time.perf_counter() - start
        tones = np.sort(top - values)
        print(f"{name}: {np.round(tones, 3)}, {seconds:.3f} s, off by {abs(tones / EXACT - 1).max():.1e}")
    chosen = A.plan.choice
    print(f"chosen: {chosen.format} {chosen.parameters}")


if __name__ == "__main__":
    main()
