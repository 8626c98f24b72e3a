// The tunable integers of a format, always by name: "T=4 block=256".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autospmv {

/// One choice of parameters. Ordered by name, so that equal choices have equal text.
class Params {
 public:
  using Value = std::pair<std::string, std::int64_t>;

  Params() = default;
  Params(std::initializer_list<Value> values);

  /// Reads "T=4 block=256"; nullopt for anything else.
  static std::optional<Params> parse(std::string_view text);

  void set(std::string_view name, std::int64_t value);
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view name) const;

  /// Throws InvalidArgument where the parameter is missing.
  [[nodiscard]] std::int64_t operator[](std::string_view name) const;

  [[nodiscard]] const std::vector<Value>& values() const { return values_; }
  [[nodiscard]] std::string text() const;

  friend bool operator==(const Params&, const Params&) = default;
  friend auto operator<=>(const Params&, const Params&) = default;

 private:
  // Sorted: a handful, of which hundreds of choices are made for every matrix.
  std::vector<Value> values_;
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
