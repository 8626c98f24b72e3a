#!/usr/bin/env python3
"""How many times as fast as others A @ x is: SciPy's on the host, CuPy's and PyTorch's on a CUDA device.

    speedup.py [--float] [--threads N,N] [--cuda] [--effort NAME] [--json FILE] [--values own|random:SEED] MATRIX...

MATRIX is a Matrix Market file, plain or compressed by gzip, bzip2 or xz; without any, some are generated. --values is
for those that follow it: random:SEED gives structures without values of their own ones of full precision, as
`autospmv bench` does. Each pair of products is timed in turns, warm, after tuning; a result is the median over rounds,
and every product makes a new vector, as A @ x does. SciPy's product takes one thread, whatever --threads says.
"""

import argparse
import json
import lzma
import os
import statistics
import subprocess
import sys
import time

ROUNDS = 15
SECONDS_OF_SAMPLE = 5e-3


def read(path, seed, dtype):
    import numpy as np
    import scipy.io
    import scipy.sparse as sp

    opened = lzma.open(path) if path.endswith(".xz") else path
    coordinates = scipy.io.mmread(opened)
    if seed is not None:
        # One value for both places of a symmetric pair.
        low, high = np.minimum(coordinates.row, coordinates.col), np.maximum(coordinates.row, coordinates.col)
        symmetric = is_symmetric(path)
        first, second = (low, high) if symmetric else (coordinates.row, coordinates.col)
        place = first.astype(np.int64) * coordinates.shape[1] + second
        _, pair = np.unique(place, return_inverse=True)
        coordinates.data = np.random.default_rng(seed).uniform(-1, 1, pair.max(initial=-1) + 1)[pair]
    matrix = sp.csr_array(coordinates, dtype=dtype)
    matrix.sort_indices()
    return matrix


def is_symmetric(path):
    import bz2
    import gzip

    opens = {".xz": lzma.open, ".gz": gzip.open, ".bz2": bz2.open}
    with opens.get(os.path.splitext(path)[1], open)(path, "rt") as file:
        return " symmetric" in file.readline()


def generated(dtype):
    import numpy as np
    import scipy.sparse as sp

    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(400, 400))
    eye = sp.eye_array(400)
    plane = (sp.kron(line, eye) + sp.kron(eye, line)).tocsr()
    rng = np.random.default_rng(7)
    blocks = sp.kron(sp.random_array((20_000, 20_000), density=2e-4, rng=rng), np.ones((3, 3))).tocsr()
    blocks.data = rng.uniform(-1, 1, blocks.nnz)
    # Rows whose lengths follow a power law.
    lengths = np.minimum((rng.pareto(1.2, 100_000) + 1).astype(np.int64) * 3, 5_000)
    rows = np.repeat(np.arange(100_000), lengths)
    graph = sp.coo_array((np.ones(rows.size), (rows, rng.integers(0, 100_000, rows.size))), shape=(100_000, 100_000))
    scattered = sp.random_array((200_000, 200_000), density=5e-5, rng=rng)
    band = sp.diags_array([rng.uniform(-1, 1, 300_000) for _ in range(9)], offsets=range(-4, 5), shape=(300_000, 300_000))
    named = {"plane": plane, "blocks": blocks, "graph": graph, "scattered": scattered, "band": band}
    return {name: sp.csr_array(matrix, dtype=dtype) for name, matrix in named.items()}


def time_in_turns(products, wait):
    """Median seconds of each product."""

    def sample(product, count):
        wait()
        start = time.perf_counter()
        for _ in range(count):
            product()
        wait()
        return (time.perf_counter() - start) / count

    counts = [max(1, int(SECONDS_OF_SAMPLE / min(sample(product, 1) for _ in range(5)))) for product in products]
    samples = [[] for _ in products]
    for _ in range(ROUNDS):
        for product, count, taken in zip(products, counts, samples):
            taken.append(sample(product, count))
    return [statistics.median(taken) for taken in samples]


def rivals_on_device(matrix, x):
    """Name, product and the way to wait, of the libraries there are; the rival's product and ours."""
    import autospmv

    found = []
    try:
        import cupy
        import cupyx.scipy.sparse as cusp

        theirs, vector = cusp.csr_matrix(matrix), cupy.asarray(x)
        found.append(("CuPy", theirs, vector, cupy.cuda.Device().synchronize))
    except ImportError:
        print("CuPy is not installed", file=sys.stderr)
    try:
        import torch

        theirs = torch.sparse_csr_tensor(
            *(torch.from_numpy(array) for array in (matrix.indptr, matrix.indices, matrix.data)), matrix.shape
        ).cuda()
        found.append(("PyTorch", theirs, torch.from_numpy(x).cuda(), torch.cuda.synchronize))
    except ImportError:
        print("PyTorch is not installed", file=sys.stderr)
    return [(name, theirs, vector, wait) for name, theirs, vector, wait in found]


