// pjds: padded jagged diagonals. As jad, with the length of every diagonal rounded up to a warp of rows, so that each
// begins where a warp's loads are aligned.
//
//   rounded up to 2:  a b .     rows 2 0 1     values  e a d . | f b | g .
//                     d . .
//                     e f g
//
// The jagged core with padding: formats/jagged/storage.hpp.

#include "formats/jagged/family.hpp"

namespace autospmv::formats::pjds {

namespace {

template <class T>
class Pjds final : public JaggedFormat<T> {
 public:
  Pjds() : JaggedFormat<T>(32) {}

  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "pjds",
        .version = 3,
        .summary = "padded jagged diagonals: their lengths rounded up to a warp",
        .paper =
            "Kreutzer, Hager, Wellein, Fehske, Basermann, Bishop, \"Sparse matrix-vector multiplication on GPGPU "
            "clusters: a new storage format and a scalable implementation\", 2012",
        .offered = {}};
    return info;
  }
};

}  // namespace

AUTOSPMV_FORMAT(Pjds);

}  // namespace autospmv::formats::pjds
