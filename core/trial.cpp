#include "core/trial.hpp"

#include <array>

namespace autospmv {

namespace {
constexpr std::array outcome_names = {
    std::pair{Outcome::passed, std::string_view{"passed"}},
    std::pair{Outcome::disturbed, std::string_view{"disturbed"}},
    std::pair{Outcome::refused, std::string_view{"refused"}},
    std::pair{Outcome::wrong_answer, std::string_view{"wrong answer"}},
    std::pair{Outcome::failed, std::string_view{"failed"}},
};
}  // namespace

std::string_view name_of(Outcome outcome) {
  for (const auto& [value, name] : outcome_names) {
    if (value == outcome) return name;
  }
  return "unknown";
}

std::optional<Outcome> parse_outcome(std::string_view name) {
  for (const auto& [value, known] : outcome_names) {
    if (known == name) return value;
  }
  return std::nullopt;
}

}  // namespace autospmv
