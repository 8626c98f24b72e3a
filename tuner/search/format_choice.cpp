#include "tuner/search/format_choice.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "core/error.hpp"
#include "core/printable.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

namespace {

void check_name(std::string_view name) {
  if (find_format<double>(name) != nullptr) return;
  std::string known;
  for (const auto* format : all_formats<double>()) {
    known.append(known.empty() ? "" : ", ").append(format->info().name);
  }
  throw InvalidArgument("no format '" + printable(name) + "'; there are " + known);
}

// Up to the separator, which goes too.
std::string_view cut(std::string_view& text, char separator) {
  const auto word = text.substr(0, text.find(separator));
  text.remove_prefix(std::min(text.size(), word.size() + 1));
  return word;
}

ParamSpace::Axis parse_axis(std::string_view word) {
  auto values = word;
  ParamSpace::Axis axis{std::string(cut(values, '=')), {}};
  for (bool more = true; more;) {
    more = values.find(',') != std::string_view::npos;
    const auto one = Params::parse(axis.name + '=' + std::string(cut(values, ',')));
    if (!one) throw InvalidArgument("'" + printable(word) + "' is not NAME=VALUE or NAME=VALUE,VALUE,...");
    const auto value = one->values().front().value;
    if (std::find(axis.values.begin(), axis.values.end(), value) == axis.values.end()) axis.values.push_back(value);
  }
  return axis;
}

// A candidate of the format on matrices of the ordinary kind.
template <class T>
Params any_params(const Format<T>& format, const Features& features, const Device& device) {
  const auto all = format.params(features, device).combinations();
  return all.empty() ? Params{} : all.front();
}

template <class T>
void check_choice(const FormatChoice& choice, const Features& features, const Device& device) {
  check_name(choice.format);
  const auto& format = *find_format<T>(choice.format);
  if (!format.info().runs_on(device.backend)) {
    throw InvalidArgument("format '" + choice.format + "' does not run on the " + std::string(name_of(device.backend)) +
                          " backend");
  }
  const auto others = any_params(format, features, device);
  for (const auto& axis : choice.values) {
    for (const auto value : axis.values) {
      auto params = others;
      params.set(axis.name, value);
      const auto cost = format.predict(features, params, device);
      if (!cost && cost.refusal().of_params) throw InvalidArgument("format '" + choice.format + "': " + cost.reason());
    }
  }
}

}  // namespace

FormatChoice FormatChoice::of(std::string_view format) {
  check_name(format);
  return {std::string(format)};
}

FormatChoice FormatChoice::parse(std::string_view text) {
  auto choice = of(cut(text, ' '));
  choice.add(text);
  return choice;
}

void FormatChoice::add(std::string_view params) {
  while (!params.empty()) {
    const auto word = cut(params, ' ');
    if (word.empty()) continue;
    auto axis = parse_axis(word);
    const bool known =
        std::any_of(values.begin(), values.end(), [&](const auto& one) { return one.name == axis.name; });
    if (known) throw InvalidArgument("format '" + format + "': '" + axis.name + "' is given twice");
    if (values.size() == Params::most) throw InvalidArgument("format '" + format + "': too many parameters");
    values.push_back(std::move(axis));
  }
}

std::string FormatChoice::text() const {
  auto text = format;
  for (const auto& axis : values) {
    text += ' ' + axis.name;
    char separator = '=';
    for (const auto value : axis.values) text += std::exchange(separator, ',') + std::to_string(value);
  }
  return text;
}

bool FormatChoice::covers(const Candidate& candidate) const {
  return candidate.format == format && std::all_of(values.begin(), values.end(), [&](const auto& axis) {
           const auto value = candidate.params.find(axis.name);
           return value && std::find(axis.values.begin(), axis.values.end(), *value) != axis.values.end();
         });
}

ParamSpace FormatChoice::space(const ParamSpace& offered) const {
  std::vector<ParamSpace::Axis> axes = offered.axes();
  for (const auto& named : values) {
    const auto at = std::find_if(axes.begin(), axes.end(), [&](const auto& axis) { return axis.name == named.name; });
    if (at == axes.end()) {
      axes.push_back(named);
    } else {
      *at = named;
    }
  }
  return ParamSpace(std::move(axes));
}

std::vector<FormatChoice> parse_choices(std::span<const std::string> texts) {
  std::vector<FormatChoice> choices;
  choices.reserve(texts.size());
  for (const auto& text : texts) choices.push_back(FormatChoice::parse(text));
  return choices;
}

bool is_among(const Candidate& candidate, std::span<const FormatChoice> choices) {
  const auto covers = [&](const FormatChoice& choice) { return choice.covers(candidate); };
  return choices.empty() || std::any_of(choices.begin(), choices.end(), covers);
}

template <class T>
void check_choices(std::span<const FormatChoice> choices, const Device& device) {
  const auto features = ordinary_features();
  for (const auto& choice : choices) check_choice<T>(choice, features, device);
}

template void check_choices<float>(std::span<const FormatChoice>, const Device&);
template void check_choices<double>(std::span<const FormatChoice>, const Device&);

}  // namespace autospmv
