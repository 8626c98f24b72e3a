// Candidates that somebody names: a format, and which values some of its parameters take.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/trial.hpp"
#include "formats/format.hpp"

namespace autospmv {

/// All candidates of a format whose named parameters take one of the named values each, which are any that the format
/// allows; the others take those that the format offers for the matrix and the device.
struct FormatChoice {
  std::string format;
  std::vector<ParamSpace::Axis> values = {};  ///< of the named parameters

  /// All candidates of this format. Throws InvalidArgument for formats that are not in this build.
  static FormatChoice of(std::string_view format);

  /// Reads "sell_p C=16,32 sigma=1". Throws InvalidArgument likewise, and where add() does.
  static FormatChoice parse(std::string_view text);

  /// Takes more parameters, "C=16,32 sigma=1". Throws InvalidArgument for what is no such text, and for those that
  /// are named already.
  void add(std::string_view params);

  [[nodiscard]] std::string text() const;

  /// Whether the candidate is of this format and its named parameters have named values.
  [[nodiscard]] bool covers(const Candidate& candidate) const;

  /// The parameters of the candidates, where the format offers these.
  [[nodiscard]] ParamSpace space(const ParamSpace& offered) const;
};

std::vector<FormatChoice> parse_choices(std::span<const std::string> texts);

/// Whether one of them covers the candidate, or there are none: everything may be chosen.
bool is_among(const Candidate& candidate, std::span<const FormatChoice> choices);

/// Throws InvalidArgument, naming what is allowed, for a format that is not in this build or does not run on this
/// device, and for parameters and values that it never takes there. Whether a matrix is taken is another question.
template <class T>
void check_choices(std::span<const FormatChoice> choices, const Device& device);

}  // namespace autospmv
