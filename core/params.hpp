// The tunable integers of a format, always by name: "T=4 block=256".
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autospmv {

/// One choice of parameters. Ordered by name, so that equal choices have equal text.
class Params {
 public:
  Params() = default;
  Params(std::initializer_list<std::pair<const std::string, std::int64_t>> values) : values_(values) {}

  /// Reads "T=4 block=256"; nullopt for anything else.
  static std::optional<Params> parse(std::string_view text);

  void set(std::string name, std::int64_t value) { values_[std::move(name)] = value; }
  [[nodiscard]] std::optional<std::int64_t> find(const std::string& name) const;

  /// Throws InvalidArgument where the parameter is missing.
  [[nodiscard]] std::int64_t operator[](const std::string& name) const;

  [[nodiscard]] const std::map<std::string, std::int64_t>& values() const { return values_; }
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Params&, const Params&) = default;
  friend auto operator<=>(const Params&, const Params&) = default;

 private:
  std::map<std::string, std::int64_t> values_;
};

/// The values each parameter of a format may take for one matrix on one device, in the order worth trying.
class ParamSpace {
 public:
  struct Axis {
    std::string name;
    std::vector<std::int64_t> values;
  };

  ParamSpace() = default;
  ParamSpace(std::initializer_list<Axis> axes) : axes_(axes) {}

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }

  /// Every combination, the first axis varying slowest; one empty choice where there is no axis.
  [[nodiscard]] std::vector<Params> combinations() const;

 private:
  std::vector<Axis> axes_;
};

}  // namespace autospmv
