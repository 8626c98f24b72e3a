// The bytes change the recorded features of a matrix, as those in a database may have been changed. What is taken for
// features is predicted from, on the host and as on a GPU.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "features/recorded.hpp"
#include "io/generators.hpp"
#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/support.hpp"
#include "tuner/plan/tuner.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv::fuzzing {
namespace {

using Record = std::vector<std::pair<std::string, double>>;

const std::vector<Record>& records() {
  static const auto all = [] {
    std::vector<Record> records;
    for (const auto* const spec : {"gen:circuit:60", "gen:pde:4", "gen:rmat:6", "gen:dense:3:9", "gen:banded:70:3",
                                   "gen:uniform:9:9:0", "gen:twin:50:2000:20:30:50:0.5:0.5:0.5"}) {
      records.push_back(record_of(extract_features(generate<double>(spec).view(), Place{})));
    }
    return records;
  }();
  return all;
}

// As far as formats ask.
Device gpu() {
  Device device;
  device.backend = Backend::cuda;
  device.name = "NVIDIA H200";
  device.multiprocessors = 132;
  device.memory_bytes = std::int64_t{140} << 30;
  device.cache_bytes = std::int64_t{60} << 20;
  return device;
}

void predict(const Features& features, const Device& device) {
  const Predictor predictor(CostModel(device, 1e11, default_coefficients(device.backend)));
  for (const auto& prospect : all_prospects<double>(features, device, predictor)) {
    if (!prospect.admitted()) continue;
    require(std::isfinite(prospect.prediction.seconds) && prospect.prediction.seconds > 0, "a product takes some time");
    require(std::isfinite(prospect.prediction.setup_seconds) && prospect.prediction.setup_seconds >= 0,
            "a conversion takes some time");
  }
  for (const double place : position_of(features, sizeof(double)))
    require(std::isfinite(place), "a position is finite");
}

void check(Bytes bytes) {
  static const auto host = host_device();
  static const auto cuda = gpu();
  auto record = bytes.pick(records());
  while (!bytes.empty()) {
    auto& [name, value] = record[bytes.below(record.size())];
    if (bytes.one_in(64)) {
      name = bytes.text();
    } else {
      value = bytes.real();
    }
  }
  const auto features = features_of_record(record);
  if (!features) return;
  predict(*features, host);
  predict(*features, cuda);
}

}  // namespace
}  // namespace autospmv::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  autospmv::fuzzing::check({data, size});
  return 0;
}
