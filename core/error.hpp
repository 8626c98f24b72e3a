// What is broken is thrown; what is merely unsuitable is a Refusal, returned with its reason.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "autospmv/error.hpp"

namespace autospmv {

/// Why a format does not take a matrix with these parameters.
struct Refusal {
  std::string reason;
  /// Whatever the matrix: the format has no such parameter, or not with this value on this device, or needs another
  /// one.
  bool of_params = false;
};

/// A value, or the reason why there is none.
template <class V>
class Result {
 public:
  Result(V value) : state_(std::move(value)) {}            // NOLINT(google-explicit-constructor)
  Result(Refusal refusal) : state_(std::move(refusal)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool admitted() const { return state_.index() == 0; }
  explicit operator bool() const { return admitted(); }

  V& operator*() { return std::get<0>(state_); }
  const V& operator*() const { return std::get<0>(state_); }
  V* operator->() { return &std::get<0>(state_); }
  const V* operator->() const { return &std::get<0>(state_); }
  [[nodiscard]] const Refusal& refusal() const { return std::get<1>(state_); }
  [[nodiscard]] const std::string& reason() const { return refusal().reason; }

 private:
  std::variant<V, Refusal> state_;
};

}  // namespace autospmv
