// A session must not let a wrong candidate pass, whatever is wrong with it.

#include "tuner/session.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "core/error.hpp"
#include "tests/tuner/support.hpp"

namespace autospmv {
namespace {

enum class Fault { none, wrong_sum, unwritten_row, writes_past_y, changes_x, refuses, throws };

// Plain CSR with a fault.
class FaultyOperator final : public Operator<double> {
 public:
  FaultyOperator(const CsrView<double>& matrix, Fault fault) : matrix_(matrix), fault_(fault) {}

  void apply(double alpha, const double* x, double beta, double* y, Stream /*stream*/) const override {
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
  void update_values(const CsrView<double>& matrix, Stream /*stream*/) override { matrix_ = matrix; }
  [[nodiscard]] std::int64_t bytes() const override { return 0; }

 private:
  CsrView<double> matrix_;
  Fault fault_;
};

class FaultyFormat final : public Format<double> {
 public:
  explicit FaultyFormat(Fault fault) : fault_(fault) {}

  [[nodiscard]] const FormatInfo& info() const override { return info_; }
  [[nodiscard]] ParamSpace params(const Features& /*features*/, const Device& /*device*/) const override { return {}; }
  [[nodiscard]] Result<Cost> predict(const Features& /*features*/, const Params& /*params*/,
                                     const Device& /*device*/) const override {
    return Cost{};
  }
  [[nodiscard]] Result<std::unique_ptr<Operator<double>>> build(const CsrView<double>& matrix, const Params& /*params*/,
                                                                const Device& /*device*/) const override {
    if (fault_ == Fault::refuses) return Refusal{"no"};
    if (fault_ == Fault::throws) throw DeviceError("broken");
    return std::unique_ptr<Operator<double>>(std::make_unique<FaultyOperator>(matrix, fault_));
  }

 private:
  Fault fault_;
  FormatInfo info_{.name = "faulty", .version = 1, .summary = {}, .paper = {}, .backends = {Backend::host}};
};

Measurement attempt(Fault fault) {
  const auto matrix = testing::make_matrix<double>("gen:pde:8");
  const FaultyFormat format(fault);
  Session<double> session(matrix.on({}), host_device(), tuning_rules, 1,
                          [&](std::string_view /*name*/) { return &format; });
  Prospect prospect;
  prospect.candidate = {"faulty", {}};
  const auto record = session.attempt(prospect);
  session.settle();
  EXPECT_EQ(session.take(prospect.candidate) != nullptr, fault == Fault::none);
  return record.measurement;
}

TEST(Session, PassesWhatIsRight) {
  const auto measurement = attempt(Fault::none);
  EXPECT_EQ(measurement.outcome, Outcome::passed);
  EXPECT_LE(measurement.worst_error, 1);
  EXPECT_GT(measurement.warm.median, 0);
  EXPECT_GT(measurement.setup_seconds, 0);
}

TEST(Session, CatchesARowThatIsOffByABillionth) {
  const auto measurement = attempt(Fault::wrong_sum);
  EXPECT_EQ(measurement.outcome, Outcome::wrong_answer);
  EXPECT_EQ(measurement.detail, "1 rows, the first of them 17");
}

TEST(Session, CatchesARowThatIsNotWritten) { EXPECT_EQ(attempt(Fault::unwritten_row).outcome, Outcome::wrong_answer); }

TEST(Session, CatchesAWriteOutsideOfY) {
  const auto measurement = attempt(Fault::writes_past_y);
  EXPECT_EQ(measurement.outcome, Outcome::wrong_answer);
  EXPECT_EQ(measurement.detail, "wrote outside of y");
}

TEST(Session, CatchesAChangeOfX) { EXPECT_EQ(attempt(Fault::changes_x).outcome, Outcome::wrong_answer); }

TEST(Session, KeepsTheReasonOfARefusalAndTheTextOfAnError) {
  const auto refused = attempt(Fault::refuses);
  EXPECT_EQ(refused.outcome, Outcome::refused);
  EXPECT_EQ(refused.detail, "no");
  const auto failed = attempt(Fault::throws);
  EXPECT_EQ(failed.outcome, Outcome::failed);
  EXPECT_EQ(failed.detail, "broken");
}

TEST(Session, MeasuresEveryKeptCandidateWarmAndCold) {
  const auto matrix = testing::make_matrix<double>("gen:grid2d:60");
  const auto view = matrix.on({});
  const auto features = extract_features(view, Place{});
  Session<double> session(view, host_device(), bench_rules, 1);
  int admitted = 0;
  for (const auto& prospect : all_prospects<double>(features, host_device(), testing::any_predictor())) {
    // More of them would only take longer: the suite of the formats multiplies with all.
    if (!prospect.admitted() || admitted == 8) continue;
    EXPECT_EQ(session.attempt(prospect).measurement.outcome, Outcome::passed) << prospect.candidate.text();
    ++admitted;
  }
  session.settle();
  EXPECT_GT(admitted, 5);
  for (const auto& record : session.records()) {
    EXPECT_GE(record.measurement.warm.samples, bench_rules.min_rounds) << record.candidate.text();
    EXPECT_EQ(record.measurement.cold.samples, bench_rules.cold_samples) << record.candidate.text();
    EXPECT_EQ(record.measurement.loop.samples, bench_rules.loop_samples) << record.candidate.text();
    EXPECT_GT(record.measurement.loop.low_quartile, 0) << record.candidate.text();
    EXPECT_LE(record.measurement.warm.low_quartile, record.measurement.warm.high_quartile);
  }
}

}  // namespace
}  // namespace autospmv
