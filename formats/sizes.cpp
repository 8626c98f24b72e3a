#include "formats/sizes.hpp"

namespace autospmv::formats {

template <class T>
std::optional<Refusal> refuse_value_bits(const Features& features, std::int64_t bits) {
  if (bits == 0 && !features.values_all_equal) return Refusal{"values: not all are equal"};
  if (bits == 8 && features.distinct_values > largest_dictionary) return Refusal{"values: more than 255 distinct ones"};
  if (bits == 32 && full_value_bits < T >> 32 && !features.values_exact_in_float) {
    return Refusal{"values: not all survive float"};
  }
  return std::nullopt;
}

template <class T>
std::vector<std::int64_t> value_bits_for(const Features& features) {
  for (const std::int64_t bits : {0, 8, 32}) {
    if (bits < full_value_bits<T> && !refuse_value_bits<T>(features, bits)) return {bits, full_value_bits<T>};
  }
  return {full_value_bits<T>};
}

template std::optional<Refusal> refuse_value_bits<float>(const Features&, std::int64_t);
template std::optional<Refusal> refuse_value_bits<double>(const Features&, std::int64_t);
template std::vector<std::int64_t> value_bits_for<float>(const Features&);
template std::vector<std::int64_t> value_bits_for<double>(const Features&);

}  // namespace autospmv::formats
