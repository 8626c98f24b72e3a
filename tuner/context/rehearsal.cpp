#include "tuner/context/rehearsal.hpp"

#include <exception>
#include <mutex>
#include <set>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/fingerprint.hpp"
#include "features/features.hpp"
#include "features/longest_row.hpp"
#include "tuner/measure/conversion.hpp"
#include "tuner/measure/verifier.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {

namespace {

template <class T>
bool is_first(const Device& device) {
  static std::mutex mutex;
  static auto& rehearsed = *new std::set<int>();  // a context may be as static itself
  const std::scoped_lock lock(mutex);
  return rehearsed.insert(device.ordinal).second;
}

// Rows that are all so long, on the device.
template <class T>
class Band {
 public:
  Band(std::int32_t length, Place place) {
    std::vector<std::int32_t> row_ptr{0};
    std::vector<std::int32_t> col_idx;
    std::vector<T> values;
    for (std::int32_t row = 0; row < rows; ++row) {
      for (std::int32_t k = 0; k < length; ++k) {
        col_idx.push_back(row / length + k);
        values.push_back(T{1} / static_cast<T>(values.size() + 3));
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

template void rehearse<float>(const Device&) noexcept;
template void rehearse<double>(const Device&) noexcept;

}  // namespace autospmv
