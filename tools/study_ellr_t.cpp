// ELLR-T against CRS, ELLPACK and HYB.

#include "tools/study_questions.hpp"

namespace autospmv::tools {

namespace {

// Its threads stop where their rows end, so that a length a row is read and no padding.
double entries_and_lengths(const StudiedMatrix& studied, const Contest& /*contest*/) {
  constexpr std::int64_t index_bytes = sizeof(std::int32_t);
  const auto& matrix = studied.matrix;
  const auto arrays = matrix.rows * index_bytes + matrix.nnz * (index_bytes + matrix.value_bytes);
  return static_cast<double>(arrays) + vector_bytes(matrix);
}

std::optional<bool> has_few_threads(const StudiedMatrix& studied) {
  const auto threads = best_parameter(studied, "ellr_t", "T");
  return threads ? std::optional(*threads <= 8) : std::nullopt;
}

std::optional<bool> has_large_block(const StudiedMatrix& studied) {
  const auto block = best_parameter(studied, "ellr_t", "block");
  return block ? std::optional(*block >= 128) : std::nullopt;
}

}  // namespace

Study ellr_t_study() {
  return {
      .name = "ellr_t",
      .paper =
          "Vazquez, Ortega, Fernandez, Garzon, \"Improving the performance of the sparse matrix vector product with "
          "GPUs\", 2010, V",
      .byte_count =
          "bytes read and written over time, as the CUDA guide counts that the paper refers to: x, y and the stored "
          "arrays once, for ELLR-T without padding, which it does not read",
      .contenders = {{"CRS", "csr_scalar", Role::rival, true, csr_arrays},
                     {"CRS(vector)", "csr_vector", Role::rival, true, csr_arrays},
                     {"SpMV4GPU", "csr_padded", Role::rival, false, everything_stored},
                     {"ELLPACK", "ell", Role::rival, false, everything_stored},
                     {"HYB", "hyb", Role::rival, false, everything_stored},
                     {"Sliced ELLPACK", "sliced_ell", Role::described, false, everything_stored},
                     {"BELLPACK", "bell", Role::described, false, everything_stored},
                     {"ELLR-T", "ellr_t", Role::own, false, entries_and_lengths}},
      .claims = {{"ELLR-T is the fastest of its set on every matrix",
                  {share("share of matrices where it is",
                         [](const StudiedMatrix& one) { return is_fastest(one, "ellr_t"); })}},
                 {"its effective bandwidth on large matrices is 57-80 % of the peak (90-128 of 159 GB/s)",
                  bandwidth_range("ellr_t")},
                 {"its best T is at most 8", {share("share of matrices where it is", has_few_threads)}},
                 {"its best block is at least 128", {share("share of matrices where it is", has_large_block)}}}};
}

}  // namespace autospmv::tools
