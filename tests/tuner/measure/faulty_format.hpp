// A format that does what no format may: what trials must find.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <variant>

#include <sched.h>

#include "core/error.hpp"
#include "formats/format.hpp"

namespace autospmv::testing {

enum class Fault {
  none,
  wrong_sum,
  unwritten_row,
  writes_past_y,
  changes_x,
  refuses,
  throws,
  throws_when_used,
  slow_at_first,
  slow,
  wanders
};

/// Plain CSR on the host, with a fault.
class FaultyOperator final : public Operator<double> {
 public:
  FaultyOperator(const CsrView<double>& matrix, Fault fault) : matrix_(matrix), fault_(fault) {}

  void apply(double alpha, const double* x, double beta, double* y, Stream /*stream*/) const override {
    // The verification is the first.
    if (fault_ == Fault::throws_when_used && ++products_ > 3) throw DeviceError("broken");
    if (fault_ == Fault::wanders) move_on();
    if (fault_ == Fault::slow) wait_for(std::chrono::milliseconds(1));
    const auto* row_ptr = std::get<0>(matrix_.row_ptr);
    for (std::int64_t row = 0; row < matrix_.rows; ++row) {
      double sum = 0;
      for (auto k = row_ptr[row]; k < row_ptr[row + 1]; ++k) sum += matrix_.values[k] * x[matrix_.col_idx[k]];
      if (fault_ == Fault::wrong_sum && row == 17) sum *= 1 + 1e-9;
      if (fault_ == Fault::unwritten_row && row == 17) continue;
      y[row] = beta == 0 ? alpha * sum : alpha * sum + beta * y[row];
    }
    if (fault_ == Fault::writes_past_y) y[matrix_.rows] = 0;
    if (fault_ == Fault::changes_x) const_cast<double*>(x)[3] = 0;
  }
  [[nodiscard]] bool update_values(const CsrView<double>& matrix, Stream /*stream*/) override {
    matrix_ = matrix;
    return true;
  }
  [[nodiscard]] std::int64_t bytes() const override { return 0; }

 private:
  static void wait_for(std::chrono::milliseconds time) {
    const auto end = std::chrono::steady_clock::now() + time;
    while (std::chrono::steady_clock::now() < end) {
    }
  }

  // To the other of two processors, if there are two. It takes long enough for a sample of its own.
  void move_on() const {
    wait_for(std::chrono::milliseconds(10));
    cpu_set_t processor;
    CPU_ZERO(&processor);
    CPU_SET(static_cast<std::size_t>(++products_ % 2), &processor);
    (void)sched_setaffinity(0, sizeof(processor), &processor);
  }

  CsrView<double> matrix_;
  Fault fault_;
  mutable std::atomic<int> products_ = 0;
};

class FaultyFormat final : public Format<double> {
 public:
  explicit FaultyFormat(Fault fault) : fault_(fault) {}

  [[nodiscard]] const FormatInfo& info() const override { return info_; }
  [[nodiscard]] Result<Cost> cost(const Features& /*features*/, const Params& /*params*/,
                                  const Device& /*device*/) const override {
    return Cost{};
  }
  [[nodiscard]] Built<double> convert(const CsrView<double>& matrix, const Params& /*params*/,
                                      const Device& /*device*/) const override {
    if (fault_ == Fault::refuses) return Refusal{"no"};
    if (fault_ == Fault::throws) throw DeviceError("broken");
    if (fault_ == Fault::slow_at_first && ++conversions_ == 1) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return std::unique_ptr<Operator<double>>(std::make_unique<FaultyOperator>(matrix, fault_));
  }

 private:
  Fault fault_;
  mutable std::atomic<int> conversions_ = 0;
  FormatInfo info_{.name = "faulty", .version = 1, .summary = {}, .paper = {}, .backends = {Backend::host}};
};

}  // namespace autospmv::testing
