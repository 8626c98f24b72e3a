"""The same from Python, by petsc4py: nothing here knows of autospmv, which is chosen when the program is run:

    PETSC_OPTIONS="-dll_prepend $PREFIX/lib/libpetscautospmv.so -mat_type aijautospmv" python3 solve.py -ksp_type cg
"""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402: after the options are known

n = PETSc.Options().getInt("n", 200)
A = PETSc.Mat().create()
A.setSizes(n * n)
A.setFromOptions()
A.setPreallocationNNZ((5, 2))
for row in range(*A.getOwnershipRange()):
    y, x = divmod(row, n)
    A[row, row] = 4
    for column, inside in ((row - 1, x > 0), (row + 1, x < n - 1), (row - n, y > 0), (row + n, y < n - 1)):
        if inside:
            A[row, column] = -1
A.assemble()

x, b = A.createVecs()
x.set(1)
A.mult(x, b)
x.set(0)
ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setFromOptions()
ksp.solve(b, x)

residual = b.duplicate()
A.mult(x, residual)
residual.axpy(-1, b)
PETSc.Sys.Print(f"{ksp.getIterationNumber()} iterations, relative residual {residual.norm() / b.norm():.3e}")
