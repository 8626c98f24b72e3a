// The bytes name candidates as text: FORMAT NAME=VALUE,VALUE ...
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/fuzz/support.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv::fuzzing {
namespace {

constexpr std::size_t most_candidates = 4096;

void check_candidates(const FormatChoice& choice) {
  static const auto device = host_device();
  static const auto features = ordinary_features();
  const std::vector choices{choice};
  if (!is_taken([&] { check_choices<double>(choices, device); })) return;
  const auto& format = *find_format<double>(choice.format);
  std::size_t all = 1;
  const auto space = choice.space(format.params(features, device));
  for (const auto& axis : space.axes()) all *= axis.values.size() + axis.others.size();
  if (all > most_candidates) return;
  const Predictor predictor(CostModel(device, 1e10, default_coefficients(device.backend)));
  const auto prospects = all_prospects<double>(features, device, predictor, choices);
  require(prospects.size() == all, "every combination is a candidate, once");
  for (const auto& prospect : prospects) {
    require(is_among(prospect.candidate, choices), "what is named covers its candidates");
    const auto cost = format.predict(features, prospect.candidate.params, device);
    require(cost.admitted() || !cost.refusal().of_params, "what was checked is allowed");
  }
}

void check(std::string_view text) {
  FormatChoice choice;
  if (!is_taken([&] { choice = FormatChoice::parse(text); })) return;
  require(choice.values.size() <= Params::most, "there are not too many parameters");
  const auto written = choice.text();
  require(FormatChoice::parse(written).text() == written, "what is written reads back the same");
  for (const auto& axis : choice.values) {
    require(!axis.values.empty(), "a parameter has a value");
    require(text.find(axis.name + '=') != std::string_view::npos, "names are those of the text");
  }
  check_candidates(choice);
}

}  // namespace
}  // namespace autospmv::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  autospmv::fuzzing::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
