// The host backend against Eigen's row-major sparse product, which runs in as many OpenMP threads as ours:
//     benchmark_eigen MATRIX...          MATRIX: a Matrix Market file, a directory of such, or gen:KIND:ARGS
// Both multiply the same values by the same vector into vectors of their own, in rounds one after the other.
#include <Eigen/SparseCore>
#include <algorithm>
#include <autospmv/autospmv.hpp>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "core/verify/random.hpp"
#include "io/load.hpp"

namespace {

using EigenMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor, int>;
using EigenVector = Eigen::VectorXd;
using Span = std::span<double>;

constexpr int rounds = 15;
constexpr double sample_seconds = 0.02;  // many products of a small matrix, so that the clock's grain does not count

template <class Product>
double seconds_of(int repetitions, const Product& product) {
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < repetitions; ++i) product();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / repetitions;
}

// How many products fill a sample; warms up on the way.
template <class Product>
int repetitions_for(const Product& product) {
  product();
  const double seconds = std::max(seconds_of(3, product), 1e-9);
  return std::clamp(static_cast<int>(sample_seconds / seconds), 1, 100000);
}

double median(std::vector<double> samples) {
  std::nth_element(samples.begin(), samples.begin() + rounds / 2, samples.end());
  return samples[rounds / 2];
}

struct Times {
  double eigen = 0;  // seconds a product
  double ours = 0;

  [[nodiscard]] double ratio() const { return eigen / ours; }
};

template <class EigenProduct, class OurProduct>
Times race(const EigenProduct& eigen_product, const OurProduct& our_product) {
  const int eigen_repetitions = repetitions_for(eigen_product);
  const int our_repetitions = repetitions_for(our_product);
  std::vector<double> eigen_samples;
  std::vector<double> our_samples;
  for (int round = 0; round < rounds; ++round) {
    eigen_samples.push_back(seconds_of(eigen_repetitions, eigen_product));
    our_samples.push_back(seconds_of(our_repetitions, our_product));
  }
  return {median(eigen_samples), median(our_samples)};
}

// Eigen keeps one entry a place, and so do matrices that are read or generated.
EigenMatrix eigen_copy(const autospmv::HostCsr<double>& csr) {
  if (std::max(csr.nnz(), csr.rows) > std::numeric_limits<int>::max()) {
    throw autospmv::Error("too large for Eigen's int");
  }
  const std::vector<int> row_ptr(csr.row_ptr.begin(), csr.row_ptr.end());
  return Eigen::Map<const EigenMatrix>(csr.rows, csr.cols, csr.nnz(), row_ptr.data(), csr.col_idx.data(),
                                       csr.values.data());
}

void check_equal(const EigenVector& expected, const EigenVector& result) {
  if (!((expected - result).norm() <= 1e-12 * expected.norm())) throw autospmv::Error("the two products differ");
}

Times compare(const std::string& source, const autospmv::Context& context) {
  const auto csr = autospmv::load_matrix<double>(source);
  const auto A = autospmv::Matrix<double>::from_csr(csr.rows, csr.cols, csr.row_ptr, csr.col_idx, csr.values);
  const EigenMatrix eigen_A = eigen_copy(csr);
  EigenVector x(csr.cols);
  autospmv::fill_random(x.data(), x.size(), 1, {}, {});
  EigenVector eigen_y(csr.rows);
  EigenVector our_y(csr.rows);

  const autospmv::SpmvOptions<double> options{.context = &context};
  const auto our_product = [&] {
    autospmv::auto_spmv(A, Span(x.data(), csr.cols), Span(our_y.data(), csr.rows), options);
  };
  const auto eigen_product = [&] { eigen_y.noalias() = eigen_A * x; };
  our_product();  // tunes
  eigen_product();
  check_equal(eigen_y, our_y);
  const auto times = race(eigen_product, our_product);
  std::printf("%-32s %12.2f %12.2f %8.2f  %-8s  %s\n", autospmv::label_of(source).c_str(), times.eigen * 1e6,
              times.ours * 1e6, times.ratio(), times.ratio() >= 1 ? "autospmv" : "Eigen",
              autospmv::kept_plan(A, context).choice().c_str());
  std::fflush(stdout);
  return times;
}

int run(const std::vector<std::string>& arguments) {
  const auto sources = autospmv::expand_sources(arguments);
  const autospmv::Context context({.device = autospmv::Place{}, .database = autospmv::DatabaseChoice::memory()});
  std::printf("%s; Eigen %d.%d.%d on %d threads; ratio: Eigen's time over ours\n", context.device_name().c_str(),
              EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION, EIGEN_MINOR_VERSION, Eigen::nbThreads());
  std::printf("%-32s %12s %12s %8s  %-8s  %s\n", "matrix", "Eigen us", "autospmv us", "ratio", "winner", "plan");
  double log_sum = 0;
  double worst = std::numeric_limits<double>::infinity();
  for (const auto& source : sources) {
    const double ratio = compare(source, context).ratio();
    log_sum += std::log(ratio);
    worst = std::min(worst, ratio);
  }
  std::printf("%zu matrices: geometric mean %.2f, worst %.2f\n", sources.size(),
              std::exp(log_sum / static_cast<double>(sources.size())), worst);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MATRIX...\n", argv[0]);
    return 2;
  }
  try {
    return run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "benchmark_eigen: %s\n", error.what());
    return 1;
  }
}
