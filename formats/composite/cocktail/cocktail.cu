#include "core/cuda/algorithms.hpp"
#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "core/cuda/threads.cuh"
#include "formats/common/kernels/each_nonzero.cuh"
#include "formats/common/kernels/kernel.cuh"
#include "formats/composite/cocktail/cocktail.hpp"

namespace autospmv::formats::cocktail::device {

namespace {

template <class Offset>
__global__ void count_diagonals_kernel(OnDenseDiagonal on, const Offset* row_ptr, NonzeroSample sample,
                                       std::int64_t size, std::int32_t* counts) {
  const auto i = cuda::global_thread();
  if (i >= size) return;
  const auto k = sample.at(i);
  atomicAdd(counts + on.diagonal(part_of(row_ptr, on.rows, k), k), 1);
}

// A warp takes as many nonzeros as in for_each_nonzero, 32 at a time, a bit each. No thread leaves before the vote.
template <class Predicate, class Offset>
__global__ void mark_kernel(Predicate cut_out, const Offset* row_ptr, std::int64_t rows, std::int64_t nnz,
                            std::int64_t words, std::uint32_t* bits, std::int64_t* counts) {
  static_assert(MarksView::word_bits == cuda::warp_size);
  constexpr int words_of_warp = cuda_steps::nonzeros_of_warp / cuda::warp_size;
  const auto first_word = cuda::global_thread() / cuda::warp_size * words_of_warp;
  if (first_word >= words) return;
  const auto lane = static_cast<int>(threadIdx.x) % cuda::warp_size;
  const auto first_row = cuda::part_of_by_warp(row_ptr, rows, first_word * MarksView::word_bits);
  // Each search from the first row on: from the row before, one would wait for the other.
#pragma unroll
  for (int i = 0; i < words_of_warp; ++i) {
    const auto w = first_word + i;
    const auto k = w * MarksView::word_bits + lane;
    const bool is_cut = k < nnz && cut_out(part_near(row_ptr, first_row, rows, k), k);
    const std::uint32_t word = __ballot_sync(cuda::all_lanes, static_cast<int>(is_cut));
    if (lane != 0 || w >= words) continue;
    bits[w] = word;
    counts[w] = MarksView::bits_in(word);
  }
}

template <class Offset>
__global__ void offsets_kernel(MarksView marks, const Offset* row_ptr, std::int64_t rows, Offset* cut, Offset* rest) {
  const auto row = cuda::global_thread();
  if (row > rows) return;
  const auto rank = static_cast<Offset>(marks.rank(row_ptr[row]));
  cut[row] = rank;
  rest[row] = row_ptr[row] - rank;
}

template <class T>
__global__ void entries_kernel(CsrView<T> matrix, EntryTargets<T> targets, Entries which) {
  const auto k = cuda::global_thread();
  if (k < matrix.nnz) targets.take(matrix, k, which);
}

template <class Offset>
__global__ void filled_rows_kernel(const Offset* row_ptr, std::int64_t rows, std::uint8_t* filled) {
  const auto row = cuda::global_thread();
  if (row < rows) filled[row] = row_ptr[row] < row_ptr[row + 1] ? 1 : 0;
}

template <class Offset>
__global__ void listed_offsets_kernel(const Offset* row_ptr, const std::int32_t* ids, std::int64_t listed, Offset nnz,
                                      Offset* listed_ptr) {
  const auto i = cuda::global_thread();
  if (i <= listed) listed_ptr[i] = i < listed ? row_ptr[ids[i]] : nnz;
}

template <class Predicate, class Offset>
__global__ void count_in_sample_kernel(Predicate cut_out, const Offset* row_ptr, std::int64_t rows,
                                       NonzeroSample sample, std::int64_t size, unsigned long long* count) {
  const auto i = cuda::global_thread();
  bool is_cut = false;
  if (i < size) {
    const auto k = sample.at(i);
    is_cut = cut_out(part_of(row_ptr, rows, k), k);
  }
  const std::uint32_t word = __ballot_sync(cuda::all_lanes, static_cast<int>(is_cut));
  if (i % cuda::warp_size == 0 && word != 0) atomicAdd(count, static_cast<unsigned long long>(__popc(word)));
}

}  // namespace

template <class T>
Array<std::int32_t> count_diagonals(const CsrView<T>& matrix, Place place, Stream stream) {
  Array<std::int32_t> counts(static_cast<std::size_t>(matrix.rows + matrix.cols), place);
  fill_bytes(counts.data(), 0, static_cast<std::size_t>(counts.bytes()), place, stream);
  const NonzeroSample sample(matrix.nnz);
  const OnDenseDiagonal on{matrix.col_idx, matrix.rows, nullptr, 0};
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    count_diagonals_kernel<<<cuda::grid_for(sample.size()), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        on, row_ptr, sample, sample.size(), counts.data());
  });
  cuda::check_launch();
  return counts;
}

