#include <algorithm>
#include <atomic>

#include "core/machine/parallel.hpp"
#include "formats/binned/operator.hpp"
#include "formats/common/host/row_sum.hpp"
#include "formats/common/host/versions.hpp"
#include "formats/common/row_length.hpp"

namespace autospmv::formats::host {

namespace {

// Shares are taken as they come: so many of them that the last ones are short.
constexpr std::int64_t shares_of_thread = 8;

/// What one share needs to know of the product.
template <class T, class Offset, class Values>
struct Product {
  BinnedView<Offset> view;
  Values values;
  T alpha;
  const T* x;
  T beta;
  T* y;
};

// Rows at positions [first, last). Length -1: each has its own.
template <int Lanes, int Length, class T, class Offset, class Values>
AUTOSPMV_INLINE void multiply_rows(const Product<T, Offset, Values>& product, std::int64_t first, std::int64_t last) {
  const auto& view = product.view;
  const Values values = product.values;
  const T* x = product.x;
  for (auto position = first; position < last; ++position) {
    const auto row = view.row_at(position);
    if (row >= view.rows) return;
    const auto begin = view.first_entry(position, row);
    const auto length = Length >= 0 ? Length : view.last_entry(position, row) - begin;
    const T sum = row_sum<Lanes, T>(length, [&](std::int64_t k) AUTOSPMV_INLINE_LAMBDA {
      return values.at(begin + k) * x[view.columns[begin + k]];
    });
    T& to = product.y[row];
    to = product.beta == T{0} ? product.alpha * sum : product.alpha * sum + product.beta * to;
  }
}

template <class T, class Offset, class Values>
AUTOSPMV_INLINE void multiply_scalar(const Product<T, Offset, Values>& product, const RowBin& bin, std::int64_t first,
                                     std::int64_t last) {
  switch (bin.length) {
    case 0:
      return multiply_rows<1, 0>(product, first, last);
    case 1:
      return multiply_rows<1, 1>(product, first, last);
    case 2:
      return multiply_rows<1, 2>(product, first, last);
    case 3:
      return multiply_rows<1, 3>(product, first, last);
    case 4:
      return multiply_rows<2, 4>(product, first, last);
    case 5:
      return multiply_rows<2, 5>(product, first, last);
    case 6:
      return multiply_rows<2, 6>(product, first, last);
    case 7:
      return multiply_rows<2, 7>(product, first, last);
    case 8:
      return multiply_rows<2, 8>(product, first, last);
    default:
      if (bin.log_threads == 0) return multiply_rows<1, -1>(product, first, last);
      if (bin.log_threads == 1) return multiply_rows<2, -1>(product, first, last);
      multiply_rows<4, -1>(product, first, last);
  }
}

#define AUTOSPMV_BINNED(T, Values, Offset)                                                                       \
  AUTOSPMV_MULTIVERSION_SCALAR void scalar_version(const Product<T, Offset, Values>& product, const RowBin& bin, \
                                                   std::int64_t first, std::int64_t last) {                      \
    multiply_scalar(product, bin, first, last);                                                                  \
  }                                                                                                              \
  AUTOSPMV_MULTIVERSION void vector_version(const Product<T, Offset, Values>& product, std::int64_t first,       \
                                            std::int64_t last) {                                                 \
    multiply_rows<8, -1>(product, first, last);                                                                  \
  }
AUTOSPMV_EACH_VALUES(AUTOSPMV_BINNED, std::int32_t)
AUTOSPMV_EACH_VALUES(AUTOSPMV_BINNED, std::int64_t)
#undef AUTOSPMV_BINNED

template <class T>
class HostBinnedRows final : public BinnedRowsOperator<T> {
 public:
  HostBinnedRows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape)
      : BinnedRowsOperator<T>(matrix, std::move(rows), std::move(shape), Place{}) {
    cut_shares();
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream /*stream*/) const override {
    this->with_view([&]<class Offset, class Values>(const BinnedView<Offset>& view, Values values) {
      values.open();
      const Product<T, Offset, Values> product{view, values, alpha, x, beta, y};
      std::atomic<std::size_t> taken{0};
      parallel_region(work_, [&](int /*thread*/, int /*threads*/) {
        for (auto share = taken++; share + 1 < cuts_.size(); share = taken++) {
          multiply_share(product, cuts_[share], cuts_[share + 1]);
        }
      });
    });
  }

