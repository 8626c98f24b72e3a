#include <limits>
#include <numeric>

#include "tools/studies/contenders.hpp"
#include "tools/studies/elsewhere.hpp"

namespace autospmv::tools {

template <Scalar T>
std::vector<TrialRecord> gathered_trials(const LoadedMatrix<T>& loaded, const Context& context,
                                         const TuneOptions& options) {
  const auto& arrays = loaded.arrays;
  if (arrays.nnz() == 0 || arrays.nnz() > std::numeric_limits<std::int32_t>::max()) return {};
  std::vector<std::int32_t> columns(static_cast<std::size_t>(arrays.nnz()));
  std::iota(columns.begin(), columns.end(), 0);
  const auto gathered = Matrix<T>::from_csr(arrays.rows, arrays.nnz(), std::span<const std::int64_t>(arrays.row_ptr),
                                            columns, arrays.values, Ownership::borrow);
  auto trials = bench(gathered, context, {FormatChoice{"csr_gathered"}}, options);
  for (auto& trial : trials) {
    trial.candidate.format = gathered_product;
    trial.measurement.bytes = arrays.nnz() * static_cast<std::int64_t>(sizeof(T));  // in the place of columns
  }
  return trials;
}

template std::vector<TrialRecord> gathered_trials(const LoadedMatrix<float>&, const Context&, const TuneOptions&);
template std::vector<TrialRecord> gathered_trials(const LoadedMatrix<double>&, const Context&, const TuneOptions&);

}  // namespace autospmv::tools
