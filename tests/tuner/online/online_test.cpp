// Tuning on the caller's own products: every y is right, whatever happens meanwhile, and it comes to an end.

#include "tuner/online/online.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "tests/tuner/measure/faulty_format.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/objective.hpp"
#include "tuner/plan/tuner.hpp"
#include "tuner/search/candidates.hpp"

namespace autospmv {
namespace {

using testing::TemporaryFolder;

constexpr const char* spec = "gen:circuit:1500";

// Made after the context, which outlives its plans.
Matrix<double> make_matrix() { return testing::make_matrix<double>(spec); }

/// x, and what y must be.
class Products {
 public:
  explicit Products(const Matrix<double>& matrix) : matrix_(matrix), x_(static_cast<std::size_t>(matrix.cols())) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = 1.0 / static_cast<double>(i + 1);
    values_changed();
  }

  void values_changed() {
    reference_ = reference_product<double>(data_of(matrix_).on({}), 1.0, x_.data(), 0.0, nullptr, Place{});
  }

  [[nodiscard]] bool one_is_right(const Context& context) const {
    std::vector<double> y(static_cast<std::size_t>(matrix_.rows()), -1.0);
    auto_spmv(matrix_, x_, y, {.context = &context});
    return compare(reference_, y.data(), Place{}).passed();
  }

  /// How many products were wrong until the tuning was settled, with at least so many.
  [[nodiscard]] int wrong_until_settled(const Context& context, int least = 0) const {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    const auto plan = plan_for(matrix_, context);
    int wrong = 0;
    for (int i = 0; i < least || !plan->settled(); ++i) {
      wrong += one_is_right(context) ? 0 : 1;
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "not settled after " << i << " products";
        break;
      }
    }
    return wrong;
  }

 private:
  Matrix<double> matrix_;
  std::vector<double> x_;
  Reference reference_;
};

class Online : public ::testing::TestWithParam<Backend> {
 protected:
  void SetUp() override {
    if (GetParam() == Backend::host) return;
    if (!built_with_cuda) GTEST_SKIP() << "built without CUDA";
    if (!testing::last_gpu()) GTEST_SKIP() << "no CUDA device";
  }

  [[nodiscard]] static ContextOptions options(const std::filesystem::path& database = {}) {
    auto options = testing::host_options(database);
    if (GetParam() == Backend::cuda) options.device = testing::last_gpu();
    options.effort = Effort::online;
    options.limits.expected_calls = 1'000'000'000;  // so many that trials pay, whatever is predicted
    return options;
  }
};

INSTANTIATE_TEST_SUITE_P(Backends, Online, ::testing::Values(Backend::host, Backend::cuda),
                         [](const auto& backend) { return std::string(name_of(backend.param)); });

// Plain CSR by shares of skewed rows stores where these begin, beside the arrays of CSR.
bool is_plain(std::int64_t bytes, const Matrix<double>& matrix) { return 10 * bytes < data_of(matrix).on({}).bytes(); }

TEST_P(Online, IsRightInEveryCallAndEndsWithTheBest) {
  const Context context(options());
  const auto matrix = make_matrix();
  EXPECT_EQ(Products(matrix).wrong_until_settled(context, 1000), 0);
  const auto choice = plan_for(matrix, context)->choice();
  // On a device it was converted beside the caller's products.
  if (GetParam() == Backend::host) {
    EXPECT_GT(plan_for(matrix, context)->tuning_seconds(), choice.measurement.setup_seconds);
  }
  EXPECT_EQ(choice.measurement.outcome, Outcome::passed);
  EXPECT_EQ(choice.measurement.warm.samples, GetParam() == Backend::host ? 4 : 7);
  const auto trials = service_of(context).database().trials(key_of(matrix, context));
  EXPECT_GT(trials.size(), 3U);
  int unconverted = 0;
  for (const auto& trial : trials) {
    if (trial.measurement.outcome != Outcome::passed) continue;
    EXPECT_GE((1 + tie) * total_seconds(trial.measurement, context.limits()),
              total_seconds(choice.measurement, context.limits()))
        << trial.candidate.text();
    unconverted += is_plain(trial.measurement.bytes, matrix) ? 1 : 0;
  }
  EXPECT_GT(unconverted, 0) << "it starts with one";
}

TEST_P(Online, StartsWithPlainCsr) {
  const Context context(options());
  const auto matrix = make_matrix();
  const auto tuned = tune(matrix, context);
  EXPECT_FALSE(tuned.features) << "they take as long as many products";
  EXPECT_FALSE(tuned.winner);
  EXPECT_TRUE(is_plain(tuned.plan->bytes(), matrix)) << tuned.plan->bytes();
  EXPECT_FALSE(tuned.plan->settled());
}

