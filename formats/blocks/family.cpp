#include "formats/blocks/family.hpp"

#include <cmath>
#include <numeric>

namespace autospmv::formats {

namespace {

std::optional<double> measured_fill(const Features& features, int b) {
  const auto at = std::find(block_sizes.begin(), block_sizes.end(), b);
  if (at == block_sizes.end()) return std::nullopt;
  return features.block_fill[static_cast<std::size_t>(at - block_sizes.begin())];
}

// Full b x b blocks touch (b + a - gcd(a, b)) / a blocks of a in each direction, so that much of a x a blocks they fill
// at least: neighbouring ones fill more. A matrix that falls short of this for any a does not consist of them.
bool may_consist_of(const Features& features, int b) {
  if (features.rows % b != 0 || features.cols % b != 0) return false;
  constexpr double sampling_error = 0.98;
  for (std::size_t s = 0; s < block_sizes.size(); ++s) {
    const int a = block_sizes[s];
    // Full blocks of a within blocks of b, or b was not the size of the blocks.
    if (features.block_fill[s] >= sampling_error && b % a != 0) return false;
    const double least = std::pow(static_cast<double>(b) / (b + a - std::gcd(a, b)), 2);
    if (features.block_fill[s] < sampling_error * least) return false;
  }
  return true;
}

double square_fill(const Features& features, int b) {
  if (const auto fill = measured_fill(features, b)) return *fill;
  if (may_consist_of(features, b)) return 1;
  // Between 4 and 8, by a power law.
  const double of_4 = *measured_fill(features, 4);
  const double of_8 = *measured_fill(features, 8);
  return of_4 > 0 ? of_4 * std::pow(of_8 / of_4, std::log2(b / 4.0)) : 0;
}

bool is_power_of_two(std::int64_t b) { return (b & (b - 1)) == 0; }

}  // namespace

double block_fill(const Features& features, int r, int c) {
  const double of_r = square_fill(features, r);
  return r == c ? of_r : std::sqrt(of_r * square_fill(features, c));
}

double block_count(const Features& features, int r, int c) {
  const double fill = block_fill(features, r, c);
  const auto nnz = static_cast<double>(features.nnz);
  return fill > 0 ? std::min(nnz, nnz / (fill * r * c)) : nnz;
}

template <class T>
std::vector<std::int64_t> block_sizes_worth_trying(const Features& features) {
  const auto bytes = [&](std::int64_t size) {
    const auto b = static_cast<int>(size);
    return block_bytes<T>({b, b, 1}, block_rows_of(features, b), block_count(features, b, b));
  };
  std::vector<std::int64_t> sizes;
  for (const std::int64_t b : block_sizes_allowed()) {
    if (measured_fill(features, static_cast<int>(b)) || may_consist_of(features, static_cast<int>(b))) {
      sizes.push_back(b);
    }
  }
  std::stable_sort(sizes.begin(), sizes.end(), [&](auto a, auto b) { return bytes(a) < bytes(b); });
  if (!is_power_of_two(sizes.front())) return {sizes.front()};
  std::erase_if(sizes, [](auto b) { return !is_power_of_two(b); });
  sizes.resize(2);
  return sizes;
}

template std::vector<std::int64_t> block_sizes_worth_trying<float>(const Features&);
template std::vector<std::int64_t> block_sizes_worth_trying<double>(const Features&);

}  // namespace autospmv::formats
