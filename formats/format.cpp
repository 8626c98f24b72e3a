#include "formats/format.hpp"

#include "formats/common/encoding/encoding.hpp"

namespace autospmv {

// What parameters say of values is said alike by all formats.
template <class T>
Params Format<T>::for_any_values(const Params& params) const {
  auto full = params;
  if (params.find("value_bits")) full.set("value_bits", formats::full_value_bits<T>);
  for (const char* name : {"symmetric", "constants"}) {
    if (params.find(name)) full.set(name, 0);
  }
  return full;
}

template Params Format<float>::for_any_values(const Params& params) const;
template Params Format<double>::for_any_values(const Params& params) const;

template <class T>
const Format<T>* find_format(std::string_view name) {
  for (const auto* format : all_formats<T>()) {
    if (format->info().name == name) return format;
  }
  return nullptr;
}

template const Format<float>* find_format(std::string_view name);
template const Format<double>* find_format(std::string_view name);

std::string format_catalogue() {
  std::string catalogue;
  for (const auto* format : all_formats<double>()) {
    if (!catalogue.empty()) catalogue += ' ';
    catalogue += format->info().name + ':' + std::to_string(format->info().version);
  }
  return catalogue;
}

}  // namespace autospmv
