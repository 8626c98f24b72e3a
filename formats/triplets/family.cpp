#include "formats/triplets/family.hpp"

#include <algorithm>
#include <utility>

#include "core/cuda/nonzeros.hpp"
#include "core/machine/on_backend.hpp"
#include "core/matrix/nonzeros.hpp"
#include "formats/common/host/host_shares.hpp"
#include "formats/common/kernels/cache_policy.hpp"
#include "formats/common/kernels/fixup.hpp"
#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"

namespace autospmv::formats {

namespace {

template <class T>
class TripletsOperator final : public CsrOperator<T> {
 public:
  TripletsOperator(const CsrView<T>& matrix, const Cut& cut, int block, const Device& device)
      : CsrOperator<T>(matrix, device), block_(block), row_of_(static_cast<std::size_t>(matrix.nnz), device) {
    on_backend(
        device,
        [&] {
          expand_rows(matrix.row_ptr, matrix.rows, matrix.nnz, row_of_.data());
          const auto shares = (matrix.nnz + cut.share - 1) / cut.share;
          host_shares_ = static_cast<int>(std::clamp<std::int64_t>(shares, 1, host::most_shares));
        },
        [&] {
          const auto stream = setup_stream(device);
          cuda::expand_rows(matrix.row_ptr, matrix.rows, matrix.nnz, row_of_.data(), stream);
          shares_ = formats::device::cut_equally<T>(matrix.row_ptr, matrix.rows, matrix.nnz, cut, device, stream);
        });
  }

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    if (this->matrix_.rows == 0) return;
    Triplets<T> triplets{row_of_.data(), this->matrix_.col_idx, this->matrix_.values, &this->values_,
                         this->matrix_.nnz};
    on_backend(
        this->place_, [&] { multiply_triplets_host(triplets, this->matrix_.rows, host_shares_, alpha, x, beta, y); },
        [&] {
          triplets.policy =
              policy_for<T>(this->matrix_.bytes() + row_of_.bytes(), this->matrix_.rows, this->matrix_.cols);
          multiply_triplets_cuda(triplets, shares_, block_, alpha, x, beta, y, stream);
        });
  }

  [[nodiscard]] std::int64_t bytes() const override {
    return row_of_.bytes() + shares_.bytes() + this->values_.bytes();
  }

 private:
  int block_;
  Array<std::int32_t> row_of_;
  EqualShares<T> shares_;
  int host_shares_ = 1;
};

// What is allocated beside CSR; `empty` is the number of rows without entries.
template <class T>
double storage_bytes(double nnz, double empty, std::int64_t value_bits, const Cut& cut, const Device& device) {
  double bytes = nnz * 4;
  if (value_bits < full_value_bits<T>) bytes += nnz * static_cast<double>(value_bits) / 8;
  if (device.backend == Backend::cuda) {
    bytes += equal_shares_bytes<T>(cut, static_cast<std::int64_t>(nnz)) + empty * 4;
  }
  return bytes;
}

}  // namespace

template <class T>
ParamSpace TripletsFormat<T>::params(const Features& features, const Device& device) const {
  const ParamSpace::Axis values{"value_bits", value_bits_for<T>(features)};
  const auto own = own_param(features, device);
  if (!own) return {values};
  if (device.backend == Backend::host) return {values, *own};
  // Where rows are no longer than shares, nothing is to be fixed up.
  const auto shortest = share({{own->name, own->values.front()}}, features.nnz, device);
  const std::vector<std::int64_t> none{static_cast<std::int64_t>(Fixup::kernel)};
  return {values, {"fixup", features.npr_max > shortest ? fixups_for(features) : none}, *own, {"block", {256, 128}}};
}

template <class T>
std::vector<Allowed> TripletsFormat<T>::allowed(const Device& device) const {
  std::vector<Allowed> all{{"value_bits", all_value_bits<T>()}};
  if (auto own = whole_own_param(device)) all.push_back(std::move(*own));
  if (device.backend == Backend::cuda) {
    all.push_back({"fixup", all_fixups()});
    all.push_back({"block", {64, 128, 256, 512}});
  }
  return all;
}

template <class T>
Cut TripletsFormat<T>::cut(const Params& params, std::int64_t entries, const Device& device) const {
  return {share(params, entries, device), true, true, static_cast<Fixup>(params.find("fixup").value_or(1))};
}

template <class T>
Result<Cost> TripletsFormat<T>::cost(const Features& features, const Params& params, const Device& device) const {
  const auto value_bits = params["value_bits"];
  if (auto refusal = refuse_value_bits<T>(features, value_bits)) return *refusal;
  const auto shares = cut(params, features.nnz, device);
  const auto nnz = static_cast<double>(features.nnz);
  Cost cost;
  cost.storage_bytes = storage_bytes<T>(nnz, static_cast<double>(features.empty_rows), value_bits, shares, device);
  if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
  cost.bytes = cost.storage_bytes + nnz * 4 + vector_bytes<T>(features);
  if (value_bits >= full_value_bits<T>) cost.bytes += nnz * sizeof(T);
  if (device.backend == Backend::cuda) {
    constexpr double threads_of_share = 32;
    cost.walk = walk_of_shares(nnz, static_cast<double>(shares.share) / threads_of_share);
    add_fixup(features, shares, rows_longer_than(features, shares.share), cost);
  } else {
    cost.work =
        0.5 * nnz + 3 * static_cast<double>(features.rows) + work_of_decoding(nnz, full_column_bits, value_bits);
  }
  return cost;
}

template <class T>
bool TripletsFormat<T>::deterministic(const Params& params, const Device& device) const {
  return deterministic_fixup(params, device);
}

template <class T>
Built<T> TripletsFormat<T>::convert(const CsrView<T>& matrix, const Params& params, const Device& device) const {
  const DeviceScope scope(device);
  const auto shares = cut(params, matrix.nnz, device);
  const double bytes = storage_bytes<T>(static_cast<double>(matrix.nnz), 0, full_value_bits<T>, shares, device);
  if (auto refusal = refuse_allocation(bytes, matrix, device)) return *refusal;
  const auto stream = setup_stream(device);
  const auto block = static_cast<int>(params.find("block").value_or(0));
  auto built = std::make_unique<TripletsOperator<T>>(matrix, shares, block, device);
  if (!built->encode(static_cast<int>(params["value_bits"]), stream)) {
    return Refusal{"encoding: values need more bits"};
  }
  synchronize(device, stream);
  return std::unique_ptr<Operator<T>>(std::move(built));
}

template class TripletsFormat<float>;
template class TripletsFormat<double>;

}  // namespace autospmv::formats
