#include "tuner/context/rehearsal.hpp"

#include <exception>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/fingerprint.hpp"
#include "features/features.hpp"
#include "features/longest_row.hpp"
#include "formats/sizes.hpp"
#include "tuner/measure/conversion.hpp"
#include "tuner/measure/verifier.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

namespace {

// Whether a device is to rehearse that for the first time; what comes before the first candidate is 0.
template <class T>
bool is_first(const Device& device, std::size_t what = 0) {
  static std::mutex mutex;
  static auto& rehearsed = *new std::set<std::pair<int, std::size_t>>();  // a context may be as static itself
  const std::scoped_lock lock(mutex);
  return rehearsed.insert({device.ordinal, what}).second;
}

// Rows that are all so long, on the device; their values are all different, or one.
template <class T>
class Band {
 public:
  Band(std::int32_t length, Place place, bool one_value = false) {
    std::vector<std::int32_t> row_ptr{0};
    std::vector<std::int32_t> col_idx;
    std::vector<T> values;
    for (std::int32_t row = 0; row < rows; ++row) {
      for (std::int32_t k = 0; k < length; ++k) {
        col_idx.push_back(row / length + k);
        values.push_back(T{1} / static_cast<T>(one_value ? 3 : values.size() + 3));
      }
      row_ptr.push_back(static_cast<std::int32_t>(col_idx.size()));
    }
    row_ptr_ = Array<std::int32_t>::copy_of(row_ptr, place);
    col_idx_ = Array<std::int32_t>::copy_of(col_idx, place);
    values_ = Array<T>::copy_of(values, place);
  }

  [[nodiscard]] CsrView<T> view() const {
    return {rows, rows, static_cast<std::int64_t>(col_idx_.size()), row_ptr_.data(), col_idx_.data(), values_.data()};
  }

 private:
  static constexpr std::int32_t rows = 512;

  Array<std::int32_t> row_ptr_;
  Array<std::int32_t> col_idx_;
  Array<T> values_;
};

}  // namespace

template <class T>
void rehearse(const Device& device) noexcept {
  try {
    if (device.backend == Backend::host || !is_first<T>(device)) return;
    const DeviceScope scope(device);
    const RelaxedCapture relaxed(device);
    // Lengths for which plain CSR and the reference have kernels of their own.
    for (const std::int32_t length : {4, 24, 160}) {
      const Band<T> band(length, device);
      const auto matrix = band.view();
      const auto longest = longest_row(matrix.row_ptr, matrix.rows, device);
      const auto plain = blind_fallback_prospect(matrix, longest, device, Limits{}).candidate;
      Measurement ignored;
      const auto op = convert(matrix, plain, device, FormatLookup<T>(find_format<T>), ignored);
      (void)fingerprint_of(matrix, device);
      (void)extract_features(matrix, device);
      if (op != nullptr) Verifier<T>(matrix, device, 1).verify(*op, ignored);
    }
  } catch (const std::exception&) {
    // What needs it next will say what fails.
  }
}

template <class T>
Candidate rehearsed_candidate(std::size_t which) {
  Candidate candidate{"ell_packed", {}};
  candidate.params.set("block", 256);
  candidate.params.set("column_bits", which / 2 % 2 == 0 ? 32 : 16);
  candidate.params.set("entries", which / 4 % 2 == 0 ? 8 : 4);
  candidate.params.set("value_bits", which % 2 == 0 ? formats::full_value_bits<T> : 0);
  return candidate;
}

template <class T>
void rehearse_candidate(const Device& device, std::size_t which) noexcept {
  try {
    if (device.backend == Backend::host || !is_first<T>(device, which + 1)) return;
    const DeviceScope scope(device);
    const RelaxedCapture relaxed(device);
    const auto candidate = rehearsed_candidate<T>(which);
    const Band<T> band(4, device, candidate.params["value_bits"] == 0);
    const auto matrix = band.view();
    Measurement ignored;
    const auto op = convert(matrix, candidate, device, FormatLookup<T>(find_format<T>), ignored);
    if (op == nullptr) return;
    const auto stream = setup_stream(device);
    Array<T> x(static_cast<std::size_t>(matrix.cols), device);
    Array<T> y(static_cast<std::size_t>(matrix.rows), device);
    fill_bytes(x.data(), 0, static_cast<std::size_t>(x.bytes()), device, stream);
    op->apply(T{1}, x.data(), T{0}, y.data(), stream);
    synchronize(device, stream);
  } catch (const std::exception&) {
    // What needs it next will say what fails.
  }
}

template void rehearse<float>(const Device&) noexcept;
template void rehearse<double>(const Device&) noexcept;
template Candidate rehearsed_candidate<float>(std::size_t);
template Candidate rehearsed_candidate<double>(std::size_t);
template void rehearse_candidate<float>(const Device&, std::size_t) noexcept;
template void rehearse_candidate<double>(const Device&, std::size_t) noexcept;

}  // namespace autospmv
