// What benchmarks on matrices share: main(), their arguments, a clock, a mean.
#pragma once

#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
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
  bool host_only = false;  ///< there is no --cuda
};

/// A whole number of at least 1.
inline std::optional<std::int64_t> parse_count(const std::string& text) {
  std::int64_t count = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (code != std::errc{} || end != text.data() + text.size() || count < 1) return {};
  return count;
}

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
    } else if (argument == "--cuda" && !own.host_only) {
      arguments.place = default_device();
      if (arguments.place.backend == Backend::host) throw Error("there is no CUDA device");
    } else if (argument == "--float") {
      arguments.is_float = true;
    } else if (argument.starts_with("--")) {
      return false;
    } else {
      for (const auto& name : expand_sources({argument})) arguments.sources.push_back({name, values});
    }
  }
  return !arguments.sources.empty();
}

/// The main() of a benchmark, `options` being what its usage says of it: 2 where it was called in another way, 1 where
/// something went wrong, with one line for a person either way.
inline int run_benchmark(int argc, char** argv, const char* options, const OwnOptions& own,
                         const std::function<void(const Arguments&)>& run) {
  const std::string program = std::filesystem::path(argv[0]).filename().string();
  try {
    Arguments arguments;
    if (!read_arguments(argc, argv, own, arguments)) {
      std::fprintf(stderr, "usage: %s %s\n", program.c_str(), options);
      return 2;
    }
    run(arguments);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    return 1;
  }
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
