// What a call costs beside the product itself, in host nanoseconds:
//     benchmark_call [MATRIX]          gen:pde:20 where none is named
// On a CUDA device, that of giving a product to a stream, which is emptied from time to time; on the host, products of
// a matrix of one row, whose own time hardly counts.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "formats/format.hpp"
#include "io/load.hpp"
#include "tuner/context/service.hpp"
#include "tuner/plan/plan_state.hpp"
#include "tuner/plan/tuner.hpp"

namespace {

using namespace autospmv;
using Clock = std::chrono::steady_clock;

// The fastest of many batches: what else runs on the machine makes others slower, and none faster.
template <class Call>
double nanoseconds(Place place, const Call& call) {
  constexpr int batches = 300;
  constexpr int calls = 200;
  double best = std::numeric_limits<double>::infinity();
  for (int batch = 0; batch < batches; ++batch) {
    synchronize(place);
    const auto start = Clock::now();
    for (int i = 0; i < calls; ++i) call();
    const std::chrono::duration<double, std::nano> passed = Clock::now() - start;
    best = std::min(best, passed.count() / calls);
  }
  synchronize(place);
  return best;
}

void run(const std::string& source) {
  const Context context({.database = DatabaseChoice::memory()});
  const Device device = service_of(context).device();
  const DeviceScope scope(device);
  const auto csr = load_matrix<double>(device.backend == Backend::host ? "gen:dense:1:1" : source);
  const auto matrix = Matrix<double>::from_csr(csr.rows, csr.cols, csr.row_ptr, csr.col_idx, csr.values);
  const auto x = Array<double>::copy_of(std::vector<double>(static_cast<std::size_t>(csr.cols), 1.0), device);
  Array<double> y(static_cast<std::size_t>(csr.rows), device);
  const auto stream = setup_stream(device);
  const auto plan = kept_plan(matrix, context);
  const auto choice = plan_for(matrix, context)->choice().candidate;
  const auto built = find_format<double>(choice.format)->build(data_of(matrix).on(device), choice.params, device);
  if (!built) throw Error(built.reason());
  const auto& raw = *built;
  const auto vector_x = x.span();
  const auto vector_y = y.span();
  std::printf("%s, %s, %s\n", source.c_str(), context.device_name().c_str(), plan.choice().c_str());
  const double launch = nanoseconds(device, [&] { raw->apply(1.0, x.data(), 0.0, y.data(), stream); });
  const auto print = [&](const char* name, double all) {
    std::printf("%-28s %8.1f ns, %8.1f over the launch\n", name, all, all - launch);
  };
  std::printf("%-28s %8.1f ns\n", "launch", launch);
  print("plan(x, y, {.memory})",
        nanoseconds(device, [&] { plan(vector_x, vector_y, {.stream = stream, .memory = device.memory()}); }));
  print("plan(x, y)", nanoseconds(device, [&] { plan(vector_x, vector_y, {.stream = stream}); }));
  print("auto_spmv(A, x, y)",
        nanoseconds(device, [&] { auto_spmv(matrix, vector_x, vector_y, {.stream = stream, .context = &context}); }));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(argc > 1 ? argv[1] : "gen:pde:20");
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "benchmark_call: %s\n", error.what());
    return 1;
  }
}
