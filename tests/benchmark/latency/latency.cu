// What each step of a small product costs that waits for the step before it, on the first CUDA device, by hand:
//     benchmark_latency
// Kernels from an empty one to a whole product and on to two that follow each other, each rung one step longer than the
// rung that it is compared with ("over"), in the shapes of small matrices: so many blocks of so many threads, T of them
// a row. All data fit into the L2. Times are microseconds a product, replayed from a CUDA graph and, as "loop",
// launched one by one into a stream; "+" is the difference of the replayed ones; "cold" is what one adds to a program
// that overwrites the L2 before it. Every y is checked.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/error.hpp"
#include "core/machine/array.hpp"
#include "core/machine/device.hpp"
#include "tests/benchmark/latency/data.hpp"
#include "tests/benchmark/latency/rungs.hpp"
#include "tuner/measure/meter.hpp"

namespace autospmv::latency {

namespace {

constexpr int grids[] = {1, 132, 528, 2112};
constexpr int blocks[] = {128, 256};
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct Times {
  double graph = unknown;  // microseconds a product
  double loop = unknown;
  double cold = unknown;  // of a rung of one product
};

// What must lie in y.
std::vector<double> expected(const Data& data, Result result, Shape shape, int T) {
  const auto rows = data.sums(shape.threads() / T);
  if (result == Result::rows) return rows;
  const int together = shape.block / T * (result == Result::clusters ? cluster : 1);
  std::vector<double> sums(rows.size() / together);
  for (std::size_t row = 0; row < sums.size() * together; ++row) sums[row / together] += rows[row];
  return sums;
}

void check_result(const Rung& rung, const View& view, const std::vector<double>& sums, Array<double>& y,
                  const Device& device) {
  const auto stream = setup_stream(device);
  fill_bytes(y.data(), 0xff, static_cast<std::size_t>(y.bytes()), device, stream);
  rung.launch(view, stream);
  const auto got = y.to_vector();
  if (!std::equal(sums.begin(), sums.end(), got.begin())) throw Error(std::string("wrong sums: ") + rung.name);
}

Times measure(const Rung& rung, const View& view, CacheFlusher& flusher, const Device& device) {
  constexpr SampleLength as_long_as_it_gets{.device = 1};  // 100 repetitions
  constexpr int warm_samples = 9;
  constexpr int loop_samples = 5;
  constexpr int cold_samples = 9;
  Patience patience;
  const auto product = make_timed_product(
      device, [&](Stream stream) { rung.launch(view, stream); }, rung.launches > 1 ? long_sample : as_long_as_it_gets,
      patience);
  Samples warm;
  Samples loop;
  Samples cold;
  for (int i = 0; i < warm_samples; ++i) warm.add(product->warm_sample());
  for (int i = 0; i < loop_samples; ++i) loop.add(product->loop_sample());
  for (int i = 0; i < cold_samples && rung.launches == 1; ++i) cold.add(product->cold_sample(flusher));
  const double us = 1e6 / rung.launches;
  return {warm.timing().median * us, loop.timing().median * us,
          rung.launches == 1 ? cold.timing().median * us : unknown};
}

void print_number(int width, int decimals, double number) {
  if (std::isnan(number)) {
    std::printf("%*s", width, "-");
  } else {
    std::printf("%*.*f", width, decimals, number);
  }
}

template <int T>
void climb(const Device& device, bool hopper) {
  const Data data[] = {{T, 1, device}, {T, 4, device}, {T, 7, device}};
  Array<double> y(most_threads, device);
  Array<double> partial(most_threads, device);
  CacheFlusher flusher(device);
  Array<unsigned> done(static_cast<std::size_t>(grids[std::size(grids) - 1]), device);
  fill_bytes(done.data(), 0, static_cast<std::size_t>(done.bytes()), device, setup_stream(device));
  for (const int block : blocks) {
    std::vector<std::vector<Times>> times;
    std::vector<const char*> names;
    std::vector<int> over;
    for (const int grid : grids) {
      const Shape shape{grid, block};
      std::vector<int4> bins(static_cast<std::size_t>(grid));
      for (int b = 0; b < grid; ++b) bins[static_cast<std::size_t>(b)] = {b & ~7, (b & ~7) * (block / T), 0, 0};
      const auto device_bins = Array<int4>::copy_of(std::span<const int4>(bins), device);
      std::vector<Times> of_shape;
      const auto rungs = ladder<T>(shape, hopper);
      for (const auto& rung : rungs) {
        const Data& of_rung = data[rung.entries == 1 ? 0 : rung.entries == 4 ? 1 : 2];
        View view = of_rung.view();
        view.rows = shape.threads() / T;
        view.bins = device_bins.data();
        view.y = y.data();
        view.partial = partial.data();
        view.done = done.data();
        if (rung.result != Result::none) {
          check_result(rung, view, expected(of_rung, rung.result, shape, T), y, device);
        }
        of_shape.push_back(measure(rung, view, flusher, device));
      }
      times.push_back(std::move(of_shape));
      for (std::size_t i = names.size(); i < rungs.size(); ++i) {
        names.push_back(rungs[i].name);
        over.push_back(rungs[i].over);
      }
    }
    std::printf("\n%d threads a row, blocks of %d threads: us a product\n%46s  over", T, block, "blocks");
    for (const int grid : grids) std::printf("  | %7d       +     loop   cold", grid);
    std::printf("\n");
    for (std::size_t i = 0; i < names.size(); ++i) {
      std::printf("%2zu %-43s  %4d", i, names[i], over[i]);
      for (const auto& of_shape : times) {
        const bool known = i < of_shape.size();
        const auto below = static_cast<std::size_t>(over[i]);
        std::printf("  |");
        print_number(8, 3, known ? of_shape[i].graph : unknown);
        print_number(8, 3, known && i > 0 ? of_shape[i].graph - of_shape[below].graph : unknown);
        print_number(9, 2, known ? of_shape[i].loop : unknown);
        print_number(7, 2, known ? of_shape[i].cold : unknown);
      }
      std::printf("\n");
    }
    std::fflush(stdout);
  }
}

void run() {
  const auto devices = cuda_devices();
  if (devices.empty()) throw Error("there is no CUDA device");
  const Device& device = devices.front();
  const DeviceScope scope(device);
  int major = 0;
  cuda::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device.ordinal));
  std::printf("%s, toolkit %s, driver %s, copy %.0f GB/s\n", device.name.c_str(), device.toolkit.c_str(),
              device.driver.c_str(), measure_copy_bandwidth(device).bytes_a_second * 1e-9);
  climb<1>(device, major >= 9);
  climb<4>(device, major >= 9);
  climb<32>(device, major >= 9);
}

}  // namespace

}  // namespace autospmv::latency

int main() {
  try {
    autospmv::latency::run();
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "benchmark_latency: %s\n", error.what());
    return 1;
  }
}
