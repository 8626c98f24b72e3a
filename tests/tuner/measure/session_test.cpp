// A session must not let a wrong candidate pass, whatever is wrong with it.

#include "tuner/measure/session.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <unistd.h>

#include "tests/tuner/measure/faulty_format.hpp"
#include "tests/tuner/support.hpp"

namespace autospmv {
namespace {

using testing::Fault;
using testing::FaultyFormat;

Measurement attempt(Fault fault) {
  const auto matrix = testing::make_matrix<double>("gen:pde:8");
  const FaultyFormat format(fault);
  Session<double> session(data_of(matrix).on({}), host_device(), tuning_rules, 1,
                          [&](std::string_view /*name*/) { return &format; });
  Prospect prospect;
  prospect.candidate = {"faulty", {}};
  const auto record = session.attempt(prospect);
  session.finish();
  EXPECT_EQ(session.take(prospect.candidate) != nullptr, fault == Fault::none || fault == Fault::wanders);
  return record.measurement;
}

TEST(Session, PassesWhatIsRight) {
  const auto measurement = attempt(Fault::none);
  EXPECT_TRUE(is_timed(measurement));
  EXPECT_LE(measurement.worst_error, 1);
  EXPECT_GT(measurement.warm.median, 0);
  EXPECT_GT(measurement.setup_seconds, 0);
}

TEST(Session, SaysThatAllItsSamplesWereDisturbed) {
  if (sysconf(_SC_NPROCESSORS_ONLN) < 2) GTEST_SKIP() << "a thread has nowhere to go on one processor";
  const auto measurement = attempt(Fault::wanders);
  EXPECT_EQ(measurement.outcome, Outcome::disturbed);
  EXPECT_GT(measurement.warm.samples, 0);
  EXPECT_TRUE(is_timed(measurement));
}

TEST(Session, DoesNotCountWhatOnlyTheFirstConversionTakes) {
  const auto matrix = testing::make_matrix<double>("gen:pde:8");
  Prospect prospect;
  prospect.candidate = {"faulty", {}};
  for (const double expected : {0.0, 1e-3}) {
    const FaultyFormat format(Fault::slow_at_first);
    Session<double> session(data_of(matrix).on({}), host_device(), tuning_rules, 1,
                            [&](std::string_view /*name*/) { return &format; });
    prospect.prediction.setup_seconds = expected;
    const auto setup = session.attempt(prospect).measurement.setup_seconds;
    const bool counts_the_first = setup >= 0.025;  // it slept twice as long
    EXPECT_EQ(counts_the_first, expected == 0) << setup << " s, where " << expected << " s were expected";
  }
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

TEST(Session, SaysWhatCannotBeCaptured) {
  const auto matrix = testing::make_matrix<double>("gen:pde:8");
  const FaultyFormat format(Fault::none);
  Session<double> session(data_of(matrix).on({}), host_device(), tuning_rules, 1,
                          [&](std::string_view /*name*/) { return &format; });
  Prospect prospect;
  prospect.candidate = {"faulty", {}};
  EXPECT_TRUE(session.attempt(prospect).capturable);
  prospect.capturable = false;
  EXPECT_FALSE(session.attempt(prospect).capturable);
  session.finish();
  EXPECT_FALSE(session.records().back().capturable);
}

TEST(Session, TakesOneProductOfWhatIsFarSlowerThanTheBest) {
  const auto matrix = testing::make_matrix<double>("gen:pde:8");
  const FaultyFormat format(Fault::none);
  SessionRules rules;
  rules.glance_factor = 0;  // everything is, but the first, which has nothing to be slower than
  Session<double> session(data_of(matrix).on({}), host_device(), rules, 1,
                          [&](std::string_view /*name*/) { return &format; });
  Prospect first;
  first.candidate = {"first", {}};
  Prospect second;
  second.candidate = {"second", {}};
  EXPECT_GT(session.attempt(first).measurement.warm.samples, 0);
  const auto glanced = session.attempt(second).measurement;
  EXPECT_TRUE(is_timed(glanced));
  EXPECT_EQ(glanced.warm.samples, 1);
  EXPECT_GT(glanced.warm.median, 0);
  EXPECT_EQ(session.take(second.candidate), nullptr);
  EXPECT_NE(session.take(first.candidate), nullptr);
}

// Products that are captured for the first time while they are timed ask for scratch memory then.
TEST(SessionOnDevice, TimesEveryCandidate) {
  const auto gpu = testing::last_gpu();
  if (!gpu) GTEST_SKIP() << "no CUDA device";
  const auto& device = *gpu;
  const auto matrix = testing::make_matrix<double>("gen:rmat:12");
  const auto view = data_of(matrix).on(device);
  const auto features = extract_features(view, device);
  Session<double> session(view, device, tuning_rules, 1);
  int looped = 0;
  for (const auto& prospect : all_prospects<double>(features, device, blind_predictor(device))) {
    if (!prospect.admitted()) continue;
    const auto record = session.attempt(prospect);
    const auto& measurement = record.measurement;
    if (measurement.outcome == Outcome::refused) continue;
    EXPECT_EQ(measurement.outcome, Outcome::passed) << prospect.candidate.text() << ": " << measurement.detail;
    EXPECT_EQ(record.capturable, prospect.capturable) << prospect.candidate.text();
    looped += record.capturable ? 0 : 1;
  }
  session.finish();
  EXPECT_GT(looped, 0) << "no candidate was timed that no graph takes";
}

TEST(Session, MeasuresEveryKeptCandidateWarmAndCold) {
  const auto matrix = testing::make_matrix<double>("gen:grid2d:60");
  const auto view = data_of(matrix).on({});
  const auto features = extract_features(view, Place{});
  Session<double> session(view, host_device(), bench_rules, 1);
  int admitted = 0;
  for (const auto& prospect : all_prospects<double>(features, host_device(), blind_predictor(host_device()))) {
    // More of them would only take longer: the suite of the formats multiplies with all.
    if (!prospect.admitted() || admitted == 8) continue;
    EXPECT_TRUE(is_timed(session.attempt(prospect).measurement)) << prospect.candidate.text();
    ++admitted;
  }
  session.finish();
  EXPECT_GT(admitted, 5);
  for (const auto& record : session.records()) {
    // Those that were disturbed count only where there are no others.
    EXPECT_GT(record.measurement.warm.samples, 0) << record.candidate.text();
    EXPECT_GT(record.measurement.cold.samples, 0) << record.candidate.text();
    EXPECT_LE(record.measurement.cold.samples, bench_rules.cold_samples) << record.candidate.text();
    EXPECT_GT(record.measurement.loop.samples, 0) << record.candidate.text();
    EXPECT_LE(record.measurement.loop.samples, bench_rules.loop_samples) << record.candidate.text();
    EXPECT_GT(record.measurement.loop.low_quartile, 0) << record.candidate.text();
    EXPECT_LE(record.measurement.warm.low_quartile, record.measurement.warm.high_quartile);
  }
}

}  // namespace
}  // namespace autospmv
