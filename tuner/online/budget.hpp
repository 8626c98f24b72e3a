// What tuning may take from a caller who multiplies by one matrix again and again: arithmetic, without a clock.
#pragma once

#include <algorithm>
#include <cstdint>

#include "autospmv/options.hpp"
#include "core/machine/device.hpp"

namespace autospmv {

/// How much of what plain CSR would take may be spent on finding something faster. On the host that is what a plain
/// loop over CSR takes, or the product that is begun with where that takes longer.
struct BudgetRules {
  double head_start = 2;  ///< products of plain CSR that may be spent before any was computed
  double share = 0.045;   ///< of what the products so far would have taken by plain CSR
  /// Of what faster products have saved. The rest is the caller's: he is to feel it before the last candidate was
  /// tried.
  double share_of_savings = 0.25;
  /// Of calls that a caller announces beyond the default number, paid in advance.
  double advance = 0.04;
};

/// Those of a backend. On a device the caller need not wait for the steps, so that they may begin at once: a tenth of
/// the calls that are taken for granted is lent.
inline BudgetRules budget_rules(Backend backend) {
  BudgetRules rules;
  if (backend == Backend::cuda) rules.head_start = 0.1 * static_cast<double>(Limits{}.expected_calls);
  return rules;
}

/// The promise: after any number N of products, they and all that tuning took from the caller have taken at most
/// 1.05 N + 5 products of plain CSR, and on a device what is lent besides. The rules stay below that, for what a piece
/// of work takes is only predicted. All times are the caller's, in seconds.
class Budget {
 public:
  explicit Budget(const Limits& limits, const BudgetRules& rules = {}) : rules_(rules) {
    const auto announced = limits.expected_calls - Limits{}.expected_calls;
    ahead_ = rules.head_start + rules.advance * static_cast<double>(std::max<std::int64_t>(0, announced));
  }
  /// What a product takes by plain CSR, as far as is known: nothing can be spent before that.
  void set_plain(double seconds) { plain_ = seconds; }

  /// So many products were computed, of so many seconds each.
  void earn(std::int64_t products, double seconds) {
    products_ += products;
    gained_ += static_cast<double>(products) * (plain_ - seconds);
  }
  void spend(double seconds) { spent_ += seconds; }

  [[nodiscard]] double spent() const { return spent_; }

  /// Seconds that may still be spent; less than nothing where too much was.
  [[nodiscard]] double left() const {
    const double allowed = plain_ * (ahead_ + rules_.share * static_cast<double>(products_));
    return allowed + (gained_ > 0 ? rules_.share_of_savings * gained_ : gained_) - spent_;
  }

  /// How many more products of so many seconds each there must be until so much may be spent; at most `most`.
  [[nodiscard]] std::int64_t products_until(double cost, double seconds) const {
    const double missing = cost - left();
    if (missing <= 0) return 0;
    const double saved = plain_ - seconds;
    const double each = rules_.share * plain_ + (saved > 0 ? rules_.share_of_savings * saved : 0.0);
    if (!(each * static_cast<double>(most) > missing)) return most;
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(missing / each) + 1);
  }
  static constexpr std::int64_t most = std::int64_t{1} << 30;

 private:
  BudgetRules rules_;
  double ahead_ = 0;  // products of plain CSR
  double plain_ = 0;
  std::int64_t products_ = 0;
  double gained_ = 0;  // by products that took less than plain CSR's, less what others took more
  double spent_ = 0;
};

}  // namespace autospmv
