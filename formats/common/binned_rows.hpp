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
// The first bins can be left to dynamic parallelism: a parent kernel launches a child for each of their rows.
//
// Host: shares of equal work; rows of up to 8 nonzeros that are all equally long are summed without a loop, others in
// as many partial sums as their bin says.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/csr.hpp"
#include "core/device.hpp"
#include "core/error.hpp"
#include "features/features.hpp"
#include "formats/common/row_bins.hpp"
#include "formats/format.hpp"

namespace autospmv::formats {

struct BinnedShape {
  bool stored = false;      ///< rows are stored again, in the order of the bins; only without virtual rows
  bool fused = true;        ///< CUDA: one launch for all bins
  int block = 256;          ///< CUDA: threads a block, a power of two up to 512
  int log_granularity = 0;  ///< of virtual rows
  int value_bits = 64;      ///< 0, 8, 32, or 64 for all of T
  int dynamic_bins = 0;     ///< CUDA: so many of the first bins by dynamic parallelism; only without virtual rows
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
Result<std::unique_ptr<Operator<T>>> make_binned_rows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape,
                                                      const Device& device);

// ---- What predictions have in common

/// Bytes of the list of rows, and of the rows where they are stored again.
template <class T>
double binned_storage_bytes(const Features& features, bool stored, int log_granularity, std::int64_t value_bits);

/// What a product moves: that, CSR's arrays where they are read instead, the vectors; and what neighbouring rows of
/// different bins share, as it is read or written for each of them: sectors of y, and of the matrix where it stays in
/// place.
template <class T>
double binned_product_bytes(const Features& features, bool stored, int log_granularity, std::int64_t value_bits);

/// The number of bins of that rule that rows of the matrix are in.
int bins_present(const Features& features, const ThreadRule& rule);

/// How many rows have at least so many nonzeros, from the histogram; whole bins of it, those in doubt counted.
std::int64_t rows_of_at_least(const Features& features, std::int64_t nonzeros);

/// Child grids that are worth one launch from the host: what launches of dynamic parallelism are taken to cost.
inline constexpr std::int64_t children_of_launch = 4;

}  // namespace autospmv::formats
