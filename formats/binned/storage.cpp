#include "formats/binned/storage.hpp"

#include <algorithm>
#include <cmath>

#include "core/machine/on_backend.hpp"
#include "formats/binned/children_dynamic.hpp"
#include "formats/binned/operator.hpp"
#include "formats/common/predict/rules.hpp"

namespace autospmv::formats {

namespace {

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
Built<T> make_binned_rows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape, const Device& device) {
  const double bytes =
      binned_storage_bytes<T>(matrix.rows, matrix.nnz, shape.stored, shape.log_granularity, full_value_bits<T>);
  if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
  if (shape.dynamic_bins > 0 && !room_for_children(shape.most_children, device)) {
    return Refusal{"memory: no room for so many launches that wait"};
  }
  auto built = on_backend(
      device, [&] { return host::make_binned_rows(matrix, std::move(rows), std::move(shape)); },
      [&] { return cuda_steps::make_binned_rows(matrix, std::move(rows), std::move(shape), device); });
  if (!built->complete()) return Refusal{"values: more bits are needed"};
  return std::unique_ptr<Operator<T>>(std::move(built));
}

template <class T>
double binned_storage_bytes(std::int64_t rows, std::int64_t nnz, bool stored, int log_granularity,
                            std::int64_t value_bits) {
  const double list = std::ldexp(static_cast<double>(rows), -log_granularity) * 4;
  const double bits = static_cast<double>(std::min<std::int64_t>(value_bits, full_value_bits<T>));
  const double values = static_cast<double>(nnz) * bits / 8;
  if (!stored) return list + (bits < full_value_bits<T> ? values : 0);
  return list + csr_bytes<T>(rows, nnz) - static_cast<double>(nnz) * sizeof(T) + values;
}

template Built<float> make_binned_rows(const CsrView<float>&, RowBins, BinnedShape, const Device&);
template Built<double> make_binned_rows(const CsrView<double>&, RowBins, BinnedShape, const Device&);
template double binned_storage_bytes<float>(std::int64_t, std::int64_t, bool, int, std::int64_t);
template double binned_storage_bytes<double>(std::int64_t, std::int64_t, bool, int, std::int64_t);

}  // namespace autospmv::formats
