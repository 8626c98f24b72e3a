// The vectors that a product is verified with, and a look at what it did to them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/machine/array.hpp"
#include "core/verify/random.hpp"
#include "core/verify/reference.hpp"

namespace autospmv {

/// What a product has left behind.
struct Findings {
  Comparison comparison;
  bool y_guards_intact = true;
  bool x_intact = true;  ///< its guards too
};

/// Elements of a guard, a warp's worth: what an off-by-one or an unguarded tail would touch first.
inline constexpr std::size_t probe_guard = 64;
/// Every byte of the guards of x, and of a y that must not be read.
inline constexpr int not_a_number_byte = 0xff;
/// Every byte of the guards of y.
inline constexpr int guard_byte = 0xa5;

/// What x and y are before a product.
struct Drawn {
  RandomVector x;
  RandomVector y = {};
  bool has_y = false;  ///< false: y is no numbers at all
};

/// x and y between guards: those of x are not numbers, for whoever reads them to show it, those of y a pattern that
/// nobody writes. What they were is not kept beside them: to draw numbers again takes no longer than to read others.
/// Everything happens on the setup stream.
template <class T>
class Probe {
 public:
  Probe(std::int64_t cols, std::int64_t rows, Place place);

  /// Before the first look since findings were taken.
  void prepare(const Drawn& next);

  /// At what was done since the vectors were last prepared, as they are then for the next product: to a device both are
  /// one. With `scaled`, the reference is taken for that.
  void look(const Reference& reference, const Scaled<T>* scaled, const Drawn& next);

  /// What the looks since it was last asked have found, in their order; waits for them.
  [[nodiscard]] std::vector<Findings> take_findings();

  [[nodiscard]] const T* x() const { return x_.data() + probe_guard; }
  [[nodiscard]] T* y() { return y_.data() + probe_guard; }

 private:
  [[nodiscard]] bool x_intact() const;
  void draw(const Drawn& next);
  void read_looks();

  Place place_;
  Array<T> x_;
  Array<T> y_;
  std::optional<Drawn> drawn_;  // nothing where x is no longer what it was
  std::vector<Findings> found_;
  Array<std::byte> looks_;      // on a device
  std::size_t look_count_ = 0;  // those of them that are not among the found yet
};

extern template class Probe<float>;
extern template class Probe<double>;

}  // namespace autospmv
