// The one search of twins: two nested ones fit the lengths of rows, two in a row the shape of their columns.
#pragma once

namespace autospmv::twin {

/// Where is_below turns from true to false.
template <class IsBelow>
double bisect(double low, double high, int steps, const IsBelow& is_below) {
  for (int step = 0; step < steps; ++step) {
    const double middle = (low + high) / 2;
    (is_below(middle) ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace autospmv::twin
