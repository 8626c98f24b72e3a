// From the words of a command line to matrices.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/host_csr.hpp"

namespace autospmv {

/// Which values a loaded matrix gets: those it has, or random ones of full precision for structures whose values are
/// not known.
struct Values {
  std::optional<std::uint64_t> seed;  ///< of the random values; none: the matrix keeps its own
  bool in_float = false;              ///< random values that float holds exactly, all its bits in use

  /// Reads "own", "random:SEED" or "float:SEED"; throws InvalidArgument for anything else.
  static Values parse(std::string_view text);
};

/// A matrix from a path, "-" (standard input) or "gen:KIND:ARGS". Random values depend on the seed and the unordered
/// pair of row and column: a symmetric pattern gets symmetric values. T is float or double.
/// Throws what read_matrix_market and generate throw.
template <class T>
HostCsr<T> load_matrix(const std::string& source, const Values& values = {});

/// A directory becomes the matrices in it, by name; everything else stays as it is. Throws Error
/// "DIR: no matrix in this directory".
std::vector<std::string> expand_sources(const std::vector<std::string>& sources);

/// The short name of a source for tables: "cant" for ".../cant.mtx.gz", "gen:pde:100" for itself, "stdin" for "-".
std::string label_of(const std::string& source);

}  // namespace autospmv