ContextOptions with_measure(ContextOptions options) {
  options.effort = Effort::measure;
  return options;
}

// What is likely to be tried of the matrix of these tests.
std::vector<Candidate> likely_candidates(const Device& device) {
  const auto matrix = make_matrix();
  const auto features = extract_features(data_of(matrix).on({}), Place{});
  std::vector<Candidate> likely;
  for (auto& prospect : all_prospects<double>(features, device, blind_predictor(device), {}, Choices::likely)) {
    if (prospect.admitted()) likely.push_back(std::move(prospect.candidate));
  }
  return likely;
}

// Tunes another matrix and pretends that all took equally long, but for one conversion that paid better than anything
// could and is likely here too; returns that candidate.
Candidate suggest(const ContextOptions& online) {
  const Context context(with_measure(online));
  tune(testing::make_matrix<double>("gen:circuit:2000"), context);
  const auto backend = std::string(name_of(service_of(context).device().backend));
  const auto other = service_of(context).database().recorded(backend, "double").front();
  auto trials = service_of(context).database().trials(other.key);
  for (auto& trial : trials) {
    trial.measurement.setup_seconds = trial.measurement.bytes > 0 ? 1e-3 : 0;
    trial.measurement.warm = {1e-5, 1e-5, 1e-5, 5};
  }
  const auto likely = likely_candidates(service_of(context).device());
  const auto suggested = std::find_if(trials.begin(), trials.end(), [&](const TrialRecord& one) {
    return one.measurement.outcome == Outcome::passed && one.measurement.bytes > 0 &&
           std::find(likely.begin(), likely.end(), one.candidate) != likely.end();
  });
  suggested->measurement.warm = {1e-9, 1e-9, 1e-9, 5};
  service_of(context).database().record(other.key, other.matrix, trials);
  return suggested->candidate;
}

TEST_P(Online, TriesWhatOtherMatricesSuggest) {
  const TemporaryFolder folder;
  const auto with_file = options(folder.path() / "trials.db");
  const auto suggested = suggest(with_file);
  const Context context(with_file);
  const auto matrix = make_matrix();
  const auto tuned = tune(matrix, context);
  EXPECT_FALSE(tuned.features) << "the first product does not wait for it";
  EXPECT_TRUE(is_plain(tuned.plan->bytes(), matrix)) << tuned.plan->bytes();
  EXPECT_EQ(Products(matrix).wrong_until_settled(context), 0);
  const auto trials = service_of(context).database().trials(key_of(matrix, context));
  EXPECT_TRUE(std::any_of(trials.begin(), trials.end(), [&](const TrialRecord& trial) {
    return trial.candidate == suggested;
  })) << suggested.text();
  EXPECT_NE(service_of(context).known_history<double>(), nullptr);
}

// Once enough was tuned, the database is read again.
TEST_P(Online, KnowsOtherMatrices) {
  const TemporaryFolder folder;
  const auto with_file = options(folder.path() / "trials.db");
  const auto measure = [&](const std::string& other_matrix) {
    const Context of_measures(with_measure(with_file));
    tune(testing::make_matrix<double>(other_matrix), of_measures);
  };
  measure("gen:circuit:2000");
  const Context context(with_file);
  const auto known = service_of(context).history<double>();
  measure("gen:circuit:2500");
  for (int i = 0; i < 8; ++i) service_of(context).note_tuned();
  const auto matrix = make_matrix();
  const auto plan = tune(matrix, context).plan;
  EXPECT_EQ(service_of(context).known_history<double>(), known);
  EXPECT_FALSE(plan->settled());
  EXPECT_EQ(Products(matrix).wrong_until_settled(context), 0);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (service_of(context).known_history<double>() == known && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GT(service_of(context).known_history<double>()->matrices(), known->matrices());
}

// A trial of anything costs more than no products can gain.
TEST_P(Online, TriesNothingWhereNoCallsFollow) {
  const TemporaryFolder folder;
  auto with_file = options(folder.path() / "trials.db");
  suggest(with_file);
  with_file.limits.expected_calls = 0;
  const Context context(with_file);
  EXPECT_EQ(service_of(context).history<double>()->matrices(), 1U);
  const auto matrix = make_matrix();
  EXPECT_EQ(Products(matrix).wrong_until_settled(context), 0);
  const auto trials = service_of(context).database().trials(key_of(matrix, context));
  EXPECT_LE(trials.size(), 1U) << "the plan that there is";
}

TEST_P(Online, IsRemembered) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "trials.db";
  {
    const Context context(options(file));
    const auto matrix = make_matrix();
    EXPECT_EQ(Products(matrix).wrong_until_settled(context), 0);
    EXPECT_TRUE(
        was_tuned(service_of(context).database(), key_of(matrix, context), Effort::online, {}, format_catalogue()));
  }
  const Context context(options(file));
  const auto matrix = make_matrix();
  const auto key = key_of(matrix, context);
  const auto known = service_of(context).database().trials(key, format_catalogue());
  const auto winner = winner_of(known, context.limits(), data_of(matrix).on({}).bytes());
  ASSERT_TRUE(winner);
  EXPECT_EQ(Products(matrix).wrong_until_settled(context), 0);
  const auto plan = plan_for(matrix, context);
  EXPECT_TRUE(plan->choice().candidate == winner->candidate || is_plain(plan->bytes(), matrix))
      << plan->choice().candidate.text();
}

