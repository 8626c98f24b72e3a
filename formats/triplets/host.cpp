#include "formats/triplets/storage.hpp"

#include <algorithm>

#include "formats/common/host/host_shares.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"

namespace autospmv::formats {

namespace host {

namespace {

template <class T, class Values>
AUTOSPMV_INLINE Head<T> multiply_share(const Triplets<T>& triplets, Values values, Share entries, std::int64_t rows,
                                       T alpha, const T* x, T beta, T* y) {
  const std::int32_t* row_of = triplets.rows;
  const std::int32_t* columns = triplets.columns;
  values.open();
  Head<T> head;
  // The last row that is done with, this share's or that before it.
  std::int64_t done = entries.first > 0 ? row_of[entries.first - 1] : -1;
  for (auto first = entries.first; first < entries.last;) {
    const auto row = row_of[first];
    auto last = first + 1;
    while (last < entries.last && row_of[last] == row) ++last;
    const T sum = row_sum<4, T>(last - first, [&](std::int64_t k) AUTOSPMV_INLINE_LAMBDA {
      return values.at(first + k) * x[columns[first + k]];
    });
    if (row == done) {
      head = {row, sum};
    } else {
      scale_rows(done + 1, std::int64_t{row}, beta, y);
      store_row(y, row, alpha, sum, beta);
    }
    done = row;
    first = last;
  }
  if (entries.last == triplets.entries) scale_rows(done + 1, rows, beta, y);
  return head;
}

#define AUTOSPMV_TRIPLETS(T, Values)                                                                            \
  AUTOSPMV_MULTIVERSION_SCALAR Head<T> share_version(const Triplets<T>& triplets, Values values, Share entries, \
                                                     std::int64_t rows, T alpha, const T* x, T beta, T* y) {    \
    return multiply_share(triplets, values, entries, rows, alpha, x, beta, y);                                  \
  }
AUTOSPMV_EACH_VALUES(AUTOSPMV_TRIPLETS)
#undef AUTOSPMV_TRIPLETS

}  // namespace

}  // namespace host

template <class T>
void multiply_triplets_host(const Triplets<T>& triplets, std::int64_t rows, int shares, T alpha, const T* x, T beta,
                            T* y) {
  if (triplets.entries == 0) return host::scale_rows(0, rows, beta, y);
  with_values(triplets, [&](auto values) {
    host::sum_in_shares(triplets.entries, shares, alpha, y, [&](int share) {
      // A share without entries has no row before it to go on from; only the last one sees to the rows that remain.
      const auto entries = share_of(triplets.entries, share, shares);
      if (entries.first == entries.last) return host::Head<T>{};
      return host::share_version(triplets, values, entries, rows, alpha, x, beta, y);
    });
  });
}

template void multiply_triplets_host(const Triplets<float>&, std::int64_t, int, float, const float*, float, float*);
template void multiply_triplets_host(const Triplets<double>&, std::int64_t, int, double, const double*, double,
                                     double*);

}  // namespace autospmv::formats
