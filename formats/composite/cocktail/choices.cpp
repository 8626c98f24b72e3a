#include "formats/composite/cocktail/choices.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "formats/ranking.hpp"

namespace autospmv::formats {

// The formats that a part may have, by what AUTOSPMV_FORMAT makes of each.
namespace bsr {
template <class T>
const Format<T>& format();
}
namespace csr_merge {
template <class T>
const Format<T>& format();
}
namespace csr_vector {
template <class T>
const Format<T>& format();
}
namespace dia {
template <class T>
const Format<T>& format();
}

namespace cocktail {

namespace {

// The formats that a part may have: CSR as it is, and what the rule cuts out for.
template <class T>
std::vector<const Format<T>*> formats_for(const CutRule* rule) {
  std::vector formats{&csr_vector::format<T>(), &csr_merge::format<T>()};
  if (rule != nullptr && rule->cut == Cut::diagonals) formats.push_back(&dia::format<T>());
  if (rule != nullptr && rule->cut == Cut::blocks) formats.push_back(&bsr::format<T>());
  return formats;
}

// What an H200 could move in the time that a thread takes by itself, a step of one among many, and one of a thread that
// others wait for (see Walk). No format says what its threads walk on a host.
constexpr double bytes_of_thread = 30;
constexpr double bytes_of_step = 9;
constexpr double bytes_of_longest_step = 7e5;

// The bytes that the device would move in the time of a product without its launches.
double stretched_bytes(const Cost& cost) {
  const auto& walk = cost.walk;
  return cost.bytes * cost.imbalance + walk.threads * (bytes_of_thread + bytes_of_step * walk.steps) +
         bytes_of_longest_step * walk.longest;
}

// The first in the format's own order among those that are predicted alike.
template <class T>
std::optional<Choice<T>> best_of_format(const Format<T>& candidate, const Features& features, const Device& device) {
  std::vector<Choice<T>> admitted;
  double best = 0;
  for (auto& params : candidate.params(features, device).combinations(Choices::likely)) {
    const auto cost = candidate.predict(features, params, device);
    if (!cost) continue;
    const double stretched = stretched_bytes(*cost);
    best = admitted.empty() ? stretched : std::min(best, stretched);
    admitted.push_back({&candidate, std::move(params), cost->bytes, stretched});
  }
  const auto first = std::find_if(admitted.begin(), admitted.end(),
                                  [&](const Choice<T>& choice) { return choice.stretched <= alike_factor * best; });
  if (first == admitted.end()) return std::nullopt;
  return std::move(*first);
}

// The same nonzeros without the empty rows.
Features without_empty_rows(Features features) {
  features.rows -= features.empty_rows;
  features.empty_rows = 0;
  features.npr_histogram[0] = 0;
  features.npr_mean = static_cast<double>(features.nnz) / static_cast<double>(std::max<std::int64_t>(1, features.rows));
  return features;
}

template <class T>
void add_bytes(Choice<T>& choice, double bytes) {
  choice.bytes += bytes;
  choice.stretched += bytes;
}

template <class T>
std::optional<Choice<T>> best_of_listed_rows(const Features& features, const Device& device) {
  const auto listed = without_empty_rows(features);
  auto choice = best_of_format<T>(csr_vector::format<T>(), listed, device);
  if (!choice) return std::nullopt;
  // The list itself.
  add_bytes(*choice, static_cast<double>(listed.rows) * 4);
  choice->lists_rows = true;
  return choice;
}

}  // namespace

template <class T>
Features features_of(const Part<T>& part, const CutRule* rule, Place place) {
  auto features = extract_row_features(part.view(), place);
  features.distinct_values = distinct_values_cap + 1;
  features.slice_span_max = part.cols;
  features.diagonals = diagonals_cap + 1;
  for (std::size_t size = 0; size < block_sizes.size(); ++size) {
    const double area = block_sizes[size] * block_sizes[size];
    const bool is_cut = rule != nullptr && rule->cut == Cut::blocks && rule->block == block_sizes[size];
    features.block_fill[size] = (is_cut ? static_cast<double>(rule->least) : 1) / area;
  }
  if (rule != nullptr && rule->cut == Cut::diagonals) {
    features.diagonals = std::min((part.nnz + rule->least - 1) / rule->least, diagonals_cap + 1);
  }
  return features;
}

template <class T>
std::vector<Choice<T>> choices_for(const CutRule* rule, const Features& features, const Device& device, bool adds) {
  std::vector<Choice<T>> choices;
  for (const auto* candidate : formats_for<T>(rule)) {
    if (auto choice = best_of_format(*candidate, features, device)) choices.push_back(std::move(*choice));
  }
  if (adds) {
    if (auto choice = best_of_listed_rows<T>(features, device)) choices.push_back(std::move(*choice));
  }
  for (auto& choice : choices) {
    if (!adds) break;
    // y is read too, and of x no more than there are nonzeros.
    const auto rows = features.rows - (choice.lists_rows ? features.empty_rows : 0);
    const auto x_unread = features.cols - std::min(features.cols, features.nnz);
    add_bytes(choice, static_cast<double>(rows - x_unread) * sizeof(T));
  }
  // Predictions of different formats are off by up to a factor of two: of those that may be the fastest, the one that
  // moves the fewest bytes.
  double least = INFINITY;
  for (const auto& choice : choices) least = std::min(least, choice.stretched);
  constexpr double doubt = 2;
  std::stable_sort(choices.begin(), choices.end(), [&](const Choice<T>& a, const Choice<T>& b) {
    const auto rank = [&](const Choice<T>& choice) {
      const bool close = choice.stretched <= doubt * least;
      return std::pair(!close, close ? choice.bytes : choice.stretched);
    };
    return rank(a) < rank(b);
  });
  return choices;
}

template Features features_of(const Part<float>&, const CutRule*, Place);
template Features features_of(const Part<double>&, const CutRule*, Place);
template std::vector<Choice<float>> choices_for(const CutRule*, const Features&, const Device&, bool);
template std::vector<Choice<double>> choices_for(const CutRule*, const Features&, const Device&, bool);

}  // namespace cocktail

}  // namespace autospmv::formats