TEST_P(Online, NothingRidesWhereAllWasMeasured) {
  const TemporaryFolder folder;
  const auto with_file = options(folder.path() / "trials.db");
  tune(make_matrix(), Context(with_measure(with_file)));
  const Context context(with_file);
  const auto matrix = make_matrix();
  const auto key = key_of(matrix, context);
  const auto before = service_of(context).database().trials(key).size();
  EXPECT_EQ(Products(matrix).wrong_until_settled(context), 0);
  EXPECT_EQ(service_of(context).database().trials(key).size(), before);
}

TEST_P(Online, ServesManyThreads) {
  const Context context(options());
  const auto matrix = make_matrix();
  const Products products(matrix);
  std::vector<int> right(4, 0);
  std::vector<std::thread> threads;
  threads.reserve(right.size());
  for (auto& count : right) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) count += products.one_is_right(context) ? 1 : 0;
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(right, std::vector<int>(4, 500));
  EXPECT_EQ(products.wrong_until_settled(context), 0);
}

// At whatever point of a trial: without a product, among the timed calls, and later.
TEST_P(Online, MayBeLetGoOfAtAnyTime) {
  for (const int count : {0, 1, 4, 10, 50, 200}) {
    const Context context(options());
    const auto matrix = make_matrix();
    const Products products(matrix);
    tune(matrix, context);
    for (int i = 0; i < count; ++i) EXPECT_TRUE(products.one_is_right(context));
    detail::Access::state_of(matrix)->plans->drop(&service_of(context));
    EXPECT_TRUE(service_of(context).database().suspects(key_of(matrix, context)).empty());
  }
}

TEST_P(Online, GoesOnWhereItWasLetGoOf) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "trials.db";
  std::size_t before = 0;
  {
    const Context context(options(file));
    {
      const auto matrix = make_matrix();
      const Products products(matrix);
      const auto plan = tune(matrix, context).plan;
      // From then on there is something to record.
      while (plan->choice().measurement.outcome != Outcome::passed) ASSERT_TRUE(products.one_is_right(context));
    }
    before = service_of(context).database().trials(key_of(make_matrix(), context)).size();
    EXPECT_GT(before, 0U);
  }
  const Context context(options(file));
  const auto matrix = make_matrix();
  EXPECT_EQ(Products(matrix).wrong_until_settled(context), 0);
  EXPECT_GE(service_of(context).database().trials(key_of(matrix, context)).size(), before);
}

TEST_P(Online, TakesNewValuesAtAnyTime) {
  const Context context(options());
  auto matrix = make_matrix();
  const auto source = generate<double>(spec);
  auto values = source.values;
  Products products(matrix);
  int updates = 0;
  for (int i = 0; i < 5000 && (i < 400 || !plan_for(matrix, context)->settled()); ++i) {
    if (i % 13 == 5) {
      for (auto& value : values) value = 3 - 0.5 * value;
      matrix.update_values(values);
      products.values_changed();
      ++updates;
    }
    ASSERT_TRUE(products.one_is_right(context)) << "product " << i << ", after " << updates << " updates";
  }
  EXPECT_EQ(products.wrong_until_settled(context), 0);
  for (auto& value : values) value += 1;
  matrix.update_values(values);
  products.values_changed();
  EXPECT_TRUE(products.one_is_right(context));
}

TEST_P(Online, KeepsToTheLimits) {
  auto limited = options();
  limited.limits.memory_factor = 0;  // nothing beside the CSR arrays
  limited.limits.deterministic = true;
  const Context context(limited);
  const auto matrix = make_matrix();
  const Products products(matrix);
  const auto plan = plan_for(matrix, context);
  while (!plan->settled()) {
    ASSERT_TRUE(products.one_is_right(context));
    ASSERT_EQ(plan->bytes(), 0);
    ASSERT_TRUE(plan->choice().deterministic);
  }
  for (const auto& trial : service_of(context).database().trials(key_of(matrix, context))) {
    if (trial.measurement.outcome == Outcome::passed) {
      EXPECT_EQ(trial.measurement.bytes, 0) << trial.candidate.text();
      EXPECT_TRUE(trial.deterministic) << trial.candidate.text();
    }
  }
  EXPECT_FALSE(was_tuned(service_of(context).database(), key_of(matrix, context), Effort::online,
                         {.deterministic = true}, format_catalogue()))
      << "other limits leave more to try";
}

