#include "tuner/plan/tuner.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/context/prospects.hpp"
#include "tuner/objective.hpp"

namespace autospmv {
namespace {

using testing::host_options;
using testing::is_product;
using testing::make_matrix;
using testing::ramp;
using testing::TemporaryFolder;

TEST(Tune, TriesOnceAndRemembers) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "trials.db";
  std::string winner;
  {
    const Context context(host_options(file));
    const auto tuned = tune(make_matrix<double>("gen:pde:20"), context);
    EXPECT_FALSE(tuned.from_database);
    EXPECT_GT(tuned.new_trials, 1) << "of the baseline, and of what could be faster";
    ASSERT_TRUE(tuned.winner);
    ASSERT_TRUE(tuned.baseline);
    EXPECT_LE(total_seconds(tuned.winner->measurement, context.limits()),
              (1 + tie) * total_seconds(tuned.baseline->measurement, context.limits()));
    winner = tuned.winner->candidate.text();
  }
  const Context context(host_options(file));
  const auto again = tune(make_matrix<double>("gen:pde:20"), context);
  EXPECT_TRUE(again.from_database);
  EXPECT_EQ(again.new_trials, 0);
  EXPECT_FALSE(again.features) << "a known matrix needs no features";
  EXPECT_EQ(again.winner->candidate.text(), winner);
  EXPECT_EQ(again.plan->choice().candidate.text(), winner);
  // Another value type is another matter.
  EXPECT_GT(tune(make_matrix<float>("gen:pde:20"), context).new_trials, 0);
}

TEST(Tune, AWiderEffortTriesOnlyTheDifference) {
  const TemporaryFolder folder;
  auto options = host_options(folder.path() / "trials.db");
  const auto matrix = make_matrix<double>("gen:circuit:3000");
  const auto first = tune(matrix, Context(options)).new_trials;
  options.effort = Effort::exhaustive;
  const auto second = tune(matrix, Context(options));
  EXPECT_GT(second.new_trials, 0);
  const auto made = std::count_if(second.trials.begin(), second.trials.end(), [](const TrialRecord& trial) {
    return trial.measurement.outcome != Outcome::refused;
  });
  EXPECT_EQ(first + second.new_trials, made);
  options.effort = Effort::measure;
  EXPECT_EQ(tune(matrix, Context(options)).new_trials, 0);
}

TEST(Tune, OtherLimitsPickFromTheSameTrials) {
  const TemporaryFolder folder;
  auto options = host_options(folder.path() / "trials.db");
  const auto matrix = make_matrix<double>("gen:pde:30");
  EXPECT_GT(tune(matrix, Context(options)).new_trials, 0);
  options.limits.memory_factor = 0;  // nothing beside the CSR arrays
  const auto lean = tune(matrix, Context(options));
  EXPECT_EQ(lean.new_trials, 0);
  ASSERT_TRUE(lean.winner);
  EXPECT_EQ(lean.winner->measurement.bytes, 0);
}

TEST(Tune, WhatIsDeterministicIsNotAll) {
  auto options = host_options();
  const auto matrix = make_matrix<double>("gen:pde:10");
  const auto catalogue = format_catalogue();
  options.limits.deterministic = true;
  const Context strict(options);
  EXPECT_GT(tune(matrix, strict).new_trials, 0);
  EXPECT_EQ(tune(matrix, strict).new_trials, 0);
  EXPECT_FALSE(was_tuned(service_of(strict).database(), key_of(matrix, strict), Effort::measure, {}, catalogue));

  options.limits.deterministic = false;
  const TemporaryFolder folder;
  options.database = DatabaseChoice::file(folder.path() / "trials.db");
  EXPECT_GT(tune(matrix, Context(options)).new_trials, 0);
  options.limits.deterministic = true;
  EXPECT_EQ(tune(matrix, Context(options)).new_trials, 0);
}

TEST(Tune, CachedNeverTries) {
  auto options = host_options();
  options.effort = Effort::cached;
  const Context context(options);
  const auto matrix = make_matrix<double>("gen:pde:10");
  const auto tuned = tune(matrix, context);
  EXPECT_EQ(tuned.new_trials, 0);
  EXPECT_FALSE(tuned.from_database);
  EXPECT_FALSE(tuned.winner);
  EXPECT_FALSE(tuned.features) << "without trials nothing asks for them";
  EXPECT_EQ(tuned.plan->bytes(), 0) << "what nothing is known of is multiplied by plain CSR";
  const auto x = ramp(matrix.cols());
  std::vector<double> y(x.size());
  auto_spmv(matrix, x, y, {.context = &context});
  EXPECT_TRUE(is_product(matrix, 1.0, x, 0.0, y, y));
}

TEST(Tune, ADatabaseIsNotTrusted) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:pde:10");
  TrialRecord lie{{"sell_p", {{"C", 32}, {"T", 12345}, {"sigma", 1}}}, 1, true, {}};
  lie.measurement.outcome = Outcome::passed;
  lie.measurement.warm = {1e-12, 1e-12, 1e-12, 5};
  const MatrixRecord described{"", matrix.rows(), matrix.cols(), matrix.nnz(), 1, {}};
  service_of(context).database().record(key_of(matrix, context), described, std::vector{lie});
  service_of(context).database().mark_tuned(key_of(matrix, context), "measure", format_catalogue());
  const auto tuned = tune(matrix, context);
  EXPECT_NE(tuned.plan->choice().candidate, lie.candidate);
  const auto x = ramp(matrix.cols());
  std::vector<double> y(x.size());
  auto_spmv(matrix, x, y, {.context = &context});
  EXPECT_TRUE(is_product(matrix, 1.0, x, 0.0, y, y));
}

