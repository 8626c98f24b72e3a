#include "tools/studies/contenders.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "core/error.hpp"
#include "formats/format.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv::tools {

namespace {

// Encodings that spare memory, by the values that spare none. value_bits spares none where it is that of the type.
struct Encoding {
  std::string_view name;
  std::int64_t plain;
};
constexpr std::array<Encoding, 3> encodings = {{{"column_bits", 32}, {"symmetric", 0}, {"constants", 0}}};
constexpr std::string_view value_bits_name = "value_bits";

// The papers store columns and values in full, and both halves of a symmetric matrix.
bool is_plain(const Params& params, std::int64_t value_bits) {
  if (params.find(value_bits_name).value_or(value_bits) != value_bits) return false;
  return std::all_of(encodings.begin(), encodings.end(), [&](const Encoding& encoding) {
    return params.find(encoding.name).value_or(encoding.plain) == encoding.plain;
  });
}

bool allows(const FormatChoice& choice, const Candidate& candidate) {
  return candidate.format == choice.format &&
         std::all_of(choice.values.begin(), choice.values.end(), [&](const ParamSpace::Axis& axis) {
           const auto value = candidate.params.find(axis.name);
           return !value || std::find(axis.values.begin(), axis.values.end(), *value) != axis.values.end();
         });
}

std::string_view cut(std::string_view& text, std::string_view separator) {
  const auto at = std::min(text.find(separator), text.size());
  const auto word = text.substr(0, at);
  text.remove_prefix(std::min(text.size(), at + separator.size()));
  return word;
}

// A choice as far as the format has it on a device: without parameters and values that it never takes there.
template <class T>
FormatChoice choice_on(const FormatChoice& wanted, bool plain, const Format<T>& format, const Device& device) {
  FormatChoice choice{wanted.format};
  auto axes = wanted.values;
  const auto offered = format.params(ordinary_features(), device);
  for (const auto& axis : offered.axes()) {
    if (!plain) break;
    if (axis.name == value_bits_name) axes.push_back({axis.name, {8 * static_cast<std::int64_t>(sizeof(T))}});
    for (const auto& encoding : encodings) {
      if (axis.name == encoding.name) axes.push_back({axis.name, {encoding.plain}});
    }
  }
  for (auto& axis : axes) {
    std::erase_if(axis.values, [&](std::int64_t value) {
      const FormatChoice one{choice.format, {{axis.name, {value}}}};
      try {
        check_choices<T>(std::span(&one, 1), device);
        return false;
      } catch (const InvalidArgument&) {
        return true;
      }
    });
    if (!axis.values.empty()) choice.values.push_back(std::move(axis));
  }
  return choice;
}

template <class Visit>
void for_each_choice(const Contender& contender, const Visit& visit) {
  for (const auto candidates : {contender.candidates, contender.otherwise}) {
    for (const auto& choice : parse_candidates(candidates)) visit(choice);
  }
}

}  // namespace

std::vector<FormatChoice> parse_candidates(std::string_view candidates) {
  std::vector<FormatChoice> choices;
  while (!candidates.empty()) {
    auto text = cut(candidates, "; ");
    FormatChoice choice{std::string(cut(text, " "))};
    choice.add(text);
    choices.push_back(std::move(choice));
  }
  return choices;
}

bool takes(const Contender& contender, std::string_view candidates, const Candidate& candidate,
           std::int64_t value_bits) {
  if (contender.role != Role::tuned && !is_plain(candidate.params, value_bits)) return false;
  if (!contender.without.empty() && is_among(candidate, parse_candidates(contender.without))) return false;
  const auto choices = parse_candidates(candidates);
  return std::any_of(choices.begin(), choices.end(),
                     [&](const FormatChoice& choice) { return allows(choice, candidate); });
}

bool names_format(const Study& study, std::string_view format) {
  bool found = false;
  for (const auto& contender : study.contenders) {
    for_each_choice(contender, [&](const FormatChoice& choice) { found = found || choice.format == format; });
  }
  return found;
}

template <Scalar T>
std::vector<FormatChoice> choices_for(const std::vector<const Study*>& studies, const Device& device) {
  std::vector<FormatChoice> choices;
  const auto add = [&](const FormatChoice& wanted, bool plain) {
    const auto* format = find_format<T>(wanted.format);
    if (format == nullptr || !format->info().runs_on(device.backend)) return;
    auto choice = choice_on<T>(wanted, plain, *format, device);
    const bool known =
        std::any_of(choices.begin(), choices.end(), [&](const auto& one) { return one.text() == choice.text(); });
    if (!known) choices.push_back(std::move(choice));
  };
  for (const auto* study : studies) {
    for (const auto& contender : study->contenders) {
      for_each_choice(contender, [&](const FormatChoice& choice) { add(choice, contender.role != Role::tuned); });
    }
  }
  return choices;
}

template std::vector<FormatChoice> choices_for<float>(const std::vector<const Study*>&, const Device&);
template std::vector<FormatChoice> choices_for<double>(const std::vector<const Study*>&, const Device&);

}  // namespace autospmv::tools
