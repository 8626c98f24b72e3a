#include "formats/format.hpp"

namespace autospmv {

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