// The winner, be it the baseline: all its trials were made while something held them up.
TEST(Tune, DoubtsRecordsThatItsPlanBelies) {
  auto options = host_options();
  options.recheck_share = 1e-9;
  const Context context(options);
  const auto matrix = make_matrix<double>("gen:pde:20");
  const auto key = key_of(matrix, context);
  const auto first = tune(matrix, context);
  auto& database = service_of(context).database();
  const MatrixRecord described{"", matrix.rows(), matrix.cols(), matrix.nnz(), 1, {}};
  for (const double factor : {1000.0, 0.001}) {
    auto trials = database.trials(key);
    for (auto& trial : trials) {
      auto& warm = trial.measurement.warm;
      warm = {warm.median * factor, warm.low_quartile * factor, warm.high_quartile * factor, warm.samples};
    }
    database.record(key, described, trials);
    // On a machine that is never quiet nothing can be said.
    std::int64_t made = 0;
    for (int i = 0; i < 100 && made == 0; ++i) made = tune(matrix, context).new_trials;
    EXPECT_GT(made, 0) << factor;
  }
  EXPECT_GT(first.new_trials, 0);
}

TEST(Tune, WhatWasDisturbedIsTriedAgain) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:pde:20");
  const auto key = key_of(matrix, context);
  const auto first = tune(matrix, context);
  auto& database = service_of(context).database();
  auto disturbed = *first.winner;
  disturbed.measurement.outcome = Outcome::disturbed;
  database.record(key, {"", matrix.rows(), matrix.cols(), matrix.nnz(), 1, {}}, std::vector{disturbed});
  EXPECT_TRUE(database.passed(key).size() < database.trials(key).size()) << "nothing is learned from it";
  const auto winner = winner_of(database.trials(key), context.limits(), 1);
  ASSERT_TRUE(winner);
  EXPECT_NE(winner->candidate, disturbed.candidate) << "an estimate beats no time that is known";
  const auto known = database.trials(key);
  EXPECT_EQ(trial_of(disturbed.candidate, known), nullptr);
}

// A winner as somebody may have written it into a file.
TrialRecord forged(const Candidate& candidate) {
  TrialRecord lie{candidate, find_format<double>(candidate.format)->info().version, true, {}};
  lie.measurement.outcome = Outcome::passed;
  lie.measurement.warm = {1e-12, 1e-12, 1e-12, 5};
  return lie;
}

