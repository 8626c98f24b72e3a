// Solves A x = b for a symmetric positive definite A by the method of conjugate gradients (Hestenes, Stiefel, "Methods
// of conjugate gradients for solving linear systems", 1952), every product by a plan:
//     conjugate_gradient MATRIX          MATRIX: a Matrix Market file, or gen:KIND:ARGS
#include <autospmv/autospmv.hpp>
#include <cmath>
#include <cstdio>
#include <exception>
#include <numeric>
#include <utility>
#include <vector>

#include "io/load.hpp"

namespace {

using autospmv::Plan;
using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// y += factor x
void add(Vector& y, double factor, const Vector& x) {
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += factor * x[i];
}

// Improves x until |b - A x| <= tolerance |b|; returns the number of iterations.
int solve(const Plan<double>& A, const Vector& b, Vector& x, double tolerance) {
  Vector residual = b;
  A(x, residual, {.alpha = -1, .beta = 1});  // residual = b - A x
  Vector direction = residual;
  Vector product(b.size());
  double squared = dot(residual, residual);
  const double goal = tolerance * tolerance * dot(b, b);
  const int most_iterations = static_cast<int>(2 * b.size());
  int iteration = 0;
  for (; squared > goal && iteration < most_iterations; ++iteration) {
    A(direction, product);
    const double curvature = dot(direction, product);
    if (!(curvature > 0)) throw autospmv::Error("the matrix is not positive definite");
    const double step = squared / curvature;
    add(x, step, direction);
    add(residual, -step, product);
    const double previous = std::exchange(squared, dot(residual, residual));
    for (std::size_t i = 0; i < direction.size(); ++i) {
      direction[i] = residual[i] + squared / previous * direction[i];
    }
  }
  return iteration;
}

int run(const char* source) {
  const auto csr = autospmv::load_matrix<double>(source);
  if (csr.rows != csr.cols) throw autospmv::InvalidArgument("the matrix is not square");
  const auto matrix = autospmv::Matrix<double>::from_csr(csr.rows, csr.cols, csr.row_ptr, csr.col_idx, csr.values);
  const auto A = autospmv::make_plan(matrix);  // tunes, or looks the matrix up

  const double tolerance = 1e-8;
  const Vector b(static_cast<std::size_t>(csr.rows), 1.0);
  Vector x(b.size(), 0.0);
  const int iterations = solve(A, b, x, tolerance);

  // What the recurrence believes drifts away from the residual itself, so it is computed anew.
  Vector residual = b;
  A(x, residual, {.alpha = -1, .beta = 1});
  const double relative = std::sqrt(dot(residual, residual) / dot(b, b));
  std::printf("%s: %d iterations, relative residual %.2e, products by %s\n", source, iterations, relative,
              A.choice().c_str());
  return relative <= 10 * tolerance ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MATRIX\n", argv[0]);
    return 2;
  }
  try {
    return run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", argv[1], error.what());
    return 1;
  }
}
