#include "formats/common/warp_ell.hpp"
#include "formats/common/host_work.hpp"

#include <algorithm>
#include <cmath>

#include "formats/common/rules.hpp"
#include "formats/common/sliced_steps.hpp"
#include "formats/common/warp_ell_steps.hpp"

namespace autospmv::formats {

namespace {

// Rows sorted as one window, whatever their number.
constexpr std::int64_t all_rows = std::int64_t{1} << 31;

// Threads that a row may get on CUDA, and those a block has where no row needs more.
constexpr int largest_block = 1024;
constexpr int usual_block = 256;

template <class T>
double storage_bytes(double groups, double slots) {
  return slots * (4 + sizeof(T)) + groups * (group_lanes + 1) * 4 + 4;
}

std::int64_t rows_of_group(const LaneClasses& classes, int at) { return group_lanes / classes.lanes[at]; }

void count_groups(ClassTable& table) {
  for (int at = 0; at < table.classes.count; ++at) {
    const auto rows = table.first_row[at + 1] - table.first_row[at];
    const auto of_group = rows_of_group(table.classes, at);
    table.first_group[at + 1] = table.first_group[at] + (rows + of_group - 1) / of_group;
  }
}

// As many threads as leave each of them the height that the lanes of other rows have.
int block_for(std::int64_t longest, const LaneClasses& classes) {
  int block = usual_block;
  while (block < largest_block && longest > classes.height * block) block *= 2;
  return block;
}

template <class T>
void set_groups(const ClassTable& table, Place place, WarpEll<T>& ell) {
  ell.groups = table.first_group[table.classes.count];
  ell.long_groups = table.first_group[1];
  ell.block = block_for(table.longest, table.classes);
  ell.group_chunks = Array<std::int32_t>(static_cast<std::size_t>(ell.groups) + 1, place);
  ell.row_of_lane = Array<std::int32_t>(static_cast<std::size_t>(ell.groups * group_lanes), place);
}

// Where work happens decides which of two functions runs; the steps are the same. Returns the chunks in all.
template <class T>
std::int64_t lay_out(const CsrView<T>& matrix, ClassTable& table, Place place, Stream stream, WarpEll<T>& ell) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      const auto order = cuda_steps::sort_rows(matrix, all_rows, place, stream);
      cuda_steps::find_classes(matrix, order, table, stream);
      count_groups(table);
      set_groups(table, place, ell);
      cuda_steps::assign_lanes(matrix, order, table, ell, stream);
      return cuda_steps::scan_chunks(ell.group_chunks, stream);
    }
  }
  const auto order = host::sort_rows(matrix, all_rows);
  host::find_classes(matrix, order, table);
  count_groups(table);
  set_groups(table, place, ell);
  host::assign_lanes(matrix, order, table, ell);
  return host::scan_chunks(ell.group_chunks);
}

}  // namespace

