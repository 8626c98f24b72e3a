// Ours against the rivals: what trials that are made up come to, and what the program says without any rival.
#include "tools/commands/rivals.hpp"

#include <cmath>

#include "tests/tools/program.hpp"
#include "tools/output/table.hpp"

namespace autospmv::test {

namespace {

using tools::best_rival;
using tools::best_times_ours;
using tools::Cache;
using tools::Contestant;
using tools::MatrixSummary;
using tools::rival_record;
using tools::RivalRecord;
using tools::times_ours;

const std::vector<std::string> vendors = {"theirs_a", "theirs_b"};

TrialRecord timed_trial(const std::string& format, const Params& params, double warm, double cold) {
  TrialRecord trial{.candidate = {format, params}, .format_version = 1, .deterministic = true, .measurement = {}};
  trial.measurement.outcome = Outcome::passed;
  trial.measurement.warm = {warm, warm, warm, 5};
  trial.measurement.cold = {cold, cold, cold, 5};
  return trial;
}

TrialRecord refused(const std::string& format, const std::string& reason) {
  TrialRecord trial{.candidate = {format, {}}, .format_version = 1, .deterministic = true, .measurement = {}};
  trial.measurement.outcome = Outcome::refused;
  trial.measurement.detail = reason;
  return trial;
}

RivalRecord record_of(const std::string& label, const std::vector<TrialRecord>& trials) {
  return rival_record(MatrixSummary{label, 100, 100, 1000, "double", 8}, trials, vendors);
}

// The names of rivals, in order.
std::vector<std::string> names_of(const RivalRecord& record) {
  std::vector<std::string> names;
  for (const auto& rival : record.rivals) names.push_back(rival.name);
  return names;
}

const std::vector<TrialRecord> some_trials = {timed_trial("ours_a", {{"T", 1}}, 3e-6, 4e-6),
                                              timed_trial("ours_a", {{"T", 2}}, 2e-6, 5e-6),
                                              timed_trial("theirs_a", {{"algorithm", 1}}, 6e-6, 12e-6),
                                              timed_trial("theirs_a", {{"algorithm", 2}}, 8e-6, 6e-6),
                                              timed_trial("theirs_b", {{"C", 32}}, 7e-6, 9e-6),
                                              timed_trial("theirs_b", {{"C", 16}}, 9e-6, 8e-6)};

TEST(Rivals, EveryAlgorithmIsARivalAndTheOtherParametersAreItsOwnChoice) {
  const auto record = record_of("m", some_trials);
  EXPECT_EQ(names_of(record), (std::vector<std::string>{"theirs_a 1", "theirs_a 2", "theirs_b"}));
  const auto& sliced = record.rivals[2];
  EXPECT_EQ(sliced.warm->candidate.text(), "theirs_b C=32");
  EXPECT_EQ(sliced.cold->candidate.text(), "theirs_b C=16");
}

TEST(Rivals, WarmAndColdHaveTheirOwnBest) {
  const auto record = record_of("m", some_trials);
  EXPECT_EQ(record.ours.warm->candidate.text(), "ours_a T=2");
  EXPECT_EQ(record.ours.cold->candidate.text(), "ours_a T=1");
  EXPECT_EQ(best_rival(record, Cache::warm)->name, "theirs_a 1");
  EXPECT_EQ(best_rival(record, Cache::cold)->name, "theirs_a 2");
  EXPECT_DOUBLE_EQ(best_times_ours(record, Cache::warm), 3);
  EXPECT_DOUBLE_EQ(best_times_ours(record, Cache::cold), 1.5);
  EXPECT_DOUBLE_EQ(times_ours(record, record.rivals[2], Cache::warm), 3.5);
}

TEST(Rivals, WhatGaveNoTimeSaysWhyAndIsNobodysBest) {
  auto wrong = timed_trial("theirs_a", {{"algorithm", 1}}, 1e-9, 1e-9);
  wrong.measurement.outcome = Outcome::wrong_answer;
  wrong.measurement.detail = "1 rows";
  const auto record = record_of(
      "m", {wrong, refused("theirs_b", "padding"), timed_trial("ours_a", {}, 1e-6, 1e-6), refused("ours_b", "")});
  ASSERT_EQ(names_of(record), (std::vector<std::string>{"theirs_a 1", "theirs_b"}));
  EXPECT_EQ(record.rivals[0].detail, "1 rows");
  EXPECT_EQ(record.rivals[1].detail, "padding");
  for (const auto cache : {Cache::warm, Cache::cold}) {
    EXPECT_EQ(best_rival(record, cache), nullptr);
    EXPECT_TRUE(std::isnan(best_times_ours(record, cache)));
    EXPECT_TRUE(std::isnan(record.rivals[1].seconds(cache)));
  }
  EXPECT_EQ(record.ours.detail, "");
}

TEST(Rivals, AReasonGoesOnceThereIsATime) {
  const auto record = record_of("m", {refused("theirs_b", "padding"), timed_trial("theirs_b", {}, 1e-6, 1e-6)});
  ASSERT_EQ(record.rivals.size(), 1U);
  EXPECT_EQ(record.rivals[0].detail, "");
  EXPECT_TRUE(std::isnan(best_times_ours(record, Cache::warm))) << "nothing of ours to compare with";
}

TEST(Rivals, TheSummaryIsTheGeometricMeanAndTheWorstOfThoseThereAre) {
  const auto with = [](const std::string& label, double ours, double theirs) {
    return record_of(label, {timed_trial("ours_a", {}, ours, 1), timed_trial("theirs_b", {}, theirs, 1)});
  };
  const std::vector records = {with("slow", 2e-6, 1e-6), with("fast", 1e-6, 8e-6), with("even", 1e-6, 1e-6),
                               record_of("alone", {timed_trial("ours_a", {}, 1e-6, 1e-6)})};
  const auto summary =
      tools::summarize(records, [](const RivalRecord& record) { return best_times_ours(record, Cache::warm); });
  EXPECT_EQ(summary.matrices, 3);
  EXPECT_NEAR(summary.geometric_mean, std::cbrt(0.5 * 8 * 1), 1e-12);
  EXPECT_DOUBLE_EQ(summary.worst, 0.5);
  EXPECT_EQ(summary.worst_matrix, "slow");

  const auto json = tools::rival_summary_json(records)["summary"];
  EXPECT_DOUBLE_EQ(json["warm"]["best"]["worst"], 0.5);
  EXPECT_EQ(json["warm"]["rivals"]["theirs_b"]["worst_matrix"], "slow");
  EXPECT_DOUBLE_EQ(json["cold"]["best"]["geometric_mean"], 1);
}

TEST(Rivals, WithoutAnyNumberTheSummarySaysSo) {
  const std::vector records = {record_of("m", {refused("theirs_b", "padding")})};
  const auto summary =
      tools::summarize(records, [](const RivalRecord& record) { return best_times_ours(record, Cache::cold); });
  EXPECT_EQ(summary.matrices, 0);
  EXPECT_TRUE(std::isnan(summary.geometric_mean));
  EXPECT_TRUE(std::isnan(summary.worst));
}

TEST(Rivals, JsonHasTheTimesOfAll) {
  const auto json = tools::rivals_json(record_of("m", some_trials));
  EXPECT_DOUBLE_EQ(json["ours"]["warm"]["median_us"], 2);
  EXPECT_EQ(json["ours"]["cold"]["params"]["T"], 1);
  EXPECT_DOUBLE_EQ(json["rivals"][1]["cold"]["times_ours"], 1.5);
  EXPECT_EQ(json["best"]["warm"]["name"], "theirs_a 1");
  EXPECT_DOUBLE_EQ(json["best"]["cold"]["times_ours"], 1.5);
}

// ---- As text

// What `print` puts out.
template <class Print>
std::string printed(const Print& print) {
  testing::internal::CaptureStdout();
  print();
  return testing::internal::GetCapturedStdout();
}

TEST(Rivals, TheTablesAreMarkdownWhereAskedFor) {
  const std::vector records = {record_of("first", some_trials), record_of("second", some_trials)};
  const auto text = printed([&] { tools::print_rival_tables(records, true); });
  for (const auto* expected :
       {"| matrix | nonzeros | ours | us | theirs_a 1 | theirs_a 2 | theirs_b | best rival | us | x ours |\n"
        "|---|--:|---|--:|--:|--:|--:|---|--:|--:|\n"
        "| first | 1000 | ours_a T=2 | 2.00 | 3.00 | 4.00 | 3.50 | theirs_a algorithm=1 | 6.00 | 3.00 |\n",
        "| geometric mean |  |  |  | 3.00 | 4.00 | 3.50 |  |  | 3.00 |\n", "cold: the best rival takes 1.50 times"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << " is not in\n" << text;
  }
}

TEST(Rivals, AMatrixIsShownAtOnce) {
  auto trials = some_trials;
  trials.push_back(refused("theirs_c", "not one of the rivals"));
  const auto text = printed([&] { tools::print_rivals(record_of("first", trials)); });
  EXPECT_EQ(text.rfind("first: 100 x 100", 0), 0U) << text;
  EXPECT_NE(text.find("theirs_a 2"), std::string::npos) << text;
  EXPECT_EQ(text.find("theirs_c"), std::string::npos) << "ours are one line:\n" << text;
}

// ---- What the program says

class RivalsRun : public ProgramTest {};

TEST_F(RivalsRun, TheHostHasNoneAndSaysSoBeforeItMeasures) {
  const auto finished = run({"bench", "--rivals", "--backend", "host", "--db", path("trials.db"), "gen:pde:5"});
  expect_one_error(finished, 1, "--rivals: the host backend has none");
  EXPECT_EQ(finished.out, "");
}

TEST_F(RivalsRun, OptionsThatDoNotGoTogetherAreRefused) {
  expect_one_error(run({"bench", "--rivals", "--study", "ellr_t", "gen:pde:5"}), 2, "--study");
  expect_one_error(run({"bench", "--markdown", "gen:pde:5"}), 2, "--rivals");
}

}  // namespace

}  // namespace autospmv::test
