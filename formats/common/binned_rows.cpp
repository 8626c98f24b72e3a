#include "formats/common/binned_rows.hpp"

#include <algorithm>
#include <cmath>

#include "formats/common/binned_rows_dynamic.hpp"
#include "formats/common/binned_rows_steps.hpp"
#include "formats/common/rules.hpp"

namespace autospmv::formats {

namespace {

// Smallest unit of device memory that is read or written.
constexpr double sector_bytes = 32;

// Fewer nonzeros than this pay for no more partial sums than these.
constexpr std::int64_t few_nonzeros = 2;
constexpr std::int64_t some_nonzeros = 12;

template <class Threads>
std::vector<RowBin> filled_bins(const RowBins& rows, const std::vector<std::int64_t>& floors, int log_granularity,
                                const Threads& log_threads_of) {
  std::vector<RowBin> bins;
  for (std::size_t b = 0; b < floors.size(); ++b) {
    if (rows.first[b] == rows.first[b + 1]) continue;
    const bool exact = b > 0 && floors[b - 1] == floors[b] + 1 && log_granularity == 0;
    bins.push_back({.first = rows.first[b] << log_granularity,
                    .last = rows.first[b + 1] << log_granularity,
                    .log_threads = log_threads_of(floors[b] + 1),
                    .length = exact ? static_cast<int>(floors[b] + 1) : -1});
  }
  return bins;
}

double bits_stored(const Features& features, double bits) { return static_cast<double>(features.nnz) * bits / 8; }

// The share of rows whose next one is in another bin, where the order of rows says nothing of their lengths.
double share_of_changes(const Features& features) {
  double same = 0;
  for (const auto rows : features.npr_histogram) {
    const double share = static_cast<double>(rows) / std::max(1.0, static_cast<double>(features.rows));
    same += share * share;
  }
  return 1 - std::min(1.0, same);
}

// Where work happens decides which of two operators is made.
template <class T>
std::unique_ptr<BinnedRowsOperator<T>> make_operator(const CsrView<T>& matrix, RowBins rows, BinnedShape shape,
                                                     Place place) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      return cuda_steps::make_binned_rows(matrix, std::move(rows), std::move(shape), place);
    }
  }
  return host::make_binned_rows(matrix, std::move(rows), std::move(shape));
}

bool room_for_children([[maybe_unused]] std::int64_t children, [[maybe_unused]] Place place) {
  if constexpr (built_with_cuda) return cuda_steps::reserve_children(children, place);
  return true;
}

}  // namespace

std::vector<RowBin> bins_by_rule(const RowBins& rows, const std::vector<std::int64_t>& floors, const ThreadRule& rule,
                                 int log_granularity) {
  return filled_bins(rows, floors, log_granularity,
                     [&](std::int64_t shortest) { return rule.log_threads_of(shortest); });
}

std::vector<std::int64_t> lane_floors() { return {exact_lengths, some_nonzeros, few_nonzeros, -1}; }

std::vector<RowBin> bins_of_host(const RowBins& rows, const std::vector<std::int64_t>& floors, int lanes,
                                 int log_granularity) {
  const int most = lanes >= 8 ? 3 : 2;
  return filled_bins(rows, floors, log_granularity, [&](std::int64_t shortest) {
    return shortest <= few_nonzeros ? 0 : shortest <= some_nonzeros ? 1 : shortest <= exact_lengths ? 2 : most;
  });
}

template <class T>
Result<std::unique_ptr<Operator<T>>> make_binned_rows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape,
                                                      const Device& device) {
  Features size;
  size.rows = matrix.rows;
  size.nnz = matrix.nnz;
  const double bytes = binned_storage_bytes<T>(size, shape.stored, shape.log_granularity, full_value_bits<T>);
  if (auto refusal = refuse_allocation(bytes, csr_bytes<T>(matrix.rows, matrix.nnz), device)) return *refusal;
  if (shape.dynamic_bins > 0 && !room_for_children(shape.most_children, device)) {
    return Refusal{"memory: no room for so many launches that wait"};
  }
  auto built = make_operator(matrix, std::move(rows), std::move(shape), device);
  if (!built->complete()) return Refusal{"values: more bits are needed"};
  return std::unique_ptr<Operator<T>>(std::move(built));
}

template <class T>
double binned_storage_bytes(const Features& features, bool stored, int log_granularity, std::int64_t value_bits) {
  const double list = std::ldexp(static_cast<double>(features.rows), -log_granularity) * 4;
  const double bits = static_cast<double>(std::min<std::int64_t>(value_bits, full_value_bits<T>));
  if (!stored) return list + (bits < full_value_bits<T> ? bits_stored(features, bits) : 0);
  return list + csr_bytes<T>(features.rows, features.nnz) - bits_stored(features, full_value_bits<T> - bits);
}

template <class T>
double binned_product_bytes(const Features& features, bool stored, int log_granularity, std::int64_t value_bits) {
  const double bits = static_cast<double>(std::min<std::int64_t>(value_bits, full_value_bits<T>));
  const double list = std::ldexp(static_cast<double>(features.rows), -log_granularity) * 4;
  const double matrix = csr_bytes<T>(features.rows, features.nnz) - bits_stored(features, full_value_bits<T> - bits);
  const double changes = std::ldexp(static_cast<double>(features.rows) * share_of_changes(features), -log_granularity);
  // At the end of a row in place, a sector of the columns and one of the values.
  const double sectors = stored ? 1 : 3;
  // Rows share no more than there is of them.
  const double shared = std::min(changes * sectors * sector_bytes, matrix + vector_bytes<T>(features));
  return list + matrix + vector_bytes<T>(features) + shared;
}

int bins_present(const Features& features, const ThreadRule& rule) {
  std::int64_t seen = 0;
  for (int bin = 0; bin < npr_bins; ++bin) {
    if (features.npr_histogram[static_cast<std::size_t>(bin)] == 0) continue;
    const std::int64_t length = bin == 0 ? 0 : (std::int64_t{3} << bin) / 4;
    seen |= std::int64_t{1} << rule.log_threads_of(std::min(length, features.npr_max));
  }
  int count = 0;
  for (; seen != 0; seen &= seen - 1) ++count;
  return count;
}

std::int64_t rows_of_at_least(const Features& features, std::int64_t nonzeros) {
  std::int64_t rows = 0;
  for (int bin = 0; bin < npr_bins; ++bin) {
    const std::int64_t longest = (std::int64_t{1} << bin) - 1;
    if (longest >= nonzeros) rows += features.npr_histogram[static_cast<std::size_t>(bin)];
  }
  return features.npr_max >= nonzeros ? rows : 0;
}

#define AUTOSPMV_BINNED_ROWS(T)                                                                           \
  template Result<std::unique_ptr<Operator<T>>> make_binned_rows(const CsrView<T>&, RowBins, BinnedShape, \
                                                                 const Device&);                          \
  template double binned_storage_bytes<T>(const Features&, bool, int, std::int64_t);                      \
  template double binned_product_bytes<T>(const Features&, bool, int, std::int64_t);
AUTOSPMV_BINNED_ROWS(float)
AUTOSPMV_BINNED_ROWS(double)
#undef AUTOSPMV_BINNED_ROWS

}  // namespace autospmv::formats
