// Trials of what no candidate of this library is: the product that CSR-M leaves, and that of MKL.
#pragma once

#include <vector>

#include "autospmv/context.hpp"
#include "tools/input.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv::tools {

/// CSR-M without its gather, as its paper times it: products of the matrix whose every nonzero has a column of its own,
/// with an x that is gathered already. Of these, csr_gathered leaves its gather out.
template <Scalar T>
std::vector<TrialRecord> gathered_trials(const LoadedMatrix<T>& loaded, const Context& context,
                                         const TuneOptions& options);

/// MKL's product on one core of this machine, whatever the device, by the libmkl_rt that the loader finds; refused
/// where it finds none.
template <Scalar T>
std::vector<TrialRecord> mkl_trials(const HostCsr<T>& matrix);

}  // namespace autospmv::tools
