// The conversion on the host, and the choice of where it happens.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "core/search.hpp"
#include "formats/composite/cocktail/cocktail.hpp"

namespace autospmv::formats::cocktail {

namespace host {

template <class T>
Array<std::int32_t> count_diagonals(const CsrView<T>& matrix) {
  Array<std::int32_t> counts(static_cast<std::size_t>(matrix.rows + matrix.cols), Place{});
  std::fill(counts.data(), counts.data() + counts.size(), 0);
  const NonzeroSample sample(matrix.nnz);
  const OnDenseDiagonal on{matrix.col_idx, matrix.rows, nullptr, 0};
  with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
    for (std::int64_t i = 0; i < sample.size(); ++i) {
      const auto k = sample.at(i);
      ++counts[static_cast<std::size_t>(on.diagonal(part_of(row_ptr, matrix.rows, k), k))];
    }
  });
  return counts;
}

template <class T>
std::int64_t count_in_sample(const CsrView<T>& matrix, const CutRule& rule, const Array<std::int32_t>& diagonals) {
  std::int64_t count = 0;
  const NonzeroSample sample(matrix.nnz);
  with_predicate(matrix, rule, diagonals.data(), [&](const auto& cut_out, const auto* row_ptr) {
    const auto count_share = [&](Share share) {
      std::int64_t cut = 0;
      for (auto i = share.first; i < share.last; ++i) {
        const auto k = sample.at(i);
        cut += cut_out(part_of(row_ptr, matrix.rows, k), k) ? 1 : 0;
      }
      return cut;
    };
    count = parallel_reduce(sample.size(), std::int64_t{0}, count_share, std::plus<>());
  });
  return count;
}

namespace {

template <class Predicate, class Offset>
void mark_words(const Predicate& cut_out, const Offset* row_ptr, std::int64_t rows, Marks& marks) {
  constexpr auto bits = MarksView::word_bits;
  parallel_region(marks.nnz, [&](int thread, int threads) {
    const auto share = share_of(static_cast<std::int64_t>(marks.words.size()), thread, threads);
    auto row = part_of(row_ptr, rows, share.first * bits);
    for (auto w = share.first; w < share.last; ++w) {
      std::uint32_t word = 0;
      for (auto k = w * bits; k < std::min((w + 1) * bits, marks.nnz); ++k) {
        row = part_near(row_ptr, row, rows, k);
        word |= static_cast<std::uint32_t>(cut_out(row, k)) << (k % bits);
      }
      marks.words[static_cast<std::size_t>(w)] = word;
    }
  });
  std::int64_t before = 0;
  for (std::size_t w = 0; w < marks.words.size(); ++w) {
    marks.before[w] = before;
    before += MarksView::bits_in(marks.words[w]);
  }
  marks.before[marks.words.size()] = before;
}

}  // namespace

template <class T>
void mark(const CsrView<T>& matrix, const CutRule& rule, const Array<std::int32_t>& diagonals, Marks& marks) {
  with_predicate(matrix, rule, diagonals.data(),
                 [&](const auto& cut_out, const auto* row_ptr) { mark_words(cut_out, row_ptr, matrix.rows, marks); });
}

template <class T>
void fill_offsets(const CsrView<T>& matrix, Split<T>& split) {
  const auto marks = split.marks.view();
  with_offsets(matrix.row_ptr, [&]<class Offset>(const Offset* row_ptr) {
    auto& cut = std::get<Array<Offset>>(split.cut.row_ptr);
    auto& rest = std::get<Array<Offset>>(split.rest.row_ptr);
    parallel_for(matrix.rows + 1, [&](std::int64_t row) {
      const auto at = static_cast<std::size_t>(row);
      cut[at] = static_cast<Offset>(marks.rank(row_ptr[row]));
      rest[at] = row_ptr[row] - cut[at];
    });
  });
}

template <class T>
void fill_entries(const CsrView<T>& matrix, Split<T>& split, Entries which) {
  const EntryTargets<T> targets{split.marks.view(), split.cut.col_idx.data(), split.rest.col_idx.data(),
                                split.cut.values.data(), split.rest.values.data()};
  parallel_for(matrix.nnz, [&](std::int64_t k) { targets.take(matrix, k, which); });
}

template <class T, class Offset>
void list_rows(const Part<T>& part, const Array<Offset>& row_ptr, Array<std::int32_t>& ids, Array<Offset>& listed_ptr) {
  std::size_t listed = 0;
  for (std::int64_t row = 0; row < part.rows; ++row) {
    const auto at = static_cast<std::size_t>(row);
    if (row_ptr[at] == row_ptr[at + 1]) continue;
    ids[listed] = static_cast<std::int32_t>(row);
    listed_ptr[listed++] = row_ptr[at];
  }
  listed_ptr[listed] = static_cast<Offset>(part.nnz);
}

}  // namespace host

