// What somebody else's program does: solves A x = b by the method of conjugate gradients, with nothing but the public
// headers, and says by what.
#include <autospmv/autospmv.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numeric>
#include <vector>

namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) { return std::inner_product(a.begin(), a.end(), b.begin(), 0.0); }

// The second difference on a line of n points, whose solution for b = 1 is a parabola.
autospmv::Matrix<double> make_laplacian(std::int32_t n) {
  std::vector<std::int32_t> row_ptr{0};
  std::vector<std::int32_t> col_idx;
  Vector values;
  for (std::int32_t row = 0; row < n; ++row) {
    for (std::int32_t col = row - 1; col <= row + 1; ++col) {
      if (col < 0 || col >= n) continue;
      col_idx.push_back(col);
      values.push_back(col == row ? 2 : -1);
    }
    row_ptr.push_back(static_cast<std::int32_t>(col_idx.size()));
  }
  return autospmv::Matrix<double>::from_csr(n, n, row_ptr, col_idx, values);
}

// x = A^-1 b
Vector solve(const autospmv::Plan<double>& plan, const Vector& b) {
  Vector x(b.size());
  Vector residual = b;
  Vector direction = b;
  Vector product(b.size());
  double squared = dot(residual, residual);
  for (std::size_t iteration = 0; iteration < 2 * b.size() && squared > 1e-20; ++iteration) {
    plan(direction, product);
    const double step = squared / dot(direction, product);
    for (std::size_t i = 0; i < b.size(); ++i) {
      x[i] += step * direction[i];
      residual[i] -= step * product[i];
    }
    const double previous = squared;
    squared = dot(residual, residual);
    for (std::size_t i = 0; i < b.size(); ++i) direction[i] = residual[i] + squared / previous * direction[i];
  }
  return x;
}

}  // namespace

int main() {
  try {
    constexpr std::int32_t n = 100;
    const auto A = make_laplacian(n);
    const autospmv::Context context({.device = autospmv::Place{}, .effort = autospmv::Effort::estimate});
    const auto plan = autospmv::make_plan(A, context);
    const auto x = solve(plan, Vector(n, 1.0));
    double error = 0;
    for (std::int32_t i = 0; i < n; ++i) {
      error = std::fmax(error, std::fabs(x[static_cast<std::size_t>(i)] - 0.5 * (i + 1) * (n - i)));
    }
    std::printf("autospmv %s, error %.1e\n%s", autospmv::version(), error, plan.explain().text().c_str());
    try {
      Vector too_short(n - 1);
      plan(x, too_short);
    } catch (const autospmv::InvalidArgument&) {  // thrown in the library, caught here
      return error < 1e-6 ? 0 : 1;
    }
    std::fprintf(stderr, "a vector that is too short was taken\n");
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "%s\n", exception.what());
  }
  return 1;
}
