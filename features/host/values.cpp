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
  // A value met before has been judged before.
  const auto meet = [&](T value) {
    if (tally.distinct.insert(bits_of(value)) && !survives_float(value)) tally.inexact = true;
  };
  std::size_t k = 0;
  while (k < values.size() && !tally.distinct.over_cap()) {
    // Often one value follows itself, be it all over the matrix.
    const auto some = values.subspan(k, std::min(at_once, values.size() - k));
    if (are_all(some, some.front())) {
      meet(some.front());
      k += some.size();
      continue;
    }
    for (std::size_t i = 0; i < some.size() && !tally.distinct.over_cap(); ++i, ++k) meet(some[i]);
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
