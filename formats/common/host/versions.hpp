// What multiversioned functions (core/machine/simd.hpp) are written out for. They cannot be templates, so one overload
// stands for each type of values and whatever else is known when they are compiled. `MAKE` is a macro that defines one.
#pragma once

#include <cstdint>

#include "core/machine/simd.hpp"
#include "formats/common/encoding/encoding.hpp"

/// MAKE(T, Offset): every type of values and of row offsets.
#define AUTOSPMV_EACH_OFFSET(MAKE) \
  MAKE(float, std::int32_t)        \
  MAKE(float, std::int64_t)        \
  MAKE(double, std::int32_t)       \
  MAKE(double, std::int64_t)

/// MAKE(T, Values, ...): every type of values and reader of these, with whatever else is given.
#define AUTOSPMV_EACH_VALUES(MAKE, ...)                             \
  MAKE(float, FullValues<float> __VA_OPT__(, ) __VA_ARGS__)         \
  MAKE(float, DictionaryValues<float> __VA_OPT__(, ) __VA_ARGS__)   \
  MAKE(float, OneValue<float> __VA_OPT__(, ) __VA_ARGS__)           \
  MAKE(double, FullValues<double> __VA_OPT__(, ) __VA_ARGS__)       \
  MAKE(double, NarrowValues<double> __VA_OPT__(, ) __VA_ARGS__)     \
  MAKE(double, DictionaryValues<double> __VA_OPT__(, ) __VA_ARGS__) \
  MAKE(double, OneValue<double> __VA_OPT__(, ) __VA_ARGS__)
