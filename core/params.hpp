// The tunable integers of a format, always by name: "T=4 block=256".
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace autospmv {

/// One choice of parameters. Ordered by name, so that equal choices have equal text. Hundreds of choices are made and
/// compared for every matrix, while a product takes microseconds: none takes memory of its own.
class Params {
 public:
  /// The name lives as long as the process, at one place: names are equal where their data are.
  struct Value {
    std::string_view name;
    std::int64_t value = 0;

    [[nodiscard]] bool same_name(const Value& other) const { return name.data() == other.name.data(); }
    friend bool operator==(const Value& a, const Value& b) { return a.same_name(b) && a.value == b.value; }
    friend std::strong_ordering operator<=>(const Value& a, const Value& b) {
      return a.same_name(b) ? a.value <=> b.value : a.name <=> b.name;
    }
  };
  static constexpr std::size_t most = 8;

  Params() = default;
  Params(std::initializer_list<std::pair<std::string_view, std::int64_t>> values);

  /// Reads "T=4 block=256"; nullopt for anything else. Names are words of letters, digits and underscores; of those
  /// that nobody but what is read has ever named, no more than some thousands are taken in a process.
  static std::optional<Params> parse(std::string_view text);

  /// Throws InvalidArgument where there are as many as there may be.
  void set(std::string_view name, std::int64_t value);
  [[nodiscard]] std::optional<std::int64_t> find(std::string_view name) const;

  /// Throws InvalidArgument where the parameter is missing.
  [[nodiscard]] std::int64_t operator[](std::string_view name) const;

  [[nodiscard]] std::span<const Value> values() const { return {values_.data(), count_}; }
  [[nodiscard]] std::string text() const;

  struct Hash {
    std::size_t operator()(const Params& params) const noexcept;
  };

  friend bool operator==(const Params& a, const Params& b);
  friend std::strong_ordering operator<=>(const Params& a, const Params& b);

 private:
  friend class ParamSpace;
  void set_known(Value value);
  [[nodiscard]] std::size_t place_of(std::string_view name) const;
  void insert(std::size_t place, Value value);

  std::array<Value, most> values_{};  // sorted
  std::size_t count_ = 0;
};

/// Which of a format's choices are meant.
enum class Choices : std::uint8_t {
  likely,   ///< those that may be the best: what short lists are made from
  offered,  ///< and the other parameters of the formats that are tried unasked
  all,      ///< those, and what is there to be seen tried
};

/// The values each parameter of a format may take for one matrix on one device, in the order worth trying.
class ParamSpace {
 public:
  struct Axis {
    std::string name;
    std::vector<std::int64_t> values;
    std::vector<std::int64_t> others = {};  ///< that are tried where everything is
  };

  ParamSpace() = default;
  ParamSpace(std::initializer_list<Axis> axes) : axes_(axes) {}
  explicit ParamSpace(std::vector<Axis> axes) : axes_(std::move(axes)) {}

  [[nodiscard]] const std::vector<Axis>& axes() const { return axes_; }

  /// Every combination, the first axis varying slowest; one empty choice where there is no axis.
  [[nodiscard]] std::vector<Params> combinations(Choices choices = Choices::all) const;

 private:
  std::vector<Axis> axes_;
};

}  // namespace autospmv
