#include "tuner/context/rehearsal.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/fingerprint.hpp"
#include "features/features.hpp"
#include "features/longest_row.hpp"
#include "formats/sizes.hpp"
#include "tuner/measure/caller_stream.hpp"
#include "tuner/measure/conversion.hpp"
#include "tuner/measure/verifier.hpp"
#include "tuner/search/candidates.hpp"
#include "tuner/search/plain_csr.hpp"

namespace autospmv {

namespace {

// Whether a device is to take that step for the first time.
template <class T>
bool is_first(const Device& device, std::size_t step) {
  static std::mutex mutex;
  static auto& rehearsed = *new std::set<std::pair<int, std::size_t>>();  // a context may be as static itself
  const std::scoped_lock lock(mutex);
  return rehearsed.insert({device.ordinal, step}).second;
}

// Rows of so many nonzeros, the first maybe of more, on the device; their values are all different, or one.
struct BandShape {
  std::int32_t length = 0;
  std::int32_t longest = 0;
  bool one_value = false;
};

template <class T>
class Band {
 public:
  Band(const BandShape& shape, Place place) {
    std::vector<std::int32_t> row_ptr{0};
    std::vector<std::int32_t> col_idx;
    std::vector<T> values;
    while (row_ptr.size() <= most_rows && col_idx.size() < enough_nonzeros) {
      const auto row = static_cast<std::int32_t>(row_ptr.size()) - 1;
      const auto length = row == 0 ? std::max(shape.length, shape.longest) : shape.length;
      for (std::int32_t k = 0; k < length; ++k) {
        col_idx.push_back(row / shape.length + k);
        values.push_back(T{1} / static_cast<T>(shape.one_value ? 3 : values.size() + 3));
      }
      row_ptr.push_back(static_cast<std::int32_t>(col_idx.size()));
    }
    row_ptr_ = Array<std::int32_t>::copy_of(row_ptr, place);
    col_idx_ = Array<std::int32_t>::copy_of(col_idx, place);
    values_ = Array<T>::copy_of(values, place);
  }

  [[nodiscard]] CsrView<T> view() const {
    return {static_cast<std::int32_t>(row_ptr_.size()) - 1,
            cols,
            static_cast<std::int64_t>(col_idx_.size()),
            row_ptr_.data(),
            col_idx_.data(),
            values_.data()};
  }

 private:
  static constexpr std::int32_t cols = 1 << 14;
  static constexpr std::size_t most_rows = 512;
  static constexpr std::size_t enough_nonzeros = 1 << 14;

  Array<std::int32_t> row_ptr_;
  Array<std::int32_t> col_idx_;
  Array<T> values_;
};

// What comes before the first candidate.
template <class T>
void rehearse_plain(const Device& device, const BandShape& shape, const std::function<bool()>& goes_on) {
  const Band<T> band(shape, device);
  const auto matrix = band.view();
  if (!goes_on()) return;
  const auto longest = longest_row(matrix.row_ptr, matrix.rows, device);
  const auto plain = blind_fallback_prospect(matrix, longest, device, Limits{}).candidate;
  Measurement ignored;
  const auto op = convert(matrix, plain, device, FormatLookup<T>(find_format<T>), ignored);
  if (!goes_on()) return;
  (void)fingerprint_of(matrix, device);
  if (!goes_on()) return;
  const auto features = extract_features(matrix, device);
  if (!goes_on()) return;
  // The first prediction of a process takes several times as long as those after it,
  (void)all_prospects<T>(features, device, blind_predictor(device), {}, Choices::likely);
  if (!goes_on()) return;
  if (op != nullptr) Verifier<T>(matrix, device, 1, longest).verify(*op, ignored);
  if (!goes_on()) return;
  // and so do the first events: as many as a trial takes.
  std::array<std::unique_ptr<Stopwatch>, 10> watches;
  for (auto& watch : watches) watch = make_stopwatch(device);
}

template <class T>
void rehearse_candidate(const Device& device, const Candidate& candidate, const std::function<bool()>& goes_on) {
  constexpr std::int32_t length = 4;
  const Band<T> band({.length = length, .one_value = candidate.params["value_bits"] == 0}, device);
  const auto matrix = band.view();
  Measurement ignored;
  const auto op = convert(matrix, candidate, device, FormatLookup<T>(find_format<T>), ignored);
  if (op != nullptr && goes_on()) Verifier<T>(matrix, device, 1, length).verify(*op, ignored);
}

// Rows, or parameters of csr_merge or ell_packed.
struct Step {
  BandShape rows = {};
  int items = 0;
  int entries = 0;
  int column_bits = 0;
  bool full_values = true;
};

// What is needed the most comes first. Plain CSR is another where one row is longer than others, with a kernel for each
// number of items, and for long rows features and reference products have kernels of their own.
constexpr std::array<Step, rehearsal_steps> steps{{
    {.rows = {.length = 4}},
    {.rows = {.length = 4, .longest = 9000}},
    {.entries = 8, .column_bits = 32},
    {.entries = 8, .column_bits = 16},
    {.entries = 8, .column_bits = 32, .full_values = false},
    {.rows = {.length = 160}},
    {.items = 7},
    {.items = 15},
    {.entries = 4, .column_bits = 32},
    {.entries = 8, .column_bits = 16, .full_values = false},
    {.entries = 4, .column_bits = 16},
    {.entries = 4, .column_bits = 32, .full_values = false},
    {.entries = 4, .column_bits = 16, .full_values = false},
    {.entries = 8, .column_bits = 8, .full_values = false},
    {.entries = 8, .column_bits = 8},
    {.entries = 2, .column_bits = 32},
    {.entries = 2, .column_bits = 16},
}};

}  // namespace

template <class T>
std::optional<Candidate> rehearsed_candidate(std::size_t step) {
  const auto& what = steps[step];
  if (what.rows.length > 0) return std::nullopt;
  if (what.items > 0) return csr_by_shares<T>(what.items);
  Candidate candidate{"ell_packed", {}};
  candidate.params.set("block", 256);
  candidate.params.set("column_bits", what.column_bits);
  candidate.params.set("entries", what.entries);
  candidate.params.set("value_bits", what.full_values ? formats::full_value_bits<T> : 0);
  return candidate;
}

template <class T>
void rehearse(const Device& device, std::size_t step, const std::function<bool()>& goes_on) noexcept {
  try {
    if (device.backend == Backend::host || !is_first<T>(device, step)) return;
    const DeviceScope scope(device);
    const RelaxedCapture relaxed(device);
    if (const auto candidate = rehearsed_candidate<T>(step)) {
      rehearse_candidate<T>(device, *candidate, goes_on);
    } else {
      rehearse_plain<T>(device, steps[step].rows, goes_on);
    }
  } catch (const std::exception&) {
    // What needs it next will say what fails.
  }
}

template std::optional<Candidate> rehearsed_candidate<float>(std::size_t);
template std::optional<Candidate> rehearsed_candidate<double>(std::size_t);
template void rehearse<float>(const Device&, std::size_t, const std::function<bool()>&) noexcept;
template void rehearse<double>(const Device&, std::size_t, const std::function<bool()>&) noexcept;

}  // namespace autospmv