TEST(Tune, BytesAreThoseOfWhatWasBuilt) {
  auto options = host_options();
  options.effort = Effort::cached;
  options.limits.memory_factor = 0.5;
  const Context context(options);
  const auto matrix = make_matrix<double>("gen:pde:10");
  auto measured = host_options();
  measured.effort = Effort::exhaustive;
  std::optional<TrialRecord> lie;
  for (const auto& trial : tune(matrix, Context(measured)).trials) {
    if (trial.measurement.outcome != Outcome::passed) continue;
    if (!lie && trial.measurement.bytes > data_of(matrix).on({}).bytes()) lie = forged(trial.candidate);
  }
  ASSERT_TRUE(lie);
  const MatrixRecord described{"", matrix.rows(), matrix.cols(), matrix.nnz(), data_of(matrix).on({}).bytes(), {}};
  auto& database = service_of(context).database();
  auto plain = forged(first_baseline<double>(host_device()).candidate);
  plain.measurement.warm = {1, 1, 1, 5};
  database.record(key_of(matrix, context), described, std::vector{*lie, plain});
  ASSERT_TRUE(winner_of(database.trials(key_of(matrix, context)), options.limits, described.csr_bytes))
      << "it passes for one";
  const auto strict = tune(matrix, context);
  EXPECT_NE(strict.plan->choice().candidate, lie->candidate);
  EXPECT_EQ(strict.plan->bytes(), 0);

  options.limits = {};
  const auto free = tune(matrix, context, {.limits = options.limits});
  ASSERT_TRUE(free.winner);
  EXPECT_EQ(free.winner->candidate, lie->candidate);
  EXPECT_EQ(free.winner->measurement.bytes, free.plan->bytes()) << "not what the row says";
}

TEST(CouldWin, AsksTheFormatForDeterminism) {
  Device device;
  device.backend = Backend::cuda;
  // Its rows that span shares are added up by atomics.
  const auto lie = forged({"coo_balanced", {{"fixup", 1}}});
  EXPECT_TRUE(could_win(as_format_says<double>(lie, device), 1, {}));
  EXPECT_FALSE(could_win(as_format_says<double>(lie, device), 1, {.deterministic = true}));
  auto unknown = lie;
  unknown.candidate.format = "nosuch";
  EXPECT_FALSE(could_win(as_format_says<double>(unknown, device), 1, {.deterministic = true}));
}

TEST(CouldWin, AsksTheFormatWhatCanBeCaptured) {
  Device device;
  device.backend = Backend::cuda;
  const auto lie = forged({"suraa", {{"max_child_threads", 2048}}});
  EXPECT_FALSE(could_win(as_format_says<double>(lie, device), 1, {}));
  EXPECT_TRUE(could_win(as_format_says<double>(lie, device), 1, {.capture = false}));
  EXPECT_TRUE(could_win(as_format_says<double>(forged({"suraa", {{"max_child_threads", 0}}}), device), 1, {}));
  EXPECT_TRUE(could_win(as_format_says<double>(forged({"suraa", {{"T", 4}}}), host_device()), 1, {}));
}

TEST(EffortMark, TellsWhatAShortListLeftOut) {
  EXPECT_EQ(effort_mark(Effort::measure, {}), "measure");
  EXPECT_EQ(effort_mark(Effort::measure, {.capture = false}), "measure uncaptured");
  EXPECT_EQ(effort_mark(Effort::measure, {.deterministic = true, .capture = false}),
            "measure uncaptured deterministic");
  EXPECT_EQ(effort_mark(Effort::exhaustive, {.capture = false}), "exhaustive") << "it tries all of them either way";
}

TEST(Tune, EstimatesWithoutATrial) {
  const TemporaryFolder folder;
  auto options = host_options(folder.path() / "trials.db");
  for (const auto* source : {"gen:pde:12", "gen:grid2d:60", "gen:circuit:2000", "gen:rmat:9"}) {
    options.effort = Effort::measure;
    EXPECT_GT(tune(make_matrix<double>(source), Context(options)).new_trials, 0);
  }
  options.effort = Effort::estimate;
  const Context context(options);
  const auto matrix = make_matrix<double>("gen:pde:14");
  const auto tuned = tune(matrix, context);
  EXPECT_EQ(tuned.new_trials, 0);
  ASSERT_TRUE(tuned.prediction);
  EXPECT_GT(tuned.prediction->seconds, 0);
  const auto near = service_of(context).history<double>()->near(*tuned.features, data_of(matrix).fingerprint());
  ASSERT_EQ(near.neighbours().size(), 4U);
  const auto x = ramp(matrix.cols());
  std::vector<double> y(x.size());
  auto_spmv(matrix, x, y, {.context = &context});
  EXPECT_TRUE(is_product(matrix, 1.0, x, 0.0, y, y));
  // What was tried is no estimate.
  const auto known = make_matrix<double>("gen:pde:12");
  const auto hit = tune(known, context);
  EXPECT_TRUE(hit.from_database);
  EXPECT_FALSE(hit.prediction);
}

