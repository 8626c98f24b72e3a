#!/usr/bin/env python3
"""PageRank of a directed graph, with products by autospmv and by SciPy.

    pagerank.py [GRAPH.mtx]       entry (i, j): a link from i to j; without a file, a random graph of 100,000 pages
"""

import sys
import time

import autospmv
import numpy as np
import scipy.io
import scipy.sparse as sp

DAMPING = 0.85


def random_graph(pages=100_000, links=1_000_000):
    """Few pages have most links to them."""
    rng = np.random.default_rng(1)
    popular = (pages * rng.random(links) ** 3).astype(np.int64)
    return sp.csr_array((np.ones(links), (rng.integers(0, pages, links), popular)), shape=(pages, pages))


def pagerank(M, dangling, tolerance=1e-10):
    """The ranks, and the products that they took; M is the transposed graph, its columns divided by their sums."""
    pages = M.shape[0]
    rank = np.full(pages, 1 / pages)
    for products in range(1, 1000):
        new = M @ rank
        new *= DAMPING
        new += (DAMPING * rank[dangling].sum() + 1 - DAMPING) / pages
        change = abs(new - rank).sum()
        rank = new
        if change < tolerance:
            break
    return rank, products


def main():
    graph = sp.csr_array(scipy.io.mmread(sys.argv[1], spmatrix=False)) if len(sys.argv) > 1 else random_graph()
    graph.data = np.ones(graph.nnz)
    links = graph.sum(axis=1)
    S = sp.csr_array((graph / np.maximum(links, 1)[:, None]).T)
    A = autospmv.Matrix(S)
    for name, M in (("SciPy", S), ("autospmv", A)):
        start = time.perf_counter()
        rank, products = pagerank(M, links == 0)
        seconds = time.perf_counter() - start
        best = ", ".join(f"{page}: {rank[page]:.3e}" for page in np.argsort(-rank)[:3])
        print(f"{name}: {products} products, {seconds:.3f} s, first pages {best}")
    chosen = A.plan.choice
    print(f"chosen: {chosen.format} {chosen.parameters}")


if __name__ == "__main__":
    main()