 private:
  std::int64_t positions() const { return this->shape_.bins.empty() ? 0 : this->shape_.bins.back().last; }

  void store_rows(Stream /*stream*/) override {
    with_offsets(this->matrix_.row_ptr, [&]<class Offset>(const Offset* source) {
      auto& row_ptr = std::get<Array<Offset>>(this->row_ptr_);
      Offset entries = 0;
      for (std::size_t position = 0; position < this->order_.size(); ++position) {
        row_ptr[position] = entries;
        entries += source[this->order_[position] + 1] - source[this->order_[position]];
      }
      row_ptr[this->order_.size()] = entries;
      copy_rows(source, row_ptr.data(), this->matrix_.col_idx, this->columns_.data());
    });
  }

  void store_values(T* values, Stream /*stream*/) const override {
    with_offsets(this->matrix_.row_ptr, [&]<class Offset>(const Offset* source) {
      copy_rows(source, std::get<Array<Offset>>(this->row_ptr_).data(), this->matrix_.values, values);
    });
  }

  template <class Offset, class V>
  void copy_rows(const Offset* source, const Offset* target, const V* from, V* to) const {
    parallel_region(this->matrix_.nnz, [&](int thread, int threads) {
      for (std::size_t share = thread; share + 1 < cuts_.size(); share += threads) {
        for (auto position = cuts_[share]; position < cuts_[share + 1]; ++position) {
          const auto row = this->order_[static_cast<std::size_t>(position)];
          std::copy(from + source[row], from + source[row + 1], to + target[position]);
        }
      }
    });
  }

  // A row costs about as much as an entry of it; a share ends with the row that fills it.
  void cut_shares() {
    work_ = this->matrix_.nnz + positions();
    const auto shares = std::max<std::int64_t>(1, omp_get_max_threads()) * shares_of_thread;
    cuts_.assign(1, 0);
    with_offsets(this->matrix_.row_ptr, [&](const auto* row_ptr) {
      std::int64_t done = 0;
      for (std::int64_t position = 0; position < positions(); ++position) {
        const auto at = static_cast<std::size_t>(position >> this->shape_.log_granularity);
        const std::int64_t granularity = std::int64_t{1} << this->shape_.log_granularity;
        const auto row = this->order_[at] * granularity + position % granularity;
        ++done;
        if (row < this->matrix_.rows) done += row_length(row_ptr, row);
        if (done * shares >= work_ * static_cast<std::int64_t>(cuts_.size())) cuts_.push_back(position + 1);
      }
    });
    if (cuts_.back() < positions()) cuts_.push_back(positions());
  }

  template <class Offset, class Values>
  void multiply_share(const Product<T, Offset, Values>& product, std::int64_t first, std::int64_t last) const {
    const auto& bins = this->shape_.bins;
    auto bin = std::upper_bound(bins.begin(), bins.end(), first,
                                [](std::int64_t position, const RowBin& one) { return position < one.last; });
    for (; first < last; ++bin) {
      const auto end = std::min(last, bin->last);
      if (bin->log_threads < 3) {
        scalar_version(product, *bin, first, end);
      } else {
        vector_version(product, first, end);
      }
      first = end;
    }
  }

  std::vector<std::int64_t> cuts_;  // positions where shares begin, and where the last one ends
  std::int64_t work_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<BinnedRowsOperator<T>> make_binned_rows(const CsrView<T>& matrix, RowBins rows, BinnedShape shape) {
  return std::make_unique<HostBinnedRows<T>>(matrix, std::move(rows), std::move(shape));
}

template std::unique_ptr<BinnedRowsOperator<float>> make_binned_rows(const CsrView<float>&, RowBins, BinnedShape);
template std::unique_ptr<BinnedRowsOperator<double>> make_binned_rows(const CsrView<double>&, RowBins, BinnedShape);

}  // namespace autospmv::formats::host
