/* Solves A x = b by the method of conjugate gradients in C, every product by autospmv; A is the five-point Laplacian of
 * a square grid, which stands for any symmetric positive definite matrix: conjugate_gradient_c [POINTS_A_SIDE] */
#include <autospmv/autospmv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void check(autospmv_status status) {
  if (status == AUTOSPMV_OK) return;
  fprintf(stderr, "autospmv: %s\n", autospmv_last_error());
  exit(1);
}

static void* allocate(size_t count, size_t size) {
  void* memory = calloc(count, size);
  if (memory == NULL) {
    fprintf(stderr, "not enough memory\n");
    exit(1);
  }
  return memory;
}

/* The matrix keeps a copy of its arrays, so they go at once. */
static autospmv_matrix* make_laplacian(int32_t side) {
  const int32_t rows = side * side;
  int32_t* row_ptr = allocate((size_t)rows + 1, sizeof *row_ptr);
  int32_t* col_idx = allocate(5 * (size_t)rows, sizeof *col_idx);
  double* values = allocate(5 * (size_t)rows, sizeof *values);
  autospmv_matrix* matrix = NULL;
  int32_t nnz = 0;
  for (int32_t row = 0; row < rows; ++row) {
    const int32_t line = row / side;
    const int32_t place = row % side;
    const int32_t neighbours[5] = {line > 0 ? row - side : -1, place > 0 ? row - 1 : -1, row,
                                   place < side - 1 ? row + 1 : -1, line < side - 1 ? row + side : -1};
    for (int i = 0; i < 5; ++i) {
      if (neighbours[i] < 0) continue;
      col_idx[nnz] = neighbours[i];
      values[nnz] = neighbours[i] == row ? 4 : -1;
      ++nnz;
    }
    row_ptr[row + 1] = nnz;
  }
  check(autospmv_matrix_from_csr(rows, rows, nnz, AUTOSPMV_I32, row_ptr, AUTOSPMV_I32, col_idx, AUTOSPMV_F64, values, 0,
                                 NULL, &matrix));
  free(row_ptr);
  free(col_idx);
  free(values);
  return matrix;
}

static double dot(size_t n, const double* a, const double* b) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

/* y += factor x */
static void add(size_t n, double* y, double factor, const double* x) {
  for (size_t i = 0; i < n; ++i) y[i] += factor * x[i];
}

/* y = A x */
static void multiply(autospmv_matrix* A, const double* x, double* y) {
  check(autospmv_spmv(NULL, A, AUTOSPMV_PLAIN, NULL, x, NULL, y, NULL));
}

/* Improves x from 0 until the residual, which comes with b in it, is small; returns the number of iterations. */
static int solve(autospmv_matrix* A, size_t n, double* residual, double* x, double tolerance) {
  double* direction = allocate(n, sizeof *direction);
  double* product = allocate(n, sizeof *product);
  double squared = dot(n, residual, residual);
  const double goal = tolerance * tolerance * squared;
  int iteration = 0;
  add(n, direction, 1, residual);
  for (; squared > goal && iteration < 10000; ++iteration) {
    const double previous = squared;
    multiply(A, direction, product);
    const double step = squared / dot(n, direction, product);
    add(n, x, step, direction);
    add(n, residual, -step, product);
    squared = dot(n, residual, residual);
    for (size_t i = 0; i < n; ++i) direction[i] = residual[i] + squared / previous * direction[i];
  }
  free(direction);
  free(product);
  return iteration;
}

static void print_plan(autospmv_matrix* A) {
  size_t size = 0;
  check(autospmv_explain(NULL, A, AUTOSPMV_PLAIN, NULL, &size));
  char* json = allocate(size, 1);
  check(autospmv_explain(NULL, A, AUTOSPMV_PLAIN, json, &size));
  printf("%s\n", json);
  free(json);
}

int main(int argc, char** argv) {
  const int side = argc > 1 ? atoi(argv[1]) : 200;
  if (argc > 2 || side < 1 || side > 10000) {
    fprintf(stderr, "usage: %s [POINTS_A_SIDE], at most 10000\n", argv[0]);
    return 2;
  }
  const size_t n = (size_t)side * (size_t)side;
  double* x = allocate(n, sizeof *x);
  double* residual = allocate(n, sizeof *residual);
  autospmv_matrix* A = make_laplacian(side);
  check(autospmv_plan(NULL, A, AUTOSPMV_PLAIN)); /* tunes, or looks the matrix up */
  print_plan(A);

  const double tolerance = 1e-8;
  for (size_t i = 0; i < n; ++i) residual[i] = 1;
  const int iterations = solve(A, n, residual, x, tolerance);

  /* What the recurrence believes drifts away from the residual itself, so it is computed anew: b - A x. */
  const double alpha = -1;
  const double beta = 1;
  for (size_t i = 0; i < n; ++i) residual[i] = 1;
  check(autospmv_spmv(NULL, A, AUTOSPMV_PLAIN, &alpha, x, &beta, residual, NULL));
  const double relative = sqrt(dot(n, residual, residual) / (double)n);
  printf("autospmv %s: %d unknowns, %d iterations, relative residual %.2e\n", autospmv_version(), (int)n, iterations,
         relative);

  autospmv_matrix_destroy(A);
  free(residual);
  free(x);
  return relative <= 10 * tolerance ? 0 : 1;
}
