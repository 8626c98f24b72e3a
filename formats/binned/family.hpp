// What formats of rows in bins have in common when they offer parameters, refuse, predict and build.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "formats/binned/storage.hpp"
#include "formats/common/encoding/encoding.hpp"

namespace autospmv::formats {

inline constexpr std::int64_t usual_block = 256;

/// Rows are shared by blocks where any is long enough; first, as one long row keeps the others' product waiting.
std::vector<std::int64_t> splits_for(const Features& features, std::int64_t block);

/// Nonzeros a thread, best guess first.
std::vector<std::int64_t> entries_for(const Features& features);

// ---- Dynamic parallelism: the longest rows by child kernels, no more of them than a limit

inline constexpr const char* child_limit = "max_child_threads";
inline constexpr std::array<std::int64_t, 4> child_limits = {1024, 2048, 4096, 8192};

/// Rows of fewer nonzeros get no child kernel.
inline constexpr std::int64_t least_of_child = 32;

/// No children; and where rows are long enough for them, first as many as the authors of SURAA allow (2019, 5.5): 2048,
/// and more only where more rows are.
ParamSpace::Axis child_limits_for(const Features& features);

Allowed allowed_child_limits();

/// 0 for formats that have no such parameter.
inline std::int64_t child_limit_of(const Params& params) { return params.find(child_limit).value_or(0); }

template <class T>
class BinnedFormat : public Format<T> {
 public:
  /// Not on CUDA, where rows that blocks share are added up by atomics, in whatever order children come.
  [[nodiscard]] bool deterministic(const Params& params, const Device& device) const final;
  [[nodiscard]] bool capturable(const Params& params, const Device& device) const final;
  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const final;
  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const final;

 protected:
  /// `stored`: the rows are stored again in the order of the bins.
  explicit BinnedFormat(bool stored) : stored_(stored) {}

  /// T on the host, what all have on CUDA.
  [[nodiscard]] std::vector<Allowed> allowed(const Device& device) const override;

  [[nodiscard]] virtual int log_granularity_of(const Params& /*params*/) const { return 0; }

  /// CUDA: nonzeros a thread.
  [[nodiscard]] virtual int entries_of(const Params& params) const { return static_cast<int>(params["entries"]); }
  [[nodiscard]] ThreadRule rule_of(const Params& params) const {
    return {entries_of(params), static_cast<int>(params["block"]), static_cast<int>(params["split"])};
  }

  /// What rows are binned by: lengths of their own on the host, the rule's bins on CUDA.
  [[nodiscard]] virtual std::vector<std::int64_t> floors(const Params& params, const Device& device) const;

  /// CUDA: sets the bins of the shape, and those of them that get child kernels.
  virtual std::optional<Refusal> set_bins(const RowBins& rows, const std::vector<std::int64_t>& floors,
                                          const Params& params, BinnedShape& shape) const;

  /// Host: see Cost::work.
  [[nodiscard]] virtual double work(const Features& features) const = 0;
  /// CUDA: sets the walk, and the imbalance where there is any.
  virtual void add_walk(const Features& features, const Params& params, Cost& cost) const;
  /// CUDA: kernels of one product, without dynamic parallelism; shared rows are scaled first.
  [[nodiscard]] virtual int launches(const Features& features, const Params& params) const;

 private:
  static std::optional<Refusal> refuse(std::int64_t rows, const Params& params);

  bool stored_;
};

}  // namespace autospmv::formats