TEST_P(Online, ATimeLimitEndsIt) {
  auto limited = options();
  limited.limits.time_limit_seconds = 0;
  const Context context(limited);
  const auto matrix = make_matrix();
  EXPECT_EQ(Products(matrix).wrong_until_settled(context), 0);
  EXPECT_LE(service_of(context).database().trials(key_of(matrix, context)).size(), 1U) << "the plan that there is";
}

using Formats = std::map<std::string, testing::FaultyFormat, std::less<>>;

// Beside a first operator whose products take a millisecond each, far longer than any of the formats'.
class OnlineCandidate : public ::testing::Test {
 protected:
  explicit OnlineCandidate(std::int64_t expected_calls = 1'000'000'000) : context_(options(expected_calls)) {}

  // Ends with the choice.
  std::string tune(const std::vector<std::string>& names, const Formats& formats) {
    const auto view = data_of(matrix_).on({});
    std::vector<Prospect> prospects(names.size());
    for (std::size_t i = 0; i < names.size(); ++i) {
      prospects[i].candidate = {names[i], {}};
      prospects[i].prediction.seconds = 1e-6;
    }
    OnlineTask<double> task{.matrix = detail::Access::state_of(matrix_)->data,
                            .limits = context_.limits(),
                            .key = key_of(matrix_, context_),
                            .described = {"", matrix_.rows(), matrix_.cols(), matrix_.nnz(), view.bytes(), {}},
                            .prospects = prospects,
                            .setup_seconds = 0,
                            .formats = [&](std::string_view name) -> const Format<double>* {
                              const auto at = formats.find(name);
                              return at == formats.end() ? nullptr : &at->second;
                            },
                            .catalogue = {}};
    auto first = std::make_unique<LiveOperator<double>>(
        std::make_unique<testing::FaultyOperator>(view, testing::Fault::slow), Place{}, nullptr);
    const auto tuning = std::make_shared<autospmv::Online<double>>(
        shared_service_of(context_), std::move(task), TrialRecord{{"first", {}}, 1, true, {}}, std::move(first));
    tuning->begin();
    const std::vector<double> x(static_cast<std::size_t>(matrix_.cols()), 1.5);
    bool right = true;
    while (!tuning->settled()) {
      std::vector<double> y(x.size(), -1.0);
      tuning->apply(1.0, x.data(), 0.0, y.data(), {});
      right = right && testing::is_product(matrix_, 1.0, x, 0.0, y, y);
    }
    EXPECT_TRUE(right);
    return tuning->choice().candidate.format;
  }

  [[nodiscard]] Measurement trial_of(std::string_view name) const {
    for (const auto& trial : service_of(context_).database().trials(key_of(matrix_, context_))) {
      if (trial.candidate.format == name) return trial.measurement;
    }
    ADD_FAILURE() << name << " was not tried";
    return {};
  }

 private:
  static ContextOptions options(std::int64_t expected_calls) {
    auto options = testing::host_options();
    options.effort = Effort::online;
    options.limits.expected_calls = expected_calls;
    return options;
  }

  Matrix<double> matrix_ = testing::make_matrix<double>("gen:pde:8");
  Context context_;
};

TEST_F(OnlineCandidate, DoesNotServeWhereItIsWrong) {
  Formats formats;
  formats.try_emplace("right", testing::Fault::none);
  formats.try_emplace("wrong", testing::Fault::unwritten_row);
  formats.try_emplace("broken", testing::Fault::throws_when_used);
  // The right one at last: beside the others are products that take long, so that none is dropped for being slower.
  EXPECT_EQ(tune({"wrong", "missing", "broken", "right"}, formats), "right");
  std::vector<Outcome> outcomes;
  for (const auto& name : {"first", "right", "wrong", "missing", "broken"}) outcomes.push_back(trial_of(name).outcome);
  EXPECT_EQ(outcomes,
            (std::vector{Outcome::passed, Outcome::passed, Outcome::wrong_answer, Outcome::failed, Outcome::failed}));
}

// Of ten products that each save less than a millisecond, none pays for a conversion of 50 ms; but that is spent.
class OnlineConversion : public OnlineCandidate {
 protected:
  OnlineConversion() : OnlineCandidate(10) {}
};

TEST_F(OnlineConversion, ServesOnceItIsThere) {
  Formats formats;
  formats.try_emplace("late", testing::Fault::slow_at_first);
  EXPECT_EQ(tune({"late"}, formats), "late");
  EXPECT_GT(trial_of("late").setup_seconds, 0.02);
}

}  // namespace
}  // namespace autospmv
