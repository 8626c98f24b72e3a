// Rows by dynamic parallelism: a parent kernel with a thread a row, each of which launches a child of half as many
// threads as its row has nonzeros, 1024 at most, that multiplies the row alone. The parent is done when all of its
// children are, so the stream's order holds. Not for graphs: beside other kernels of one that was replayed, a parent
// never ended.
//
// Children wait in a pool of fixed size, which all products share: as many as the operator with the most of them may
// have. A launch past it fails, as may happen where other products run at the same time; the parent's thread then
// multiplies its row itself.
//
// Sources: Muhammed, Mehmood, Albeshri, Katib, "SURAA: a novel method and tool for loadbalanced and coalesced SpMV
// computations on GPUs", 2019, 4.2.1, Algorithms 3 and 4, and 4.3.
#pragma once

#include "core/machine/device.hpp"
#include "formats/binned/operator.hpp"

namespace autospmv::formats::cuda_steps {

/// Makes the device's pool large enough for so many children, and never smaller; false where the device has no room.
bool reserve_children(std::int64_t children, Place place);

/// The rows at positions [0, count), without virtual rows.
template <class T, class Offset, class Values>
void multiply_dynamic(const BinnedView<Offset>& rows, const Values& values, CachePolicy policy, std::int64_t count,
                      T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace autospmv::formats::cuda_steps
