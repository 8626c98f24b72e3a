#include "core/matrix/fingerprint.hpp"

#include <charconv>

#include "core/cuda/kernels.hpp"
#include "core/machine/parallel.hpp"
#include "core/matrix/fingerprint_mix.hpp"

namespace autospmv {

namespace {

template <class Word>
HashSum hash_words(std::int64_t words, std::uint64_t first_position, const Word& word) {
  return parallel_reduce(
      words, HashSum{},
      [&](Share share) {
        HashSum sum;
        for (std::int64_t i = share.first; i < share.last; ++i) {
          sum += hash_word(word(i), first_position + static_cast<std::uint64_t>(i));
        }
        return sum;
      },
      [](HashSum a, const HashSum& b) { return a += b; });
}

std::string hexadecimal(std::uint64_t value) {
  std::string digits(16, '0');
  for (auto at = digits.rbegin(); at != digits.rend(); ++at, value >>= 4) *at = "0123456789abcdef"[value & 15U];
  return digits;
}

}  // namespace

std::string Fingerprint::text() const { return hexadecimal(high) + hexadecimal(low); }

std::optional<Fingerprint> Fingerprint::parse(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  Fingerprint fingerprint;
  const auto read = [](std::string_view digits, std::uint64_t& value) {
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    return code == std::errc{} && end == digits.data() + digits.size();
  };
  if (!read(text.substr(0, 16), fingerprint.high) || !read(text.substr(16), fingerprint.low)) return std::nullopt;
  return fingerprint;
}

template <class T>
Fingerprint fingerprint_of(const CsrView<T>& matrix, Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      return cuda::fingerprint_of(matrix.rows, matrix.cols, matrix.nnz, matrix.row_ptr, matrix.col_idx, place);
    }
  }
  auto sum = hash_dimensions(matrix.rows, matrix.cols, matrix.nnz);
  sum += with_offsets(matrix.row_ptr, [&](const auto* offsets) {
    return hash_words(matrix.rows + 1, 0, [=](std::int64_t i) { return static_cast<std::uint64_t>(offsets[i]); });
  });
  sum += hash_words((matrix.nnz + 1) / 2, column_positions,
                    [&](std::int64_t k) { return column_word(matrix.col_idx, matrix.nnz, k); });
  return finish(sum);
}

template Fingerprint fingerprint_of(const CsrView<float>&, Place);
template Fingerprint fingerprint_of(const CsrView<double>&, Place);

}  // namespace autospmv
