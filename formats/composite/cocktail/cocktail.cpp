#include "formats/composite/cocktail/cocktail.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "formats/common/predict/host_work.hpp"
#include "formats/common/predict/rules.hpp"
#include "formats/common/predict/walks.hpp"
#include "formats/composite/cocktail/choices.hpp"
#include "formats/csr/csr_rows.hpp"

namespace autospmv::formats::cocktail {

namespace {

// ---- The rules of the cuts.

// What a slot without a column costs of what a nonzero with one does: a diagonal or a block pays from this fill on.
template <class T>
constexpr double slot_cost = static_cast<double>(sizeof(T)) / (4 + sizeof(T));

// Rows are long beyond the 99th percentile, unless a warp would still take them in one step.
std::int64_t longest_ordinary_row(const Features& features) {
  return std::max<std::int64_t>(32, features.npr_percentile[percentile_index(99)]);
}

// The share of all column indices that diagonals and blocks must do without, so that a fifth of CSR's bytes is saved:
// the second product reads y again, and both wait for their own last threads.
template <class T>
constexpr double least_saved = 0.2 * (4 + sizeof(T)) / 4;

// `features` need no more than the sizes, but for long rows.
template <class T>
std::vector<CutRule> rules_for(Cut cut, const Features& features) {
  if (cut == Cut::rows) return {{.cut = cut, .least = longest_ordinary_row(features) + 1}};
  if (cut == Cut::diagonals) {
    const double least = std::ceil(slot_cost<T> * static_cast<double>(features.rows));
    return {{.cut = cut,
             .least = std::max<std::int64_t>(1, static_cast<std::int64_t>(least)),
             .least_saved = least_saved<T>}};
  }
  std::vector<CutRule> sizes;
  for (const int b : block_sizes) {
    const double area = b * b;
    const double least = std::ceil((area * sizeof(T) + 4) / (4 + sizeof(T)));
    sizes.push_back({.cut = cut,
                     .least = static_cast<std::int64_t>(least),
                     .block = b,
                     .saved = 1 - 1 / area,
                     .least_saved = least_saved<T>});
  }
  return sizes;
}

// Only long rows are told from their lengths.
template <class T>
Features features_for_rules(Cut cut, const CsrView<T>& matrix, Place place) {
  if (cut == Cut::rows) return extract_row_features(matrix, place);
  Features sizes;
  sizes.rows = matrix.rows;
  return sizes;
}

// The most nonzeros, as a share, that can lie in dense blocks of a size: those are filled no more than they must be,
// and all other nonzeros are alone in theirs.
template <class T>
double most_in_blocks(const Features& features, std::size_t size) {
  const double area = block_sizes[size] * block_sizes[size];
  if (features.block_fill[size] <= 0) return 0;
  return (area - 1 / features.block_fill[size]) / (area - 1 / slot_cost<T>);
}

// ---- What is refused from the features alone, because there is nothing to gain.

template <class T>
bool all_diagonals_are_dense(const Features& features) {
  return features.diagonals <= diagonals_cap &&
         static_cast<double>(features.diagonals) * static_cast<double>(features.rows) * slot_cost<T> <=
             static_cast<double>(features.nnz);
}

template <class T>
std::optional<Refusal> refuse_useless(Cut cut, const Features& features) {
  if (csr_bytes<T>(features.rows, features.nnz) < small_storage_bytes) {
    return Refusal{"size: a second kernel costs more than less than 1 MB can save"};
  }
  if (cut == Cut::rows) {
    // A few times the ordinary is what formats with several threads a row even out.
    constexpr std::int64_t ratio = 4;
    if (features.npr_max > ratio * longest_ordinary_row(features)) return std::nullopt;
    return Refusal{"rows: none is longer than " + std::to_string(ratio) + " times the ordinary"};
  }
  if (cut == Cut::diagonals) {
    const auto rows = static_cast<double>(features.rows);
    if (static_cast<double>(features.rows - features.empty_rows) < slot_cost<T> * rows) {
      return Refusal{"diagonals: none can be dense, too many rows are empty"};
    }
    if (all_diagonals_are_dense<T>(features)) {
      return Refusal{"diagonals: all of them together are dense, no rest is worth cutting off"};
    }
    return std::nullopt;
  }
  if (!features.sorted_columns) return Refusal{"blocks: columns are not sorted, or repeated"};
  if (all_diagonals_are_dense<T>(features)) return Refusal{"blocks: all diagonals are dense, and need no columns"};
  constexpr double all = 0.9;
  double most = 0;
  for (std::size_t size = 0; size < block_sizes.size(); ++size) {
    if (features.block_fill[size] > all) return Refusal{"blocks: practically all of them are full, there is no rest"};
    const double area = block_sizes[size] * block_sizes[size];
    most = std::max(most, most_in_blocks<T>(features, size) * (1 - 1 / area));
  }
  if (most < least_saved<T>) return Refusal{"blocks: too few nonzeros can lie in dense ones"};
  return std::nullopt;
}

// ---- What a cut is predicted to cost.

/// Of the second product, which adds to the first: its nonzeros and its rows.
struct Estimate {
  double added = 0;
  double added_rows = 0;
  double bytes_of_other = 0;  ///< of a nonzero of the first
};

// How many nonzeros lie on dense diagonals or in dense blocks, or in long rows, is not among the features. With half of
// them the candidate is neither ahead of all others nor hopeless, and build() finds out.
template <class T>
Estimate estimate(Cut cut, const Features& features) {
  const double half = static_cast<double>(features.nnz) / 2;
  const auto rows = static_cast<double>(features.rows);
  // Beyond the 99th percentile is one row in a hundred.
  if (cut == Cut::rows) return {half, rows / 100, 4 + sizeof(T)};
  // The smallest blocks have an index for four nonzeros.
  return {half, std::min(rows, half), cut == Cut::diagonals ? sizeof(T) : 1.0 + sizeof(T)};
}

// An adding part without its nonzeros and x: every row, or those that have nonzeros.
template <class T>
double adding_bytes(double rows, double listed) {
  return std::min(rows * (4 + 2 * sizeof(T)), listed * (8 + 2 * sizeof(T)));
}

template <class T>
double product_bytes(const Features& features, const Estimate& parts) {
  const double other = static_cast<double>(features.nnz) - parts.added;
  const double x_again = std::min(parts.added, static_cast<double>(features.cols)) * sizeof(T);
  return vector_bytes<T>(features) + static_cast<double>(features.rows) * 4 + other * parts.bytes_of_other +
         parts.added * (4 + sizeof(T)) + adding_bytes<T>(static_cast<double>(features.rows), parts.added_rows) +
         x_again;
}

// The parts as CSR, the marks, and what their formats make of them.
template <class T>
double storage_bytes(double bytes_of_csr, std::int64_t nnz) {
  return 2 * bytes_of_csr + static_cast<double>(nnz) * 3 / 8;
}

// ---- The operator.

template <class T>
class CocktailOperator final : public Operator<T> {
 public:
  CocktailOperator(Split<T> split, bool cut_first, std::unique_ptr<Operator<T>> first,
                   std::unique_ptr<Operator<T>> second, Place place)
      : split_(std::move(split)),
        cut_first_(cut_first),
        first_(std::move(first)),
        second_(std::move(second)),
        place_(place) {}

