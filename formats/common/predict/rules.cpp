#include "formats/common/predict/rules.hpp"

#include <limits>
#include <utility>

namespace autospmv::formats {

namespace {

Refusal refuse_as_params(const std::string& why) { return {std::string("parameters: ").append(why), true}; }

}  // namespace

std::string Allowed::text() const {
  std::string text = values.empty() ? "allowed" : std::to_string(values.front());
  if (step != 0) {
    if (values.back() == std::numeric_limits<std::int64_t>::max()) {
      text += " or more";
    } else {
      text.append(" to ").append(std::to_string(values.back()));
    }
    if (step != 1) text.append(" by ").append(std::to_string(step));
    return text;
  }
  for (std::size_t i = 1; i < values.size(); ++i) {
    text.append(i + 1 == values.size() ? " or " : ", ").append(std::to_string(values[i]));
  }
  return text;
}

std::optional<Refusal> refuse_params(const Params& params, const std::vector<Allowed>& allowed) {
  for (const auto& given : params.values()) {
    const auto at =
        std::find_if(allowed.begin(), allowed.end(), [&](const Allowed& one) { return one.name == given.name; });
    if (at == allowed.end()) {
      auto why = std::string("there is no '").append(given.name).append("'");
      if (allowed.empty()) why += " nor any other";
      const char* separator = ", but ";
      for (const auto& one : allowed) why.append(std::exchange(separator, ", ")).append(one.name);
      return refuse_as_params(why);
    }
    if (!at->holds(given.value)) {
      auto why = std::string(given.name).append("=").append(std::to_string(given.value));
      return refuse_as_params(why.append(" is not ").append(at->text()));
    }
  }
  // Each was found, and no two of them are the same.
  if (params.values().size() == allowed.size()) return std::nullopt;
  for (const auto& one : allowed) {
    if (!params.find(one.name)) return refuse_as_params(std::string("'").append(one.name).append("' is missing"));
  }
  return std::nullopt;
}

}  // namespace autospmv::formats