template <class T>
std::vector<std::int64_t> count_in_sample(const CsrView<T>& matrix, std::span<const CutRule> rules,
                                          const Array<std::int32_t>& diagonals, Place place, Stream stream) {
  Array<unsigned long long> counts(rules.size(), place);
  fill_bytes(counts.data(), 0, static_cast<std::size_t>(counts.bytes()), place, stream);
  const NonzeroSample sample(matrix.nnz);
  for (std::size_t i = 0; i < rules.size(); ++i) {
    with_predicate(matrix, rules[i], diagonals.data(), [&](const auto& predicate, const auto* row_ptr) {
      count_in_sample_kernel<<<cuda::grid_for(sample.size()), cuda::default_block, 0, cuda::InTurn(stream)>>>(
          predicate, row_ptr, matrix.rows, sample, sample.size(), counts.data() + i);
    });
    cuda::check_launch();
  }
  std::vector<std::int64_t> result(rules.size());
  copy_bytes(result.data(), counts.data(), static_cast<std::size_t>(counts.bytes()), place, stream);
  synchronize(place, stream);
  return result;
}

template <class T>
void mark(const CsrView<T>& matrix, const CutRule& rule, const Array<std::int32_t>& diagonals, Marks& marks,
          Stream stream) {
  const auto words = static_cast<std::int64_t>(marks.words.size());
  const auto grid = cuda_steps::grid_for_nonzeros(words * MarksView::word_bits);
  with_predicate(matrix, rule, diagonals.data(), [&](const auto& predicate, const auto* row_ptr) {
    mark_kernel<<<grid, cuda::default_block, 0, cuda::InTurn(stream)>>>(predicate, row_ptr, matrix.rows, matrix.nnz,
                                                                        words, marks.words.data(), marks.before.data());
  });
  cuda::check_launch();
  const auto place = marks.words.place();
  fill_bytes(marks.before.data() + words, 0, sizeof(std::int64_t), place, stream);
  cuda::exclusive_scan(marks.before.data(), marks.before.data(), words + 1, place, stream);
}

template <class T>
void fill_offsets(const CsrView<T>& matrix, Split<T>& split, Stream stream) {
  with_offsets(matrix.row_ptr, [&]<class Offset>(const Offset* row_ptr) {
    offsets_kernel<<<cuda::grid_for(matrix.rows + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
        split.marks.view(), row_ptr, matrix.rows, std::get<Array<Offset>>(split.cut.row_ptr).data(),
        std::get<Array<Offset>>(split.rest.row_ptr).data());
  });
  cuda::check_launch();
}

template <class T>
void fill_entries(const CsrView<T>& matrix, Split<T>& split, Entries which, Stream stream) {
  const EntryTargets<T> targets{split.marks.view(), split.cut.col_idx.data(), split.rest.col_idx.data(),
                                split.cut.values.data(), split.rest.values.data()};
  entries_kernel<<<cuda::grid_for(matrix.nnz), cuda::default_block, 0, cuda::InTurn(stream)>>>(matrix, targets, which);
  cuda::check_launch();
}

template <class T, class Offset>
void list_rows(const Part<T>& part, const Array<Offset>& row_ptr, Array<std::int32_t>& ids, Array<Offset>& listed_ptr,
               Place place, Stream stream) {
  Array<std::uint8_t> filled(static_cast<std::size_t>(part.rows), place);
  filled_rows_kernel<<<cuda::grid_for(part.rows), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      row_ptr.data(), part.rows, filled.data());
  cuda::check_launch();
  const auto listed = cuda::flagged_positions(filled.data(), part.rows, ids.data(), place, stream);
  listed_offsets_kernel<<<cuda::grid_for(listed + 1), cuda::default_block, 0, cuda::InTurn(stream)>>>(
      row_ptr.data(), ids.data(), listed, static_cast<Offset>(part.nnz), listed_ptr.data());
  cuda::check_launch();
}

#define AUTOSPMV_COCKTAIL(T)                                                                                      \
  template Array<std::int32_t> count_diagonals(const CsrView<T>&, Place, Stream);                                 \
  template std::vector<std::int64_t> count_in_sample(const CsrView<T>&, std::span<const CutRule>,                 \
                                                     const Array<std::int32_t>&, Place, Stream);                  \
  template void mark(const CsrView<T>&, const CutRule&, const Array<std::int32_t>&, Marks&, Stream);              \
  template void fill_offsets(const CsrView<T>&, Split<T>&, Stream);                                               \
  template void fill_entries(const CsrView<T>&, Split<T>&, Entries, Stream);                                      \
  template void list_rows(const Part<T>&, const Array<std::int32_t>&, Array<std::int32_t>&, Array<std::int32_t>&, \
                          Place, Stream);                                                                         \
  template void list_rows(const Part<T>&, const Array<std::int64_t>&, Array<std::int32_t>&, Array<std::int64_t>&, \
                          Place, Stream);
AUTOSPMV_COCKTAIL(float)
AUTOSPMV_COCKTAIL(double)
#undef AUTOSPMV_COCKTAIL

}  // namespace autospmv::formats::cocktail::device
