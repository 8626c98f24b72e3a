#include "tuner/context/keys.hpp"

#include "autospmv/version.h"
#include "features/features.hpp"
#include "formats/sizes.hpp"
#include "tuner/context/service.hpp"
#include "tuner/objective.hpp"

namespace autospmv {

// What suits values that take few bits does not suit others of the same pattern, and the other way round.
template <class T>
std::string kind_of_values(const Features& features) {
  const auto bits = formats::value_bits_for<T>(features).front();
  const std::string type(value_type_name<T>());
  return bits == formats::full_value_bits<T> ? type : type + " in " + std::to_string(bits) + " bits";
}

template <class T>
std::string kind_of_values(const CsrView<T>& matrix, const Device& device) {
  return kind_of_values<T>(extract_value_features(matrix, device));
}

TrialKey key_of_machine(const Device& device) {
  return {.pattern = {},
          .value_type = {},
          .operation = "n",
          .backend = std::string(name_of(device.backend)),
          .device = device.name,
          .toolkit = device.toolkit,
          .driver = device.driver,
          .library = AUTOSPMV_VERSION};
}

template <class T>
TrialKey key_of_pattern(const MatrixData<T>& matrix, const Device& device) {
  auto key = key_of_machine(device);
  key.pattern = matrix.fingerprint();
  // A transposed matrix of the same pattern is the same matrix to whoever chooses a format.
  if (matrix.operation() == Operation::transposed && matrix.has_own_pattern()) key.operation = std::string("t");
  return key;
}

template <class T>
TrialKey key_of(const MatrixData<T>& matrix, const Device& device) {
  auto key = key_of_pattern(matrix, device);
  key.value_type = kind_of_values(matrix.on(device), device);
  return key;
}

template <Scalar T>
TrialKey key_of(const Matrix<T>& matrix, const Context& context) {
  const auto values = data_of(matrix).hold_values();
  return key_of(data_of(matrix), service_of(context).device());
}

bool was_tuned(Database& database, const TrialKey& key, Effort effort, const Limits& limits,
               const std::string& catalogue) {
  return is_covered(database.tunings(key, catalogue), effort, limits);
}

#define AUTOSPMV_KEYS(T)                                                 \
  template TrialKey key_of_pattern(const MatrixData<T>&, const Device&); \
  template TrialKey key_of(const MatrixData<T>&, const Device&);         \
  template TrialKey key_of(const Matrix<T>&, const Context&);            \
  template std::string kind_of_values<T>(const Features&);               \
  template std::string kind_of_values(const CsrView<T>&, const Device&);
AUTOSPMV_KEYS(float)
AUTOSPMV_KEYS(double)
#undef AUTOSPMV_KEYS

}  // namespace autospmv
