// Matrix Market files (Boisvert, Pozo, Remington, "The Matrix Market exchange formats: initial design", NISTIR 5935,
// 1996).
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <string_view>

#include "core/matrix/csr.hpp"
#include "io/host_csr.hpp"

namespace autospmv {

/// Reads a matrix, on all threads. T is float or double.
///
/// Takes coordinate and array (dense) matrices of every symmetry and of every field but complex. Symmetric ones come
/// out in full, whichever triangle is stored; pattern entries are 1; every row is sorted by column; repeated entries
/// stay, in the order of the text. Comments and blank lines may stand anywhere after the banner. Values too small for T
/// become zero.
///
/// Throws Error "NAME:LINE: what" for the first line that is wrong, among them: indices out of range, words that are no
/// number, values out of range, words left over, more or fewer entries than promised, complex values, rows or
/// columns beyond 2^31 - 1. Nothing is allocated on the word of the size line but the row offsets.
template <class T>
HostCsr<T> parse_matrix_market(std::span<const char> text, const std::string& name);

/// parse_matrix_market of read_text (io/archive.hpp): a plain, compressed or archived file, "-" for standard input.
template <class T>
HostCsr<T> read_matrix_market(const std::string& path);

/// Writes a matrix in host memory as a general coordinate matrix, with the fewest digits that read back as the same
/// values. Each line of the comment becomes a comment line. Throws Error where the stream fails.
template <class T>
void write_matrix_market(std::ostream& out, const CsrView<T>& matrix, std::string_view comment = {});

}  // namespace autospmv
