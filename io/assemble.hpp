// Compressed sparse rows from entries or from a rule for each row: the same result for any number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/machine/array.hpp"
#include "core/machine/parallel.hpp"
#include "io/host_csr.hpp"

namespace autospmv::detail {

template <class T>
struct Entry {
  std::int32_t row;
  std::int32_t col;
  T value;
};

/// Contiguous blocks of 2^shift rows. Few enough that writing to all of them at once stays in the cache and the TLB,
/// many enough that the threads share them evenly and that the rows of one fit into the cache.
struct RowBuckets {
  static constexpr std::int64_t most = 1024;

  explicit RowBuckets(std::int64_t row_count) : rows(row_count) {
    while ((rows >> shift) >= most) ++shift;
    count = (rows >> shift) + 1;
  }

  [[nodiscard]] std::int64_t of(std::int64_t row) const { return row >> shift; }
  [[nodiscard]] std::int64_t first_row(std::int64_t bucket) const { return std::min(rows, bucket << shift); }

  std::int64_t rows;
  int shift = 0;
  std::int64_t count = 0;
};

/// Stable, and in place apart from `scratch`, which has room for the row.
template <class T>
void sort_row(std::int32_t* cols, T* values, std::int64_t npr, Entry<T>* scratch) {
  if (std::is_sorted(cols, cols + npr)) return;
  for (std::int64_t k = 0; k < npr; ++k) scratch[k] = {0, cols[k], values[k]};
  // std::stable_sort does without its buffer where there is no memory for it, so it cannot throw in a thread.
  std::stable_sort(scratch, scratch + npr, [](const auto& a, const auto& b) { return a.col < b.col; });
  for (std::int64_t k = 0; k < npr; ++k) {
    cols[k] = scratch[k].col;
    values[k] = scratch[k].value;
  }
}

/// Writes rows [first, last) of the matrix, whose entries fill [start, end) of `entries` in any order.
template <class T>
void finish_bucket(HostCsr<T>& matrix, Entry<T>* entries, std::int64_t first, std::int64_t last, std::int64_t start,
                   std::int64_t end) {
  if (first == last) return;
  std::int64_t* next = matrix.row_ptr.data();
  for (std::int64_t k = start; k < end; ++k) ++next[entries[k].row];
  std::int64_t offset = start;
  for (std::int64_t r = first; r < last; ++r) offset += std::exchange(next[r], offset);
  for (std::int64_t k = start; k < end; ++k) {
    const std::int64_t to = next[entries[k].row]++;
    matrix.col_idx[to] = entries[k].col;
    matrix.values[to] = entries[k].value;
  }
  // Each offset has moved on to where the next row begins.
  std::copy_backward(next + first, next + last - 1, next + last);
  next[first] = start;
  for (std::int64_t r = first; r < last; ++r) {
    const std::int64_t row_end = r + 1 < last ? next[r + 1] : end;
    sort_row(matrix.col_idx.data() + next[r], matrix.values.data() + next[r], row_end - next[r], entries + next[r]);
  }
}

/// Entries in any order come in `parts` that several threads read at once: entries(part, visit) calls
/// visit(row, col, value) for each entry of a part. It is called twice a part, gives the same both times and does not
/// throw. Rows come out sorted by column; entries of one place keep the order of the parts, and within a part theirs.
template <class T, class Entries>
HostCsr<T> assemble_csr(std::int64_t rows, std::int64_t cols, std::int64_t parts, const Entries& entries) {
  const RowBuckets buckets(rows);
  const std::int64_t work = parts > 1 ? serial_below : 0;  // a part is much
  std::vector<std::int64_t> next(parts * buckets.count, 0);
  parallel_parts(work, parts, [&](std::int64_t part) {
    std::int64_t* count = next.data() + part * buckets.count;
    entries(part, [&](std::int64_t row, std::int64_t, const T&) { ++count[buckets.of(row)]; });
  });

  std::vector<std::int64_t> start(buckets.count + 1, 0);
  std::int64_t nnz = 0;
  for (std::int64_t bucket = 0; bucket < buckets.count; ++bucket) {
    for (std::int64_t part = 0; part < parts; ++part) nnz += std::exchange(next[part * buckets.count + bucket], nnz);
    start[bucket + 1] = nnz;
  }

  Array<Entry<T>> sorted(nnz, Place{});
  parallel_parts(work, parts, [&](std::int64_t part) {
    std::int64_t* to = next.data() + part * buckets.count;
    entries(part, [&](std::int64_t row, std::int64_t col, const T& value) {
      sorted[to[buckets.of(row)]++] = {static_cast<std::int32_t>(row), static_cast<std::int32_t>(col), value};
    });
  });

  HostCsr<T> matrix{rows, cols, std::vector<std::int64_t>(rows + 1, 0), std::vector<std::int32_t>(nnz),
                    std::vector<T>(nnz)};
  matrix.row_ptr[rows] = nnz;
  parallel_parts(nnz, buckets.count, [&](std::int64_t bucket) {
    finish_bucket(matrix, sorted.data(), buckets.first_row(bucket), buckets.first_row(bucket + 1), start[bucket],
                  start[bucket + 1]);
  });
  return matrix;
}

/// row(r, visit) calls visit(col, value) for each nonzero of a row by ascending column. It is called twice a row, gives
/// the same both times and does not throw.
template <class T, class Row>
HostCsr<T> assemble_rows(std::int64_t rows, std::int64_t cols, const Row& row) {
  HostCsr<T> matrix{rows, cols, std::vector<std::int64_t>(rows + 1, 0), {}, {}};
  parallel_for(rows, [&](std::int64_t r) {
    std::int64_t npr = 0;
    row(r, [&](std::int64_t, const T&) { ++npr; });
    matrix.row_ptr[r + 1] = npr;
  });
  for (std::int64_t r = 0; r < rows; ++r) matrix.row_ptr[r + 1] += matrix.row_ptr[r];
  matrix.col_idx.resize(matrix.nnz());
  matrix.values.resize(matrix.nnz());
  parallel_region(matrix.nnz(), [&](int thread, int threads) {
    const auto share = share_of(rows, thread, threads);
    std::int64_t to = matrix.row_ptr[share.first];
    for (std::int64_t r = share.first; r < share.last; ++r) {
      row(r, [&](std::int64_t col, const T& value) {
        matrix.col_idx[to] = static_cast<std::int32_t>(col);
        matrix.values[to++] = value;
      });
    }
  });
  return matrix;
}

/// The first entry of every place, of a matrix whose rows are sorted.
template <class T>
HostCsr<T> without_duplicates(const HostCsr<T>& matrix) {
  return assemble_rows<T>(matrix.rows, matrix.cols, [&](std::int64_t r, const auto& visit) {
    std::int64_t last = -1;
    for (std::int64_t k = matrix.row_ptr[r]; k < matrix.row_ptr[r + 1]; ++k) {
      if (matrix.col_idx[k] == last) continue;
      last = matrix.col_idx[k];
      visit(last, matrix.values[k]);
    }
  });
}

}  // namespace autospmv::detail
