#include "formats/jagged/family.hpp"

#include "formats/common/operators.hpp"
#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"

namespace autospmv::formats {

namespace {

// Bytes of a layout with so many slots in all; also what one product reads of it.
template <class T>
double bytes_of(const JaggedLayout& layout, const Features& features, double slots) {
  const double bits = 32 + value_bits_of<T>(layout.value_bits);
  return slots * bits / 8 + static_cast<double>(features.rows) * 8 + static_cast<double>(features.npr_max) * 8;
}

}  // namespace

template <class T>
ParamSpace JaggedFormat<T>::params(const Features& features, const Device& device) const {
  const auto values = value_bits_for<T>(features);
  if (device.backend == Backend::host) return {{"value_bits", values}};
  return {{"value_bits", values}, {"block", {256, 128}}};
}

template <class T>
std::vector<Allowed> JaggedFormat<T>::allowed(const Device& device) const {
  if (device.backend == Backend::host) return {{"value_bits", all_value_bits<T>()}};
  return {{"block", {128, 256, 512}}, {"value_bits", all_value_bits<T>()}};
}

template <class T>
JaggedLayout JaggedFormat<T>::layout_of(const Params& params) const {
  return {pad_, static_cast<int>(params.find("block").value_or(256)), static_cast<int>(params["value_bits"])};
}

template <class T>
Result<Cost> JaggedFormat<T>::cost(const Features& features, const Params& params, const Device& device) const {
  if (auto refusal = refuse_value_bits<T>(features, params["value_bits"])) return *refusal;
  const double padding = static_cast<double>(pad_ - 1) / 2 * static_cast<double>(features.npr_max);
  const auto layout = layout_of(params);
  Cost cost;
  cost.storage_bytes = bytes_of<T>(layout, features, static_cast<double>(features.nnz) + padding);
  if (auto refusal = refuse_storage<T>(cost.storage_bytes, features, device)) return *refusal;
  cost.bytes = bytes_of<T>(layout, features, static_cast<double>(features.nnz)) + vector_bytes<T>(features);
  if (device.backend == Backend::cuda) {
    cost.walk = walk_of_rows(features, 1, true);
  } else {
    // Batches of rows: their sums go to and from memory with each column of the batch.
    const auto nnz = static_cast<double>(features.nnz);
    cost.work = work_of_rows(features, {.entry = 0.32, .row = 3, .unforeseen = unforeseen_when_sorted}) +
                work_of_far_rows(features) + work_of_decoding(nnz, full_column_bits, params["value_bits"]);
    cost.conversion = conversion_by_sorting(features);
  }
  return cost;
}

template <class T>
Built<T> JaggedFormat<T>::convert(const CsrView<T>& matrix, const Params& params, const Device& device) const {
  return operator_or_refusal(build_jagged(matrix, layout_of(params), device), device);
}

template class JaggedFormat<float>;
template class JaggedFormat<double>;

}  // namespace autospmv::formats
