// cocktail: the matrix as the sum of two parts, cut where its nonzeros are of two kinds, each part in the format that
// is predicted to suit it best.
//
//   a . . x        a . . .             . . . x        listed rows 0 2:
//   b c . .        b c . .   dia, of   . . . .        offsets 0 1 2   columns 3 0   values x y
//   y d e .   =    . d e .   dense  +  y . . .   or every row in any other format
//   . . f g        . . f g   diagonals . . . .
//
// The parameter `parts` says what is cut out of the rest:
//   1  long rows: those beyond the 99th percentile of npr and beyond a warp's width. What is left is even enough for
//      a thread a row; the long rows get as many threads as they need.
//   2  dense diagonals: those where a slot that has no column costs less than the nonzeros that it replaces.
//   3  dense b x b blocks, by the same rule; b is the size that saves most in a sample. Needs a format `bsr`.
//
// Each part is a CSR matrix of its own. What is cut out goes to the format that it was cut out for, dia or bsr, the
// rest and rows stay as they are, with whichever of csr_vector and csr_merge predicts to be faster from the lengths of
// rows: reading all features of the parts and converting both would take as long as fifty products. The part with fewer
// empty rows goes first and sets y = beta y + alpha A1 x; the other adds to it. Adding by a format that knows nothing
// of the cut reads and writes all of y (8 or 16 bytes a row, and an offset), so where few rows have nonzeros they are
// listed instead, and added by CSR kernels (8 bytes a listed row).
//
// Both run on the caller's stream, one after the other. They share rows, so they could not overlap; and compact parts
// with vectors of their own would need scratch memory and streams in the operator, which products from many threads,
// one of them maybe capturing a graph, cannot share.
//
// A nonzero finds its place by a bit that says which part it belongs to and by the number of bits before it. That is 3
// bits a nonzero; conversion and new values are the same walk over the nonzeros, rows of any length alike.
//
// Source: Su, Keutzer, "clSpMV: a cross-platform OpenCL SpMV framework on GPUs", 2012: the cocktail format, cited by
// Gao, Qi, He, "Efficient CSR-based sparse matrix-vector multiplication on GPU", 2016, 5.1. Its partitions are by
// diagonals, blocks and the flat rest.
#pragma once

#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"
#include "formats/composite/cocktail/cuts.hpp"
#include "formats/format.hpp"

namespace autospmv::formats::cocktail {

/// Which nonzeros are cut out, and where those before each of them are.
struct Marks {
  Marks() = default;
  Marks(std::int64_t size, Place place)
      : nnz(size),
        words(static_cast<std::size_t>(size / MarksView::word_bits + 1), place),
        before(words.size() + 1, place) {}

  std::int64_t nnz = 0;
  Array<std::uint32_t> words;  ///< a bit a nonzero, and at least one 0 after the last
  Array<std::int64_t> before;  ///< bits set before each word; the last element is their number

  [[nodiscard]] MarksView view() const { return {words.data(), before.data()}; }
  [[nodiscard]] std::int64_t bytes() const { return words.bytes() + before.bytes(); }
};

/// One part: a CSR matrix of all rows, most of which may be empty, or of the listed ones.
template <class T>
struct Part {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  Array<std::int32_t> row_ids;  ///< rows of the whole matrix; empty: all of them
  std::variant<Array<std::int32_t>, Array<std::int64_t>> row_ptr;
  Array<std::int32_t> col_idx;
  Array<T> values;

  [[nodiscard]] CsrView<T> view() const {
    CsrView<T> view{rows, cols, nnz, {}, col_idx.data(), values.data()};
    std::visit([&](const auto& offsets) { view.row_ptr = offsets.data(); }, row_ptr);
    return view;
  }
  [[nodiscard]] std::int64_t bytes() const {
    const auto offset_bytes = std::visit([](const auto& offsets) { return offsets.bytes(); }, row_ptr);
    return row_ids.bytes() + offset_bytes + col_idx.bytes() + values.bytes();
  }
};

/// The matrix is cut + rest; both keep the order of its nonzeros.
template <class T>
struct Split {
  CutRule rule;
  Marks marks;
  Part<T> cut;
  Part<T> rest;
};

/// Cuts a matrix that lies in the memory of `place`, of several rules by the one that saves most in a sample: both
/// parts have their rows when this returns, but no nonzeros yet. Where nothing is cut out, or too little would be
/// saved, no part is made.
template <class T>
Split<T> split(const CsrView<T>& matrix, std::span<const CutRule> rules, Place place);

/// Copies the nonzeros of the matrix to the parts, or new values of the same matrix, in the order of the stream.
template <class T>
void fill(Split<T>& split, const CsrView<T>& matrix, Entries which, Place place, Stream stream);

/// Drops the empty rows of a part, of which `listed` rows are not, and lists the others.
template <class T>
void list_rows(Part<T>& part, std::int64_t listed, Place place);

namespace host {
/// The nonzeros of a sample by diagonal, for OnDenseDiagonal.
template <class T>
Array<std::int32_t> count_diagonals(const CsrView<T>& matrix);
/// How many nonzeros of a sample a rule cuts out. `diagonals` are counted for rules of diagonals only.
template <class T>
std::int64_t count_in_sample(const CsrView<T>& matrix, const CutRule& rule, const Array<std::int32_t>& diagonals);
template <class T>
void mark(const CsrView<T>& matrix, const CutRule& rule, const Array<std::int32_t>& diagonals, Marks& marks);
/// Of parts whose arrays are allocated.
template <class T>
void fill_offsets(const CsrView<T>& matrix, Split<T>& split);
template <class T>
void fill_entries(const CsrView<T>& matrix, Split<T>& split, Entries which);
template <class T, class Offset>
void list_rows(const Part<T>& part, const Array<Offset>& row_ptr, Array<std::int32_t>& ids, Array<Offset>& listed_ptr);
}  // namespace host

namespace device {
template <class T>
Array<std::int32_t> count_diagonals(const CsrView<T>& matrix, Place place, Stream stream);
/// Of each rule.
template <class T>
std::vector<std::int64_t> count_in_sample(const CsrView<T>& matrix, std::span<const CutRule> rules,
                                          const Array<std::int32_t>& diagonals, Place place, Stream stream);
template <class T>
void mark(const CsrView<T>& matrix, const CutRule& rule, const Array<std::int32_t>& diagonals, Marks& marks,
          Stream stream);
template <class T>
void fill_offsets(const CsrView<T>& matrix, Split<T>& split, Stream stream);
template <class T>
void fill_entries(const CsrView<T>& matrix, Split<T>& split, Entries which, Stream stream);
template <class T, class Offset>
void list_rows(const Part<T>& part, const Array<Offset>& row_ptr, Array<std::int32_t>& ids, Array<Offset>& listed_ptr,
               Place place, Stream stream);
}  // namespace device

}  // namespace autospmv::formats::cocktail
