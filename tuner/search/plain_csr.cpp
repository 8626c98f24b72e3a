#include "tuner/search/plain_csr.hpp"

#include <algorithm>

#include "formats/common/predict/rules.hpp"
#include "formats/sizes.hpp"

namespace autospmv {

namespace {

// As csr_vector shares rows out only where some are so much longer than others.
bool are_even(const RowLengths& lengths) { return static_cast<double>(lengths.longest) <= 8 * lengths.mean() + 32; }

// Half of those that the device has room for.
double enough_threads(const Device& device) { return 0.5 * device.multiprocessors * device.threads_of_multiprocessor; }

}  // namespace

bool RowLengths::are_skewed() const { return !are_even(*this) && static_cast<double>(longest) > 12 * mean(); }

template <class T>
Candidate csr_by_rows(const RowLengths& lengths, const Device& device) {
  constexpr std::int64_t block = 256;
  const double mean = lengths.mean();
  if (are_even(lengths) && mean <= 4.5) return {"csr_scalar", {{"block", block}}};
  // The threads of even rows are done at the same time. The others wait for the longest row of their warp, and those of
  // skewed rows hand over what takes them more steps than most take.
  const bool shared = lengths.are_skewed();
  const double steps = are_even(lengths) ? 10 : shared ? 3.5 : 2.5;
  const std::int64_t most = shared ? 32 : 512;
  auto threads = std::max<std::int64_t>(2, formats::power_of_two_above(mean / steps, most));
  const auto has_idle = [&] { return static_cast<double>(lengths.rows * threads) < enough_threads(device); };
  while (threads < most && has_idle() && 2 * static_cast<double>(threads) <= mean) threads *= 2;
  return {"csr_vector",
          {{"value_bits", formats::full_value_bits<T>},
           {"column_bits", 32},
           {"block", std::max(block, threads)},
           {"share", shared ? 32 : 0},
           {"T", threads}}};
}

template <class T>
Candidate csr_by_shares(const RowLengths& lengths, const Device& device) {
  const double steps = static_cast<double>(lengths.rows + lengths.nnz) / std::max(1.0, enough_threads(device));
  return csr_by_shares<T>(steps < 20 ? 3 : steps < 70 ? 7 : 15);
}

template <class T>
Candidate csr_by_shares(int items) {
  return {"csr_merge",
          {{"value_bits", formats::full_value_bits<T>}, {"block", 128}, {"fixup", 0}, {"items", items}, {"hub", 0}}};
}

template Candidate csr_by_rows<float>(const RowLengths&, const Device&);
template Candidate csr_by_rows<double>(const RowLengths&, const Device&);
template Candidate csr_by_shares<float>(const RowLengths&, const Device&);
template Candidate csr_by_shares<double>(const RowLengths&, const Device&);
template Candidate csr_by_shares<float>(int);
template Candidate csr_by_shares<double>(int);

}  // namespace autospmv
