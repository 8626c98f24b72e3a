// What is broken is thrown; what is merely unsuitable is a Refusal, returned with its reason.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace autospmv {

/// Misuse, IO and device failures. `what()` is one line, fit to be shown to a person as it is.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller passed something that no matrix, vector or option can be: wrong sizes, columns out of range.
class InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// A CUDA or cuSPARSE call failed. Sticky errors poison the process; the text says which call it was.
class DeviceError : public Error {
 public:
  using Error::Error;
};

/// Why a format does not take a matrix with these parameters.
struct Refusal {
  std::string reason;
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
  [[nodiscard]] const std::string& reason() const { return std::get<1>(state_).reason; }

 private:
  std::variant<V, Refusal> state_;
};

}  // namespace autospmv
