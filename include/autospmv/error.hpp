// What is thrown where something is broken.
#pragma once

#include <stdexcept>

#include "autospmv/export.h"

namespace autospmv {

/// Misuse, IO and device failures. `what()` is one line, fit to be shown to a person as it is.
class AUTOSPMV_API Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The caller passed something that no matrix, vector or option can be: wrong sizes, columns out of range.
class AUTOSPMV_API InvalidArgument : public Error {
 public:
  using Error::Error;
};

/// There is not enough memory on the host or the device.
class AUTOSPMV_API OutOfMemory : public Error {
 public:
  using Error::Error;
};

/// A CUDA or cuSPARSE call failed. Sticky errors poison the process; the text says which call it was.
class AUTOSPMV_API DeviceError : public Error {
 public:
  using Error::Error;
};

/// A tuning was given up because ContextOptions::stop has asked for that. Nothing is broken: what was measured before
/// is kept, the next tuning of the matrix goes on from there, and everything can be used as before.
class AUTOSPMV_API Interrupted : public Error {
 public:
  using Error::Error;
};

/// What is asked for is sensible, but this version or build cannot do it, or not by this plan.
class AUTOSPMV_API Unsupported : public Error {
 public:
  using Error::Error;
};

}  // namespace autospmv
