// ell_adaptive: nonzeros balanced over warps, and the threads of a warp over its rows in proportion to their lengths.
// Rows are stored in groups of a warp, chunk by chunk; a row has 1, 2, 3, 4, 5, 6, 8, 10, 16 or all 32 threads of its
// warp, the fewest with which no thread has more than h entries. There is nothing to tune but the bits of columns and
// values: h follows from the number of nonzeros.
//
//   h = 2, 6 lanes a group   row 0: a b c d e f   -> 3 lanes     group 0: a b c g h i | d e f j k .
//                            row 1: g h i j k     -> 3 lanes     group 1: l m n o . .
//                            rows 2 to 5: l m n o -> 1 lane each
//
// The paper fills warps with rows by a best-fit heuristic, one row after the other. Here every warp gets the h entries
// a thread that an even share of the matrix would, and as rows are sorted by length first, those that need the same
// number of threads follow each other: where each row goes is a prefix sum over ten numbers instead of a search. What
// this gives up: warps hold rows of like lengths, so that warps of rows shorter than h have less to do than the others
// (they end early; none has more), and 2 of 32 threads are idle where a row has 3, 5, 6 or 10. What it gains beside the
// setup: hardly any padding. The paper hands rows too long for a warp to several warps by atomics; here they get a
// block of up to 1024 threads, so that the result is the same every time.
//
// Groups of lanes: formats/lanes/storage.hpp. Source: Maggioni, Berger-Wolf, "AdELL: an adaptive warp-balancing ELL
// format for efficient sparse matrix-vector multiplication on GPUs", 2013, as surveyed in Muhammed, Mehmood, Albeshri,
// Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV computations on GPUs", 2019, 3.

#include "formats/lanes/family.hpp"

namespace autospmv::formats::ell_adaptive {

namespace {

template <class T>
class EllAdaptive final : public LanesFormat<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "ell_adaptive",
        .version = 3,
        .summary = "ELLPACK in balanced warps, threads shared among rows in proportion to their lengths",
        .paper =
            "Maggioni, Berger-Wolf, \"AdELL: an adaptive warp-balancing ELL format for efficient sparse "
            "matrix-vector multiplication on GPUs\", 2013",
        .offered = {}};
    return info;
  }

 private:
  [[nodiscard]] const char* why_no_row_is_shared() const override {
    return "balance: one thread is enough for every row, so there is nothing to adapt";
  }

  // An even share of the nonzeros over all threads that are resident at once, several times over: so many that the
  // warps that come last find the device busy. Fewer entries would not pay for the row that a thread has to store, more
  // would leave long rows to few threads for nothing.
  [[nodiscard]] LaneClasses classes_of(const Params& /*params*/, std::int64_t nnz,
                                       const Device& device) const override {
    constexpr std::int64_t threads_of_multiprocessor = 2048;
    constexpr std::int64_t rounds = 4;
    constexpr std::int64_t least = 8;
    constexpr std::int64_t most = 64;
    const auto threads = rounds * threads_of_multiprocessor * std::max(1, device.multiprocessors);
    return {
        .height = std::clamp(nnz / threads, least, most), .count = 11, .lanes = {32, 32, 16, 10, 8, 6, 5, 4, 3, 2, 1}};
  }
};

}  // namespace

AUTOSPMV_FORMAT(EllAdaptive);

}  // namespace autospmv::formats::ell_adaptive
