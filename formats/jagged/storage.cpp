#include "formats/jagged/storage.hpp"

#include <utility>

#include "core/machine/on_backend.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/jagged/convert.hpp"

namespace autospmv::formats {

namespace {

// Where work happens decides which of two functions runs; the steps are the same.
template <class T>
void fill(const CsrView<T>& matrix, const JaggedMatrix<T>& jagged, Array<std::int32_t>& columns, Array<T>& values,
          Place place, Stream stream) {
  on_backend(
      place, [&] { host::fill(matrix, jagged, columns, values); },
      [&] { cuda_steps::fill(matrix, jagged, columns, values, stream); });
}

}  // namespace

template <class T>
Result<JaggedMatrix<T>> build_jagged(const CsrView<T>& matrix, const JaggedLayout& layout, const Device& device) {
  const DeviceScope scope(device);
  const auto stream = setup_stream(device);
  JaggedMatrix<T> jagged;
  jagged.layout = layout;
  jagged.rows = matrix.rows;
  jagged.cols = matrix.cols;
  jagged.slots = on_backend(
      device, [&] { return host::lay_out(matrix, jagged); },
      [&] { return cuda_steps::lay_out(matrix, jagged, device, stream); });
  const auto slots = static_cast<std::size_t>(jagged.slots);
  const double bytes = static_cast<double>(slots) * (4 + sizeof(T)) + static_cast<double>(jagged.bytes());
  if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
  Array<std::int32_t> columns(slots, device);
  Array<T> values(slots, device);
  fill(matrix, jagged, columns, values, device, stream);
  if (!encode(jagged.values, std::move(values), value_bits_of<T>(layout.value_bits), columns.data(), stream)) {
    return refuse_encoding(value_bits_of<T>(layout.value_bits));
  }
  encode(jagged.columns, std::move(columns), 32, {}, stream);
  synchronize(device, stream);
  return jagged;
}

template <class T>
bool JaggedMatrix<T>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  return refill_values(values, static_cast<std::size_t>(slots), columns.full.data(), place, stream,
                       [&](Array<T>& to, Stream on) { fill(matrix, *this, columns.full, to, place, on); });
}

template <class T>
void JaggedMatrix<T>::multiply(T alpha, const T* x, T beta, T* y, Place place, Stream stream) const {
  if (rows == 0) return;
  on_backend(
      place, [&] { host::multiply(*this, alpha, x, beta, y); },
      [&] { cuda_steps::multiply(*this, alpha, x, beta, y, stream); });
}

template struct JaggedMatrix<float>;
template struct JaggedMatrix<double>;
template Result<JaggedMatrix<float>> build_jagged(const CsrView<float>&, const JaggedLayout&, const Device&);
template Result<JaggedMatrix<double>> build_jagged(const CsrView<double>&, const JaggedLayout&, const Device&);

}  // namespace autospmv::formats
