// jad: jagged array diagonals. Rows sorted by decreasing length, their first entries side by side, then their second
// ones, and so on; each diagonal is as long as there are rows that reach it.
//
//   a b .     rows 2 0 1     values  e a d | f b | g
//   d . .
//   e f g
//
// The jagged core without padding: formats/jagged/storage.hpp.

#include "formats/jagged/family.hpp"

namespace autospmv::formats::jad {

namespace {

template <class T>
class Jad final : public JaggedFormat<T> {
 public:
  Jad() : JaggedFormat<T>(1) {}

  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "jad",
        .version = 3,
        .summary = "jagged diagonals: rows sorted by length, no padding",
        .paper =
            "Saad, \"Krylov subspace methods on supercomputers\", 1989; on GPUs: Li, Saad, \"GPU-accelerated "
            "preconditioned iterative linear solvers\", 2013, 3.2",
        .offered = {}};
    return info;
  }
};

}  // namespace

AUTOSPMV_FORMAT(Jad);

}  // namespace autospmv::formats::jad
