#include "core/matrix/transpose.hpp"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "autospmv/error.hpp"
#include "core/cuda/kernels.hpp"
#include "core/cuda/nonzeros.hpp"
#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"

namespace autospmv {

namespace {

// Rows in shares of equal nonzeros, each of which counts its nonzeros of every column and then knows where they go. As
// many shares as keep the counters fewer than the nonzeros.
template <class Offset>
class HostTransposition {
 public:
  HostTransposition(std::int64_t rows, std::int64_t cols, std::int64_t nnz, const Offset* row_ptr,
                    const std::int32_t* col_idx)
      : rows_(rows),
        cols_(cols),
        nnz_(nnz),
        row_ptr_(row_ptr),
        col_idx_(col_idx),
        shares_(static_cast<int>(
            std::clamp<std::int64_t>(nnz / std::max<std::int64_t>(1, cols), 1, threads_for(nnz + rows)))),
        next_(static_cast<std::size_t>(shares_ * cols), Place{}) {}

  template <class NewOffset>
  void run(NewOffset* new_row_ptr, std::int32_t* new_col_idx, std::uint32_t* source) {
    for_each_share([&](const Share& rows, std::uint32_t* counts) {
      std::fill_n(counts, cols_, 0U);
      for (auto k = row_ptr_[rows.first]; k < row_ptr_[rows.last]; ++k) ++counts[col_idx_[k]];
    });
    set_offsets(new_row_ptr);
    for_each_share([&](const Share& rows, std::uint32_t* next) {
      for (auto row = rows.first; row < rows.last; ++row) {
        for (auto k = row_ptr_[row]; k < row_ptr_[row + 1]; ++k) {
          const auto at = next[col_idx_[k]]++;
          new_col_idx[at] = static_cast<std::int32_t>(row);
          source[at] = static_cast<std::uint32_t>(k);
        }
      }
    });
  }

 private:
  template <class Body>
  void for_each_share(const Body& body) {
    parallel_region(nnz_ + rows_, [&](int thread, int threads) {
      for (int share = thread; share < shares_; share += threads) {
        body(rows_of_share(row_ptr_, {0, rows_}, share, shares_), next_.data() + share * cols_);
      }
    });
  }

  // Makes of the counts where the nonzeros of each share go: by column, then by share.
  template <class NewOffset>
  void set_offsets(NewOffset* new_row_ptr) {
    const int parts = threads_for(cols_ * shares_);
    std::vector<std::int64_t> first_of(static_cast<std::size_t>(parts) + 1, 0);
    const auto for_each_part = [&](const auto& body) {
      parallel_region(cols_ * shares_, [&](int thread, int threads) {
        for (int part = thread; part < parts; part += threads) body(part, share_of(cols_, part, parts));
      });
    };
    for_each_part([&](int part, const Share& columns) {
      std::int64_t total = 0;
      for (int share = 0; share < shares_; ++share) {
        for (auto column = columns.first; column < columns.last; ++column)
          total += next_.data()[share * cols_ + column];
      }
      first_of[static_cast<std::size_t>(part) + 1] = total;
    });
    for (std::size_t part = 1; part < first_of.size(); ++part) first_of[part] += first_of[part - 1];
    for_each_part([&](int part, const Share& columns) {
      auto at = first_of[static_cast<std::size_t>(part)];
      for (auto column = columns.first; column < columns.last; ++column) {
        new_row_ptr[column] = static_cast<NewOffset>(at);
        for (int share = 0; share < shares_; ++share) {
          at += std::exchange(next_.data()[share * cols_ + column], static_cast<std::uint32_t>(at));
        }
      }
    });
    new_row_ptr[cols_] = static_cast<NewOffset>(nnz_);
  }

  std::int64_t rows_;
  std::int64_t cols_;
  std::int64_t nnz_;
  const Offset* row_ptr_;
  const std::int32_t* col_idx_;
  int shares_;
  Array<std::uint32_t> next_;  // by share and column: at first how many there are, then where the next one goes
};

void transpose_on_host(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                       const std::int32_t* col_idx, TransposedPattern& transposed) {
  with_offsets(row_ptr, [&](const auto* offsets) {
    HostTransposition transposition(rows, cols, nnz, offsets, col_idx);
    const auto run = [&](auto* to) { transposition.run(to, transposed.col_idx.data(), transposed.source.data()); };
    if (transposed.wide_offsets.empty()) {
      run(transposed.narrow_offsets.data());
    } else {
      run(transposed.wide_offsets.data());
    }
  });
}

}  // namespace

RowOffsets TransposedPattern::row_ptr() const {
  if (wide_offsets.empty()) return narrow_offsets.data();
  return wide_offsets.data();
}

TransposedPattern transpose(std::int64_t rows, std::int64_t cols, std::int64_t nnz, RowOffsets row_ptr,
                            const std::int32_t* col_idx, Place place) {
  if (nnz > std::numeric_limits<std::uint32_t>::max()) {
    throw Unsupported("transposed products of 2^32 nonzeros and more are not there in this version");
  }
  const DeviceScope scope(place);
  const auto stream = setup_stream(place);
  const auto nonzeros = static_cast<std::size_t>(nnz);
  TransposedPattern transposed;
  auto& narrow = transposed.narrow_offsets;
  auto& wide = transposed.wide_offsets;
  if (nnz > max_narrow_nnz) {
    wide = Array<std::int64_t>(static_cast<std::size_t>(cols) + 1, place);
  } else {
    narrow = Array<std::int32_t>(static_cast<std::size_t>(cols) + 1, place);
  }
  transposed.col_idx = Array<std::int32_t>(nonzeros, place);
  on_backend(
      place,
      [&] {
        transposed.source = Array<std::uint32_t>(nonzeros, place);
        transpose_on_host(rows, cols, nnz, row_ptr, col_idx, transposed);
      },
      [&] {
        if (nnz == 0) return fill_bytes(narrow.data(), 0, static_cast<std::size_t>(narrow.bytes()), place, stream);
        auto sorted = cuda::sort_by_column(col_idx, nnz, cols, place, stream);
        Array<std::int32_t> row_of(nonzeros, place);
        cuda::expand_rows(row_ptr, rows, nnz, row_of.data(), stream);
        permute(row_of.data(), sorted.nonzeros, transposed.col_idx.data(), place, stream);
        transposed.source = std::move(sorted.nonzeros);
        if (wide.empty()) {
          cuda::narrow_offsets(sorted.first_of.data(), narrow.data(), cols + 1, stream);
        } else {
          wide = std::move(sorted.first_of);
        }
      });
  synchronize(place, stream);
  return transposed;
}

template <class T>
void permute(const T* from, const Array<std::uint32_t>& source, T* to, Place place, Stream stream) {
  const auto size = static_cast<std::int64_t>(source.size());
  const std::uint32_t* at = source.data();
  on_backend(
      place, [&] { parallel_for(size, [&](std::int64_t k) { to[k] = from[at[k]]; }); },
      [&] { cuda::gather(from, at, to, size, stream); });
}

template void permute(const float*, const Array<std::uint32_t>&, float*, Place, Stream);
template void permute(const double*, const Array<std::uint32_t>&, double*, Place, Stream);
template void permute(const std::int32_t*, const Array<std::uint32_t>&, std::int32_t*, Place, Stream);

}  // namespace autospmv