def measure(name, matrix, arguments):
    import numpy as np

    import autospmv

    x = np.random.default_rng(1).uniform(-1, 1, matrix.shape[1]).astype(matrix.dtype)
    expected = matrix @ x
    if arguments.cuda:
        rivals = rivals_on_device(matrix, x)
    else:
        rivals = [("SciPy", matrix, x, lambda: None)]
    for rival, theirs, vector, wait in rivals:
        A = autospmv.Matrix(theirs, effort=arguments.effort, database="memory")
        choice = A.plan.choice
        got = np.asarray((A @ vector).get() if rival == "CuPy" else (A @ vector).cpu() if rival == "PyTorch" else A @ vector)
        scale = abs(matrix) @ abs(x)
        if not np.all(abs(got - expected) <= 64 * np.finfo(matrix.dtype).eps * scale + np.finfo(matrix.dtype).tiny):
            sys.exit(f"{name}: wrong answer")
        ours, others = time_in_turns([lambda: A @ vector, lambda: theirs @ vector], wait)
        yield {
            "matrix": name,
            "rows": matrix.shape[0],
            "nnz": matrix.nnz,
            "rival": rival,
            "threads": int(os.environ["OMP_NUM_THREADS"]),
            "choice": f"{choice.format} {choice.parameters}".strip(),
            "seconds": ours,
            "rival_seconds": others,
        }


def run(arguments):
    import numpy as np

    dtype = np.float32 if arguments.float else np.float64
    seed = None
    matrices = iter(generated(dtype).items()) if not arguments.matrices else None
    if matrices is None:

        def files():
            nonlocal seed
            words = iter(arguments.matrices)
            for word in words:
                if word == "--values":
                    kind = next(words, "")
                    if kind != "own" and not kind.startswith("random:"):
                        sys.exit(f"--values takes own or random:SEED, not '{kind}'")
                    seed = None if kind == "own" else int(kind.removeprefix("random:"))
                else:
                    yield os.path.basename(word).split(".mtx")[0], read(word, seed, dtype)

        matrices = files()
    for name, matrix in matrices:
        for record in measure(name, matrix, arguments):
            print(json.dumps(record), flush=True)


def table(records):
    columns = sorted({(record["rival"], record["threads"]) for record in records})
    heads = [f"over {rival}" + (f", {threads} thread{'s' * (threads > 1)}" if rival == "SciPy" else "") for rival, threads in columns]
    lines = ["| matrix | nonzeros | " + " | ".join(heads) + " | chosen |", "|---|--:|" + "--:|" * len(columns) + "---|"]
    gains = {column: [] for column in columns}
    for name in dict.fromkeys(record["matrix"] for record in records):
        of = {(r["rival"], r["threads"]): r for r in records if r["matrix"] == name}
        cells = []
        for column in columns:
            if column in of:
                gains[column].append(of[column]["rival_seconds"] / of[column]["seconds"])
            cells.append(f"{gains[column][-1]:.2f}" if column in of else "-")
        last = of[max(of)]
        lines.append(f"| {name} | {last['nnz']} | " + " | ".join(cells) + f" | {last['choice']} |")
    means = [f"{statistics.geometric_mean(gains[c]):.2f} ({min(gains[c]):.2f} to {max(gains[c]):.2f})" for c in columns]
    lines.append("| geometric mean (least to most) | | " + " | ".join(means) + " | |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--float", action="store_true")
    parser.add_argument("--threads", default="1,2", help="of our products on the host")
    parser.add_argument("--cuda", action="store_true", help="CuPy's and PyTorch's products, on the first CUDA device")
    parser.add_argument("--effort", default="measure")
    parser.add_argument("--json", metavar="FILE", help="keep the times as well, a line each")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments, arguments.matrices = parser.parse_known_args()
    if arguments.child:
        run(arguments)
        return
    # The number of threads is fixed where a process begins.
    records = []
    for threads in [1] if arguments.cuda else map(int, arguments.threads.split(",")):
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
        command = [sys.executable, __file__, "--child", *sys.argv[1:]]
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as child:
            for line in child.stdout:
                records.append(json.loads(line))
                if arguments.json:
                    with open(arguments.json, "a") as file:
                        file.write(line)
        if child.returncode != 0:
            sys.exit(child.returncode)
    print(table(records))


if __name__ == "__main__":
    main()