TEST(Tune, APlanFromTheDatabaseIsTimedAgainNowAndThen) {
  const TemporaryFolder folder;
  auto options = host_options(folder.path() / "trials.db");
  const auto matrix = make_matrix<double>("gen:pde:20");
  // A candidate that claims to be faster than anything can be.
  const Context first(options);
  EXPECT_GT(tune(matrix, first).new_trials, 0);
  const auto trials = service_of(first).database().trials(key_of(matrix, first));
  const auto rival = std::find_if(trials.begin(), trials.end(), [](const TrialRecord& trial) {
    return trial.measurement.outcome == Outcome::passed &&
           !find_format<double>(trial.candidate.format)->info().baseline;
  });
  ASSERT_NE(rival, trials.end());
  auto lie = *rival;
  lie.measurement.warm = {1e-12, 1e-12, 1e-12, 5};
  lie.measurement.setup_seconds = 0;
  service_of(first).database().record(key_of(matrix, first), {"", matrix.rows(), matrix.cols(), matrix.nnz(), 1, {}},
                                      std::vector{lie});
  options.recheck_share = 0;
  EXPECT_EQ(tune(matrix, Context(options)).plan->choice().candidate, lie.candidate);
  options.recheck_share = 1;
  auto rechecked = tune(matrix, Context(options));
  // On a busy machine a plan that takes twice its record is doubted, and all is tried again.
  constexpr int most_runs = 20;
  for (int i = 1; i < most_runs && !rechecked.from_database; ++i) rechecked = tune(matrix, Context(options));
  EXPECT_EQ(rechecked.rechecked, 2);
  EXPECT_TRUE(rechecked.from_database);
  EXPECT_NE(rechecked.plan->choice().measurement.warm.median, 1e-12) << "its time is a true one now";
  options.recheck_share = 0.25;
  const Context context(options);
  int runs = 0;
  int known = 0;
  int rechecks = 0;
  for (; runs < most_runs && known < 8; ++runs) {
    const auto tuned = tune(make_matrix<double>("gen:pde:20"), context);
    known += tuned.from_database ? 1 : 0;
    rechecks += tuned.rechecked > 0 ? 1 : 0;
  }
  EXPECT_EQ(known, 8);
  EXPECT_GE(rechecks, known / 4);
  EXPECT_LE(rechecks, runs / 4);
}

TEST(Tune, RechecksAreDueAsOftenAsTheOptionSays) {
  const auto due = [](double share) {
    auto options = host_options({});
    options.recheck_share = share;
    const Context context(options);
    std::string moments;
    for (int i = 0; i < 8; ++i) moments += service_of(context).recheck_due() ? '!' : '.';
    return moments;
  };
  EXPECT_EQ(due(0), "........");
  EXPECT_EQ(due(0.25), "...!...!");
  EXPECT_EQ(due(0.5), ".!.!.!.!");
  EXPECT_EQ(due(1), "!!!!!!!!");
}

TEST(Tune, ATimeLimitEndsTheTrialsAndALaterCallGoesOn) {
  const TemporaryFolder folder;
  auto options = host_options(folder.path() / "trials.db");
  options.limits.time_limit_seconds = 0;
  const auto matrix = make_matrix<double>("gen:pde:10");
  EXPECT_EQ(tune(matrix, Context(options)).new_trials, 0);
  options.limits.time_limit_seconds = 1000;
  EXPECT_GT(tune(matrix, Context(options)).new_trials, 0);
}

TEST(Bench, MeasuresOrExplainsEveryCandidate) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:circuit:20000");
  // All formats would take minutes; these measure, refuse by prediction, and refuse when they are built.
  const std::vector<FormatChoice> formats{{"csr_scalar"}, {"csr_vector"}, {"dia"}, {"ell"}, {"hyb"}};
  const auto records = bench(matrix, context, formats);
  int refused = 0;
  for (const auto& record : records) {
    if (record.measurement.outcome == Outcome::refused) {
      ++refused;
      EXPECT_FALSE(record.measurement.detail.empty());
    } else {
      EXPECT_TRUE(is_timed(record.measurement)) << record.candidate.text();
      EXPECT_GT(record.measurement.cold.median, 0);
    }
  }
  EXPECT_GT(refused, 0) << "a dense row cannot be padded to";
  for (const auto& record : bench(matrix, context, {{"csr_vector"}})) EXPECT_EQ(record.candidate.format, "csr_vector");
}

