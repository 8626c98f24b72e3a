// Which format each of the two parts gets.
#pragma once

#include <vector>

#include "formats/composite/cocktail/cocktail.hpp"

namespace autospmv::formats::cocktail {

/// A candidate for a part.
template <class T>
struct Choice {
  const Format<T>* format = nullptr;
  Params params;
  double bytes = 0;         ///< of one product
  double stretched = 0;     ///< what choices are compared by
  bool lists_rows = false;  ///< CSR kernels over the rows that have nonzeros
};

/// What is known of a part without reading its columns and values: its rows and, of the part that was cut out, what the
/// rule demanded. In all other respects it is as bad as can be. `rule` is nullptr for the rest.
template <class T>
Features features_of(const Part<T>& part, const CutRule* rule, Place place);

/// Every format that takes the part, the one predicted best first. `adds`: to what the other part's product gave.
template <class T>
std::vector<Choice<T>> choices_for(const CutRule* rule, const Features& features, const Device& device, bool adds);

}  // namespace autospmv::formats::cocktail
