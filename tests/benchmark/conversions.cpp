// What converting to a format takes, in microseconds and in products of what comes of it:
//     benchmark_conversions [--cuda] [--float] [--format NAME] [--values own|random:SEED] MATRIX...
// MATRIX: a Matrix Market file or gen:KIND:ARGS; --values is for those that follow it. Of each format that is tried
// unasked, or of the one that is named, its fastest candidate; each conversion is made several times, and the fastest
// counts: the first of its kind in a process loads the kernels that it launches.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/random.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "io/load.hpp"
#include "tests/benchmark/arguments.hpp"
#include "tuner/context/service.hpp"
#include "tuner/measure/conversion.hpp"
#include "tuner/measure/meter.hpp"

namespace {

using namespace autospmv;
using benchmark::Source;

constexpr int looks = 3;
constexpr int conversions = 7;

// A matrix and its vectors where they are multiplied.
template <class T>
class Bench {
 public:
  Bench(const HostCsr<T>& csr, const Device& device)
      : device_(device),
        matrix_(Matrix<T>::from_csr(csr.rows, csr.cols, csr.row_ptr, csr.col_idx, csr.values)),
        view_(data_of(matrix_).on(device)),
        features_(extract_features(view_, device)),
        x_(static_cast<std::size_t>(csr.cols), device),
        y_(static_cast<std::size_t>(csr.rows), device) {
    fill_random(x_.data(), csr.cols, 1, device, setup_stream(device));
    synchronize(device, setup_stream(device));
  }

  [[nodiscard]] const Features& features() const { return features_; }

  struct Taken {
    double product = std::numeric_limits<double>::infinity();
    double setup = 0;  // the least
    std::int64_t bytes = 0;
  };
  // Nothing where the format refuses the matrix.
  std::optional<Taken> take(const Format<T>& format, const Params& params) {
    auto op = converted(format, params);
    if (!op) return {};
    const auto timed = make_timed_product(
        device_, [&](Stream stream) { op->apply(T{1}, x_.data(), T{0}, y_.data(), stream); }, short_sample, patience_,
        format.capturable(params, device_));
    std::vector<double> samples;
    samples.reserve(looks);
    for (int i = 0; i < looks; ++i) samples.push_back(timed->warm_sample().seconds);
    return Taken{summarize(samples).median, setup_, op->bytes()};
  }
  double least_setup(const Format<T>& format, const Params& params) {
    double least = std::numeric_limits<double>::infinity();
    for (int i = 0; i < conversions; ++i) {
      if (converted(format, params) != nullptr) least = std::min(least, setup_);
    }
    return least;
  }

 private:
  std::unique_ptr<Operator<T>> converted(const Format<T>& format, const Params& params) {
    Measurement measurement;
    auto op = convert<T>(view_, {format.info().name, params}, device_, find_format<T>, measurement);
    setup_ = measurement.setup_seconds;
    return op;
  }

  Device device_;
  Matrix<T> matrix_;
  CsrView<T> view_;
  Features features_;
  Array<T> x_;
  Array<T> y_;
  Patience patience_;
  double setup_ = 0;  // of the last conversion
};

template <class T>
void run_on(const Source& source, const Device& device, const std::string& only) {
  const auto csr = load_matrix<T>(source.name, source.values);
  Bench<T> bench(csr, device);
  std::printf("%s, %lld nonzeros, %s\n%-16s %10s %10s %8s %12s  candidate\n", label_of(source.name).c_str(),
              static_cast<long long>(csr.nnz()), sizeof(T) == sizeof(float) ? "float" : "double", "format",
              "product us", "setup us", "products", "bytes");
  for (const auto* format : all_formats<T>()) {
    const auto& info = format->info();
    if (only.empty() ? !info.is_offered_on(device.backend) : info.name != only) continue;
    if (!info.runs_on(device.backend)) continue;
    typename Bench<T>::Taken best;
    std::optional<Params> chosen;
    for (const auto& params : format->params(bench.features(), device).combinations(Choices::likely)) {
      if (!format->predict(bench.features(), params, device)) continue;
      const auto taken = bench.take(*format, params);
      if (!taken || taken->product >= best.product) continue;
      best = *taken;
      chosen = params;
    }
    if (!chosen) continue;
    best.setup = std::min(best.setup, bench.least_setup(*format, *chosen));
    std::printf("%-16s %10.2f %10.1f %8.1f %12lld  %s\n", info.name.c_str(), best.product * 1e6, best.setup * 1e6,
                best.setup / best.product, static_cast<long long>(best.bytes), chosen->text().c_str());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::string only;
  const benchmark::OwnOptions own{.valued = {{"--format", [&](const std::string& name) {
                                                only = name;
                                                return find_format<double>(name) != nullptr;
                                              }}}};
  return benchmark::run_benchmark(
      argc, argv, "[--cuda] [--float] [--format NAME] [--values own|random:SEED] MATRIX...", own,
      [&](const benchmark::Arguments& arguments) {
        const Context context(
            ContextOptions{.device = arguments.place, .database = DatabaseChoice::memory(), .background = false});
        const auto& device = service_of(context).device();
        std::printf("%s\n", device.name.c_str());
        for (const auto& source : arguments.sources) {
          arguments.is_float ? run_on<float>(source, device, only) : run_on<double>(source, device, only);
        }
      });
}
