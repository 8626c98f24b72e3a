// Which values there are.
#include <algorithm>
#include <cstddef>

#include "core/machine/parallel.hpp"
#include "features/host/reading.hpp"
#include "features/value_set.hpp"

namespace autospmv::host {

namespace {

struct ValueTally {
  ValueSet distinct;
  bool inexact = false;
};

template <class T>
ValueTally read_values(std::span<const T> values) {
  constexpr std::size_t at_once = 64;
  ValueTally tally;
  std::size_t k = 0;
  while (k < values.size() && !tally.distinct.over_cap()) {
    // Often one value follows itself, be it all over the matrix.
    const std::size_t end = std::min(k + at_once, values.size());
    const auto first = bits_of(values[k]);
    const auto differs = [&](T value) { return bits_of(value) != first; };
    std::size_t next = k;
    do {
      // A value met before has been judged before.
      if (tally.distinct.insert(bits_of(values[next])) && !survives_float(values[next])) tally.inexact = true;
      if (next == k) {
        const auto* const other = std::find_if(values.data() + k + 1, values.data() + end, differs);
        next = static_cast<std::size_t>(other - values.data());
      } else {
        ++next;
      }
    } while (next < end && !tally.distinct.over_cap());
    k = next;
  }
  for (; k < values.size() && !tally.inexact; ++k) tally.inexact = !survives_float(values[k]);
  return tally;
}

}  // namespace

template <class T>
void count_values(std::span<const T> values, Sums& sums) {
  const auto read_share = [&](Share share) {
    return read_values(
        values.subspan(static_cast<std::size_t>(share.first), static_cast<std::size_t>(share.last - share.first)));
  };
  const auto unite = [](ValueTally a, const ValueTally& b) {
    a.distinct.unite(b.distinct);
    a.inexact = a.inexact || b.inexact;
    return a;
  };
  const auto tally = parallel_reduce(static_cast<std::int64_t>(values.size()), ValueTally{}, read_share, unite);
  sums.distinct_values = static_cast<Count>(tally.distinct.count());
  sums.zero_values = tally.distinct.has_zero() ? 1 : 0;
  sums.inexact_values = tally.inexact ? 1 : 0;
}

template void count_values(std::span<const float>, Sums&);
template void count_values(std::span<const double>, Sums&);

}  // namespace autospmv::host