template <class T>
Result<Cost> predict_warp_ell(const Features& features, const LaneClasses& classes, const Device& device) {
  // A row is padded to a multiple of its lanes, half of which it misses on average; lanes that no row of the group can
  // use are padding too. That rows of a group differ in length does not count: they are sorted.
  double groups = classes.count;
  double long_groups = 0;
  double entries = 0;
  double slots = 0;
  for (int bin = 1; bin < npr_bins; ++bin) {
    const auto rows = static_cast<double>(features.npr_histogram[static_cast<std::size_t>(bin)]);
    const double length = std::min(1.5 * std::ldexp(1.0, bin - 1), static_cast<double>(features.npr_max));
    const int at = classes.class_of(std::llround(length));
    const double lanes = classes.lanes[at];
    const double lanes_taken = static_cast<double>(group_lanes) / static_cast<double>(rows_of_group(classes, at));
    entries += rows * length;
    slots += rows * (length + (lanes - 1) / 2) * lanes_taken / lanes;
    groups += rows * lanes_taken / group_lanes;
    if (at == 0) long_groups += rows;
  }
  groups += static_cast<double>(features.empty_rows) / group_lanes;
  // The rows of a bin are not all as long as its middle, but what is padded is about the same share of them.
  slots *= static_cast<double>(features.nnz) / std::max(1.0, entries);

  Cost cost;
  cost.storage_bytes = storage_bytes<T>(groups, slots);
  const double csr = csr_bytes<T>(features.rows, features.nnz);
  if (auto refusal = refuse_storage(cost.storage_bytes, csr, device)) return *refusal;
  cost.bytes = cost.storage_bytes + vector_bytes<T>(features);
  const auto longest = static_cast<double>(features.npr_max);
  if (device.backend == Backend::host) {
    cost.imbalance = longest_walk(features, longest, device);
    cost.work = work_of_slots(features, std::max(slots, static_cast<double>(features.nnz)), {.entry = 0.5, .row = 1});
  } else {
    // Each of the long rows has the threads of a block.
    const double more = block_for(features.npr_max, classes) - group_lanes;
    const double threads = std::max(1.0, groups * group_lanes + long_groups * more);
    cost.walk = {.threads = threads,
                 .steps = slots / threads,
                 .longest = std::max(std::min(longest, static_cast<double>(classes.height)), longest / largest_block)};
  }
  return cost;
}

template <class T>
Result<WarpEll<T>> build_warp_ell(const CsrView<T>& matrix, const LaneClasses& classes, const Device& device) {
  const DeviceScope scope(device);
  const auto stream = setup_stream(device);
  WarpEll<T> ell;
  ell.rows = matrix.rows;
  ell.cols = matrix.cols;
  if (matrix.rows == 0) return ell;
  ClassTable table{.classes = classes};
  const auto chunks = lay_out(matrix, table, device, stream, ell);
  if (chunks > std::numeric_limits<std::int32_t>::max()) return Refusal{"memory: more than 2^31 chunks of slots"};

  const auto slots = chunks * group_lanes;
  const double bytes = storage_bytes<T>(static_cast<double>(ell.groups), static_cast<double>(slots));
  if (auto refusal = refuse_allocation(bytes, csr_bytes<T>(matrix.rows, matrix.nnz), device)) return *refusal;
  ell.columns = Array<std::int32_t>(static_cast<std::size_t>(slots), device);
  ell.values = Array<T>(static_cast<std::size_t>(slots), device);
  refresh_warp_ell(ell, matrix, device, stream);
  synchronize(device, stream);
  return ell;
}

template <class T>
void refresh_warp_ell(WarpEll<T>& ell, const CsrView<T>& matrix, Place place, Stream stream) {
  if (ell.chunks() == 0) return;
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      cuda_steps::fill(matrix, ell, stream);
      return;
    }
  }
  host::fill(matrix, ell);
}

template <class T>
void multiply_warp_ell(const WarpEll<T>& ell, T alpha, const T* x, T beta, T* y, Place place, Stream stream) {
  if (ell.rows == 0) return;
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) {
      cuda_steps::multiply(ell, alpha, x, beta, y, stream);
      return;
    }
  }
  host::multiply(ell, alpha, x, beta, y);
}

#define AUTOSPMV_WARP_ELL(T)                                                                        \
  template Result<Cost> predict_warp_ell<T>(const Features&, const LaneClasses&, const Device&);    \
  template Result<WarpEll<T>> build_warp_ell(const CsrView<T>&, const LaneClasses&, const Device&); \
  template void refresh_warp_ell(WarpEll<T>&, const CsrView<T>&, Place, Stream);                    \
  template void multiply_warp_ell(const WarpEll<T>&, T, const T*, T, T*, Place, Stream);
AUTOSPMV_WARP_ELL(float)
AUTOSPMV_WARP_ELL(double)
#undef AUTOSPMV_WARP_ELL

}  // namespace autospmv::formats
