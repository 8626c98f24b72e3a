// Products of rows that were dealt out to bins by their length. Either the matrix stays where it is and a list says
// which rows are in which bin, or its rows are stored again in the order of the bins, so that neighbouring threads read
// neighbouring entries whatever rows they work for.
//
//   order 2 5 0 4 1 3      in place:  position p multiplies row order[p] of the matrix
//                          stored:    position p multiplies row p of the copy; the sum belongs to row order[p]
//
// CUDA: T threads a row, by bin, from a thread to many blocks. One launch does all bins (row_bins.hpp has the picture),
// or each bin is a kernel of its own, side by side with the others. Rows that several blocks share are first set to
// beta y, to which the blocks then add by atomics: that is one more launch, and results that are not the same bit for
// bit every time. No scratch memory, so nothing that products at the same time would share.
// The first bins can be left to dynamic parallelism: a parent kernel launches a child for each of their rows, beside
// the kernels of the other bins. Such a product throws Unsupported on a stream that is being captured.
//
// Host: shares of equal work; rows of up to 8 nonzeros that are all equally long are summed without a loop, others in
// as many partial sums as their bin says.
#pragma once

#include <cstdint>
#include <vector>

#include "core/error.hpp"
#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "formats/binned/row_bins.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

struct BinnedShape {
  bool stored = false;      ///< rows are stored again, in the order of the bins; only without virtual rows
  bool fused = true;        ///< CUDA: one launch for all bins
  int block = 256;          ///< CUDA: threads a block, a power of two up to 512
  int log_granularity = 0;  ///< of virtual rows
  int value_bits = 64;      ///< 0, 8, 32, or 64 for all of T
  int dynamic_bins = 0;     ///< CUDA: so many of the first bins by child kernels; only without virtual rows, not fused
  std::int64_t most_children = 0;  ///< CUDA: child kernels that there must be room for
  std::vector<RowBin> bins;
};

/// The bins that hold any rows, with the threads that the rule gives to the shortest row each may have; `floors` are
/// those that the rows were binned by.
std::vector<RowBin> bins_by_rule(const RowBins& rows, const std::vector<std::int64_t>& floors, const ThreadRule& rule,
                                 int log_granularity);

/// The same for the host: `lanes` partial sums for rows that are long enough for them.
std::vector<RowBin> bins_of_host(const RowBins& rows, const std::vector<std::int64_t>& floors, int lanes,
                                 int log_granularity);

/// The coarsest bins that bins_of_host() tells apart.
std::vector<std::int64_t> lane_floors();

/// Builds the operator of a format; refuses storage that does not fit. Complete when it returns.
template <class T>
Built<T> make_binned_rows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape, const Device& device);

/// Bytes of the list of rows, and of the rows where they are stored again.
template <class T>
double binned_storage_bytes(std::int64_t rows, std::int64_t nnz, bool stored, int log_granularity,
                            std::int64_t value_bits);

}  // namespace autospmv::formats
