// The rungs of the ladder: what is launched, and what it leaves in y.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/machine/device.hpp"
#include "tests/benchmark/latency/data.hpp"

namespace autospmv::latency {

inline constexpr int cluster = 8;  // blocks that share a row

/// What y holds: nothing, the sum of every row, of every block, or of every cluster of blocks.
enum class Result : std::uint8_t { none, rows, blocks, clusters };

struct Rung {
  const char* name;
  int over;  // the rung that it is compared with
  int entries;
  Result result;
  int launches;  // products of a call
  std::function<void(View, Stream)> launch;
};

struct Shape {
  int grid;
  int block;

  [[nodiscard]] int threads() const { return grid * block; }
};

/// For T threads a row: 1, 4 or 32. `hopper`: with what takes compute capability 9.
template <int T>
std::vector<Rung> ladder(Shape shape, bool hopper);

}  // namespace autospmv::latency
