// What benchmarks on matrices share: their arguments, a clock, a mean.
#pragma once

#include <chrono>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/machine/device.hpp"
#include "io/load.hpp"

namespace autospmv::benchmark {

struct Source {
  std::string name;
  Values values;
};

struct Arguments {
  Place place;  ///< the host, or with --cuda the first CUDA device
  bool is_float = false;
  std::vector<Source> sources;
};

/// Options of one benchmark alone, by name.
struct OwnOptions {
  std::map<std::string_view, std::function<bool(const std::string&)>> valued = {};  ///< false: no such value
  std::map<std::string_view, bool*> flags = {};
};

/// [--cuda] [--float] [--values own|random:SEED] MATRIX..., and what is the benchmark's own. False where they are not
/// to be understood, or name no matrix.
inline bool read_arguments(int argc, char** argv, const OwnOptions& own, Arguments& arguments) {
  Values values;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const auto valued = own.valued.find(argument);
    if (valued != own.valued.end() || argument == "--values") {
      if (++i == argc) return false;
      if (valued == own.valued.end()) {
        values = Values::parse(argv[i]);
      } else if (!valued->second(argv[i])) {
        return false;
      }
    } else if (const auto flag = own.flags.find(argument); flag != own.flags.end()) {
      *flag->second = true;
    } else if (argument == "--cuda") {
      arguments.place = default_device();
      if (arguments.place.backend == Backend::host) throw Error("there is no CUDA device");
    } else if (argument == "--float") {
      arguments.is_float = true;
    } else {
      arguments.sources.push_back({argument, values});
    }
  }
  return !arguments.sources.empty();
}

/// Seconds, by a clock that only goes forward.
inline double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

inline double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

}  // namespace autospmv::benchmark