namespace {

template <class T>
std::vector<std::int64_t> count_in_sample(const CsrView<T>& matrix, std::span<const CutRule> rules,
                                          const Array<std::int32_t>& diagonals, Place place, Stream stream) {
  if constexpr (built_with_cuda) {
    if (place.backend == Backend::cuda) return device::count_in_sample(matrix, rules, diagonals, place, stream);
  }
  std::vector<std::int64_t> counts;
  counts.reserve(rules.size());
  for (const auto& rule : rules) counts.push_back(host::count_in_sample(matrix, rule, diagonals));
  return counts;
}

// The rule that saves most; nullptr where none saves enough.
template <class T>
const CutRule* best_rule(const CsrView<T>& matrix, std::span<const CutRule> rules, const Array<std::int32_t>& diagonals,
                         Place place, Stream stream) {
  if (rules.size() == 1 && rules.front().least_saved == 0) return &rules.front();
  const auto counts = count_in_sample(matrix, rules, diagonals, place, stream);
  const auto size = static_cast<double>(NonzeroSample(matrix.nnz).size());
  const CutRule* best = nullptr;
  double most = 0;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const double saved = static_cast<double>(counts[i]) * rules[i].saved / size;
    if (saved > most && saved >= rules[i].least_saved) best = &rules[i];
    most = std::max(most, saved);
  }
  return best;
}

std::int64_t count_marked(const Marks& marks, Stream stream) {
  std::int64_t count = 0;
  const Place place = marks.before.place();
  copy_bytes(&count, marks.before.data() + marks.words.size(), sizeof count, place, stream);
  synchronize(place, stream);
  return count;
}

// A part of all rows, its arrays still to be filled.
template <class T>
Part<T> part_of(const CsrView<T>& matrix, std::int64_t nnz, Place place) {
  Part<T> part;
  part.rows = matrix.rows;
  part.cols = matrix.cols;
  part.nnz = nnz;
  with_offsets(matrix.row_ptr, [&]<class Offset>(const Offset* /*row_ptr*/) {
    part.row_ptr = Array<Offset>(static_cast<std::size_t>(matrix.rows) + 1, place);
  });
  part.col_idx = Array<std::int32_t>(static_cast<std::size_t>(nnz), place);
  part.values = Array<T>(static_cast<std::size_t>(nnz), place);
  return part;
}

}  // namespace

template <class T>
Split<T> split(const CsrView<T>& matrix, std::span<const CutRule> rules, Place place) {
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  Split<T> split;
  {
    Array<std::int32_t> diagonals;
    if (rules.front().cut == Cut::diagonals) {
      diagonals = on_backend(
          place, [&] { return host::count_diagonals(matrix); },
          [&] { return device::count_diagonals(matrix, place, stream); });
    }
    const auto* rule = best_rule(matrix, rules, diagonals, place, stream);
    if (rule == nullptr) return split;
    split.rule = *rule;
    split.marks = Marks(matrix.nnz, place);
    on_backend(
        place, [&] { host::mark(matrix, *rule, diagonals, split.marks); },
        [&] { device::mark(matrix, *rule, diagonals, split.marks, stream); });
  }
  const auto cut = count_marked(split.marks, stream);
  if (cut == 0) return split;
  split.cut = part_of(matrix, cut, place);
  split.rest = part_of(matrix, matrix.nnz - cut, place);
  on_backend(
      place, [&] { host::fill_offsets(matrix, split); }, [&] { device::fill_offsets(matrix, split, stream); });
  return split;
}

template <class T>
void fill(Split<T>& split, const CsrView<T>& matrix, Entries which, Place place, Stream stream) {
  on_backend(
      place, [&] { host::fill_entries(matrix, split, which); },
      [&] { device::fill_entries(matrix, split, which, stream); });
}

template <class T>
void list_rows(Part<T>& part, std::int64_t listed, Place place) {
  if (listed <= 0) {
    part.rows = 0;
    return;
  }
  const DeviceScope scope(place);
  part.row_ids = Array<std::int32_t>(static_cast<std::size_t>(listed), place);
  std::visit(
      [&]<class Offset>(Array<Offset>& row_ptr) {
        Array<Offset> listed_ptr(static_cast<std::size_t>(listed) + 1, place);
        if constexpr (built_with_cuda) {
          if (place.backend == Backend::cuda) {
            device::list_rows(part, row_ptr, part.row_ids, listed_ptr, place, setup_stream(place));
          }
        }
        if (place.backend == Backend::host) host::list_rows(part, row_ptr, part.row_ids, listed_ptr);
        row_ptr = std::move(listed_ptr);
      },
      part.row_ptr);
  part.rows = listed;
}

#define AUTOSPMV_COCKTAIL(T)                                                   \
  template Split<T> split(const CsrView<T>&, std::span<const CutRule>, Place); \
  template void fill(Split<T>&, const CsrView<T>&, Entries, Place, Stream);    \
  template void list_rows(Part<T>&, std::int64_t, Place);
AUTOSPMV_COCKTAIL(float)
AUTOSPMV_COCKTAIL(double)
#undef AUTOSPMV_COCKTAIL

}  // namespace autospmv::formats::cocktail
