#include "tools/output/record.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/printable.hpp"

namespace autospmv::tools {

std::string headline(const MatrixSummary& matrix) {
  return printable(matrix.label) + ": " + std::to_string(matrix.rows) + " x " + std::to_string(matrix.cols) + ", " +
         std::to_string(matrix.nnz) + " nonzeros, " + matrix.value_type;
}

double csr_product_bytes(const MatrixSummary& matrix) {
  constexpr std::int64_t index_bytes = sizeof(std::int32_t);
  const auto arrays = (matrix.rows + 1) * index_bytes + matrix.nnz * (index_bytes + matrix.value_bytes);
  const auto vectors = (matrix.rows + matrix.cols) * matrix.value_bytes;
  return static_cast<double>(arrays + vectors);
}

double median_of(const Timing& timing) { return timing.samples > 0 ? timing.median : unknown; }

double gflops(const MatrixSummary& matrix, double seconds) {
  return 2 * static_cast<double>(matrix.nnz) / seconds * 1e-9;
}

double csr_equivalent_gbs(const MatrixSummary& matrix, double seconds) {
  return csr_product_bytes(matrix) / seconds * 1e-9;
}

double seconds_of(const TuneRecord& record) { return median_of(record.measurement.warm); }

double baseline_seconds(const TuneRecord& record) {
  return record.baseline ? median_of(record.baseline->measurement.warm) : unknown;
}

double speedup(const TuneRecord& record) { return baseline_seconds(record) / seconds_of(record); }

std::string source_of(const TuneRecord& record) {
  if (record.measurement.warm.samples == 0) return record.prediction ? "estimated" : "untried";
  return record.from_database ? "database" : "measured";
}

double break_even_calls(const TuneRecord& record) {
  const double gain = baseline_seconds(record) - seconds_of(record);
  if (std::isnan(gain)) return unknown;
  const double price = record.measurement.setup_seconds - record.baseline->measurement.setup_seconds;
  if (price <= 0 && gain >= 0) return 0;
  return gain > 0 ? std::ceil(price / gain) : std::numeric_limits<double>::infinity();
}

}  // namespace autospmv::tools
