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
    coordinates = scipy.io.mmread(opened, spmatrix=False)
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


class Rival:
    """Another library's product: theirs @ x, and into an array that is there where it has that."""

    def __init__(self, name, theirs, x, wait, to_numpy, into=None):
        self.name, self.theirs, self.x, self.wait, self.to_numpy, self.into = name, theirs, x, wait, to_numpy, into


def rivals_on_host(matrix, x):
    return [Rival("SciPy", matrix, x, lambda: None, lambda y: y)]


def rivals_on_device(matrix, x):
    found = []
    try:
        import cupy
        import cupyx.scipy.sparse as cusp

        theirs = cusp.csr_matrix(matrix)
        found.append(Rival("CuPy", theirs, cupy.asarray(x), cupy.cuda.Device().synchronize, lambda y: y.get()))
    except ImportError:
        print("CuPy is not installed", file=sys.stderr)
    try:
        import torch

        arrays = (torch.from_numpy(array) for array in (matrix.indptr, matrix.indices, matrix.data))
        theirs = torch.sparse_csr_tensor(*arrays, matrix.shape, check_invariants=True).cuda()
        vector, wait = torch.from_numpy(x).cuda(), torch.cuda.synchronize
        found.append(Rival("PyTorch", theirs, vector, wait, lambda y: y.cpu().numpy(), torch.mv))
    except ImportError:
        print("PyTorch is not installed", file=sys.stderr)
    return found


def measure(name, matrix, arguments):
    import numpy as np

    import autospmv

    x = np.random.default_rng(1).uniform(-1, 1, matrix.shape[1]).astype(matrix.dtype)
    expected = matrix @ x
    tolerance = 64 * np.finfo(matrix.dtype).eps * (abs(matrix) @ abs(x)) + np.finfo(matrix.dtype).tiny
    for rival in (rivals_on_device if arguments.cuda else rivals_on_host)(matrix, x):
        A = autospmv.Matrix(rival.theirs, effort=arguments.effort, database="memory")
        choice = A.plan.choice
        y = A @ rival.x
        if not np.all(abs(rival.to_numpy(y) - expected) <= tolerance):
            sys.exit(f"{name}: wrong answer")
        products = {
            "ours": lambda: A @ rival.x,
            "theirs": lambda: rival.theirs @ rival.x,
            "ours_out": lambda: A.matvec(rival.x, out=y),
        }
        if rival.into:
            products["theirs_out"] = lambda: rival.into(rival.theirs, rival.x, out=y)
        times = time_in_turns(list(products.values()), rival.wait)
        yield {
            "matrix": name,
            "rows": matrix.shape[0],
            "nnz": matrix.nnz,
            "rival": rival.name,
            "threads": int(os.environ["OMP_NUM_THREADS"]),
            "choice": f"{choice.format} {choice.parameters}".strip(),
            "product": choice.seconds,
            **dict(zip(products, times)),
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
    """Of one rival and one number of threads."""
    has_out = "theirs_out" in records[0]
    columns = ["product", "ours", "ours_out", "theirs"] + ["theirs_out"] * has_out
    heads = ["product", "A @ x", "A.matvec(x, out=y)", "theirs", "theirs, out="][: len(columns)]
    heads += ["theirs / ours"] + ["the same, out="] * has_out
    lines = ["| matrix | nonzeros | " + " | ".join(heads) + " | chosen |", "|---|--:|" + "--:|" * len(heads) + "---|"]
    gains, gains_out = [], []
    for record in records:
        cells = [f"{1e6 * record[column]:.1f}" for column in columns]
        gains.append(record["theirs"] / record["ours"])
        cells.append(f"{gains[-1]:.2f}")
        if has_out:
            gains_out.append(record["theirs_out"] / record["ours_out"])
            cells.append(f"{gains_out[-1]:.2f}")
        lines.append(f"| {record['matrix']} | {record['nnz']} | " + " | ".join(cells) + f" | {record['choice']} |")
    for name, values in (("A @ x", gains), ("out=", gains_out)):
        if values:
            slower = sum(value < 0.95 for value in values)
            lines.append(
                f"\n{name}: {statistics.geometric_mean(values):.2f} times as fast in geometric mean over {len(values)} "
                f"matrices, {min(values):.2f} to {max(values):.2f}; below 0.95 on {slower}"
            )
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
    for rival, threads in sorted({(record["rival"], record["threads"]) for record in records}):
        counted = f", {threads} thread{'s' * (threads > 1)} of ours" if rival == "SciPy" else ""
        print(f"\nBeside {rival}{counted}\n")
        print(table([r for r in records if (r["rival"], r["threads"]) == (rival, threads)]))


if __name__ == "__main__":
    main()