// Trials are filed by the bits that values take; that they are symmetric is not among what they are filed under.
TEST(Tune, AWinnerThatOtherValuesDoNotFitMakesRoomForTheNext) {
  const Context context(host_options());
  const auto source = generate<double>("gen:fem:5:1");
  auto values = source.values;
  for (std::size_t k = 0; k < values.size(); ++k) values[k] = 1 + 1e-3 * static_cast<double>(k % 977);
  auto matrix = Matrix<double>::from_csr(source.rows, source.cols, source.row_ptr, source.col_idx, values);
  const auto key = key_of(matrix, context);
  (void)tune(matrix, context);
  auto& database = service_of(context).database();
  auto known = database.trials(key);
  sort_by_total(known, {});
  auto impossible = known.front();
  const auto next = impossible.candidate;
  impossible.candidate = {"dia", *Params::parse("symmetric=1")};
  impossible.format_version = find_format<double>("dia")->info().version;
  impossible.measurement.warm = {1e-12, 1e-12, 1e-12, 5};
  database.record(key, {"", matrix.rows(), matrix.cols(), matrix.nnz(), 1, {}}, std::vector{impossible});
  EXPECT_EQ(winner_of(database.trials(key), {}, 1)->candidate, impossible.candidate);
  EXPECT_EQ(make_plan(matrix, context, {.effort = Effort::cached}).choice(), next.text());
}

// Of trials that never were, in a database that anybody may have written.
class Claims : public ::testing::Test {
 protected:
  // Faster than plain CSR, which was tried too.
  void claim(const Candidate& candidate) {
    record(first_baseline<double>(service_of(context).device()).candidate, 1e-9);
    record(candidate, 1e-12);
  }
  void record(const Candidate& candidate, double seconds) {
    TrialRecord trial;
    trial.candidate = candidate;
    trial.format_version = find_format<double>(candidate.format)->info().version;
    trial.deterministic = true;
    trial.measurement.outcome = Outcome::passed;
    trial.measurement.warm = {seconds, seconds, seconds, 5};
    service_of(context).database().record(
        key_of(matrix, context), {"", matrix.rows(), matrix.cols(), matrix.nnz(), 1000, {}}, std::vector{trial});
  }
  // An admitted candidate of this device.
  template <class Wanted>
  [[nodiscard]] std::optional<Candidate> find(const Wanted& wanted) const {
    const auto& device = service_of(context).device();
    const auto prospects =
        all_prospects<double>(extract_features(data_of(matrix).on(device), device), device, blind_predictor(device));
    for (const auto& prospect : prospects) {
      if (prospect.admitted() && wanted(prospect)) return prospect.candidate;
    }
    return std::nullopt;
  }
  [[nodiscard]] std::string choice(const Limits& limits) const {
    return make_plan(matrix, context, {.effort = Effort::cached, .limits = limits}).choice();
  }

  Context context{[] {
    auto options = host_options();
    options.device = default_device();
    return options;
  }()};
  Matrix<double> matrix = make_matrix<double>("gen:circuit:2000");
};

TEST_F(Claims, OfBytesAreNotBelieved) {
  const auto jagged = find([](const Prospect& prospect) { return prospect.candidate.format == "jad"; });
  ASSERT_TRUE(jagged);
  claim(*jagged);
  EXPECT_EQ(choice({}), jagged->text());
  EXPECT_NE(choice({.memory_factor = 0.5}), jagged->text()) << "it claims to take no bytes at all";
}

TEST_F(Claims, OfDeterminismAreNotBelieved) {
  const auto loose = find([](const Prospect& prospect) { return !prospect.deterministic && prospect.capturable; });
  if (!loose) GTEST_SKIP() << "all candidates are deterministic here";
  claim(*loose);
  EXPECT_EQ(choice({}), loose->text());
  EXPECT_NE(choice({.deterministic = true}), loose->text());
}

}  // namespace
}  // namespace autospmv