  void apply(T alpha, const T* x, T beta, T* y, Stream stream) const override {
    first_->apply(alpha, x, beta, y, stream);
    if (second_) second_->apply(alpha, x, T{1}, y, stream);
  }

  bool update_values(const CsrView<T>& matrix, Stream stream) override {
    fill(split_, matrix, Entries::values, place_, stream);
    return first_->update_values((cut_first_ ? split_.cut : split_.rest).view(), stream) &&
           (!second_ || second_->update_values((cut_first_ ? split_.rest : split_.cut).view(), stream));
  }

  [[nodiscard]] bool takes_any_values() const override {
    return first_->takes_any_values() && (!second_ || second_->takes_any_values());
  }

  [[nodiscard]] std::int64_t bytes() const override {
    return split_.marks.bytes() + split_.cut.bytes() + split_.rest.bytes() + first_->bytes() +
           (second_ ? second_->bytes() : 0);
  }

 private:
  Split<T> split_;
  bool cut_first_;
  std::unique_ptr<Operator<T>> first_;
  std::unique_ptr<Operator<T>> second_;  ///< none where nothing is left for it
  Place place_;
};

// CSR kernels over the rows of the part that have nonzeros, by the shape that was chosen for csr_vector.
template <class T>
std::unique_ptr<Operator<T>> build_listed_rows(Part<T>& part, const Params& params, std::int64_t listed,
                                               const Device& device) {
  list_rows(part, listed, device);
  CsrRows shape;
  shape.threads = static_cast<int>(params["T"]);
  shape.block = static_cast<int>(params.find("block").value_or(shape.block));
  shape.share_above = static_cast<int>(params.find("share").value_or(0));
  shape.row_ids = part.row_ids.data();
  return std::make_unique<CsrRowsOperator<T>>(part.view(), shape, device);
}

// The best of the choices that takes the part after all: predictions come without a look at the matrix.
template <class T>
Built<T> build_part(Part<T>& part, const std::vector<Choice<T>>& choices, const Features& features,
                    const Device& device) {
  for (const auto& choice : choices) {
    if (choice.lists_rows) {
      return build_listed_rows(part, choice.params, features.rows - features.empty_rows, device);
    }
    auto built = choice.format->build(part.view(), choice.params, device);
    if (built) return built;
  }
  return Refusal{"parts: no format takes one of them"};
}

template <class T>
class Cocktail final : public Format<T> {
 public:
  [[nodiscard]] const FormatInfo& info() const override {
    static const FormatInfo info{
        .name = "cocktail",
        .version = 6,
        .summary = "long rows, dense diagonals or dense blocks apart from the rest, each in a format of its own",
        .paper =
            "Su, Keutzer, \"clSpMV: a cross-platform OpenCL SpMV framework on GPUs\", 2012; compared with by Gao, Qi, "
            "He, \"Efficient CSR-based sparse matrix-vector multiplication on GPU\", 2016, 5.1",
        .offered = {},
        .deterministic = true};  // its parts' formats all are
    return info;
  }

  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& /*device*/) const override {
    return {{"parts", values()}};
  }

