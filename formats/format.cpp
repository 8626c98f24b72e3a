#include "formats/format.hpp"

#include <algorithm>
#include <string_view>
#include <vector>

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

namespace {

template <class T>
struct Named {
  std::string_view name;
  const Format<T>* format;
};

// To ask one format after the other for its name takes longer than a product where no cache has them.
template <class T>
std::vector<Named<T>> formats_by_name() {
  std::vector<Named<T>> named;
  for (const auto* format : all_formats<T>()) named.push_back({format->info().name, format});
  std::ranges::sort(named, {}, &Named<T>::name);
  return named;
}

}  // namespace

template <class T>
const Format<T>* find_format(std::string_view name) {
  static const auto& named = *new auto(formats_by_name<T>());  // a plan may be as static itself
  const auto at = std::ranges::lower_bound(named, name, {}, &Named<T>::name);
  return at != named.end() && at->name == name ? at->format : nullptr;
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