  [[nodiscard]] Result<Cost> cost(const Features& features, const Params& params, const Device& device) const override {
    const auto cut = static_cast<Cut>(params["parts"]);
    if (auto refusal = refuse_useless<T>(cut, features)) return *refusal;
    const double csr = csr_bytes<T>(features.rows, features.nnz);
    Cost cost;
    cost.storage_bytes = storage_bytes<T>(csr, features.nnz);
    if (auto refusal = refuse_storage(cost.storage_bytes, csr, device)) return *refusal;
    cost.bytes = product_bytes<T>(features, estimate<T>(cut, features));
    cost.launches = 2;
    if (device.backend == Backend::cuda) {
      cost.launches = 8;  // as recorded runs say: a part may take several kernels, and each waits for the one before it
      // Whatever the formats of the parts will be, they are not expected to give a thread more entries than this.
      constexpr double entries_of_thread = 8;
      cost.walk = walk_of_shared_rows(features, entries_of_thread);
    } else {
      cost.work = work_of_rows(features, {.entry = 0.25, .row = 0});
      cost.conversion = 15;  // cuts are counted, and refused, before any part is built
    }
    return cost;
  }

  [[nodiscard]] Built<T> convert(const CsrView<T>& matrix, const Params& params, const Device& device) const override {
    if (matrix.nnz == 0) return Refusal{"size: no nonzeros"};
    const DeviceScope scope(device);
    const auto cut = static_cast<Cut>(params["parts"]);
    const auto features = features_for_rules(cut, matrix, device);
    const double csr = csr_bytes<T>(matrix.rows, matrix.nnz);
    if (auto refusal = refuse_allocation(storage_bytes<T>(csr, matrix.nnz), matrix, device)) return *refusal;
    auto parts = split<T>(matrix, rules_for<T>(cut, features), device);
    if (parts.cut.nnz == 0) return Refusal{nothing_cut(cut)};
    return plan(std::move(parts), matrix, device);
  }

 private:
  [[nodiscard]] std::vector<Allowed> allowed(const Device& /*device*/) const override { return {{"parts", values()}}; }

  static std::vector<std::int64_t> values() {
    return {static_cast<std::int64_t>(Cut::diagonals), static_cast<std::int64_t>(Cut::rows),
            static_cast<std::int64_t>(Cut::blocks)};
  }

  static std::string nothing_cut(Cut cut) {
    if (cut == Cut::rows) return "rows: none is long";
    return std::string(cut == Cut::diagonals ? "diagonals" : "blocks") + ": dense ones would save too little";
  }

  static Built<T> plan(Split<T> parts, const CsrView<T>& matrix, const Device& device) {
    auto of_first = features_of(parts.cut, &parts.rule, device);
    auto of_second = features_of(parts.rest, nullptr, device);
    const CutRule* rule_of_first = &parts.rule;
    const CutRule* rule_of_second = nullptr;
    const bool cut_first = of_first.empty_rows <= of_second.empty_rows;
    if (!cut_first) {
      std::swap(of_first, of_second);
      std::swap(rule_of_first, rule_of_second);
    }
    // The device copies while the host plans.
    fill(parts, matrix, Entries::columns_and_values, device, setup_stream(device));
    const auto first = choices_for<T>(rule_of_first, of_first, device, false);
    std::vector<Choice<T>> second;
    if (of_second.nnz > 0) second = choices_for<T>(rule_of_second, of_second, device, true);

    auto first_op = build_part(cut_first ? parts.cut : parts.rest, first, of_first, device);
    if (!first_op) return Refusal{first_op.reason()};
    Built<T> second_op(nullptr);
    if (!second.empty()) second_op = build_part(cut_first ? parts.rest : parts.cut, second, of_second, device);
    if (!second_op) return Refusal{second_op.reason()};
    synchronize(device, setup_stream(device));
    // Moving a part leaves its arrays, to which the operators may refer, where they are.
    return std::unique_ptr<Operator<T>>(std::make_unique<CocktailOperator<T>>(
        std::move(parts), cut_first, std::move(*first_op), std::move(*second_op), device));
  }
};

}  // namespace

AUTOSPMV_FORMAT(Cocktail);

}  // namespace autospmv::formats::cocktail
