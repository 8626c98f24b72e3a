#include "tuner/search/format_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv {
namespace {

using testing::host_options;
using testing::make_matrix;
using testing::TemporaryFolder;

/// What is thrown, or nothing.
template <class Body>
std::string complaint(const Body& body) {
  try {
    body();
  } catch (const InvalidArgument& error) {
    return error.what();
  }
  return {};
}

std::string complaint_of(const std::string& text) {
  return complaint([&] {
    const std::vector choices{FormatChoice::parse(text)};
    check_choices<double>(choices, host_device());
  });
}

std::vector<std::string> sorted_texts(const std::vector<TrialRecord>& trials) {
  std::vector<std::string> texts;
  texts.reserve(trials.size());
  for (const auto& trial : trials) texts.push_back(trial.candidate.text());
  std::sort(texts.begin(), texts.end());
  return texts;
}

TEST(FormatChoice, ReadsWhatItWrites) {
  for (const std::string text : {"csr_vector", "csr_vector T=2", "hyb K=3 value_bits=64,8"}) {
    EXPECT_EQ(FormatChoice::parse(text).text(), text);
  }
  EXPECT_EQ(FormatChoice::parse("csr_vector  T=4,2,4 ").text(), "csr_vector T=4,2");
  EXPECT_TRUE(FormatChoice::parse("csr_vector").values.empty());
}

TEST(FormatChoice, NamesWhatThereIs) {
  EXPECT_EQ(complaint_of("csr_vector T=2,4"), "");
  EXPECT_EQ(complaint_of("nosuch T=2").rfind("no format 'nosuch'; there are ", 0), 0U);
  EXPECT_NE(complaint_of("nosuch T=2").find(" csr_vector, "), std::string::npos);
  EXPECT_EQ(complaint_of("csr_vector U=2"), "format 'csr_vector': parameters: there is no 'U', but T");
  EXPECT_EQ(complaint_of("csr_vector T=2,3"), "format 'csr_vector': parameters: T=3 is not 2, 4, 8, 16 or 32");
  EXPECT_EQ(complaint_of("csr_scalar T=2"), "format 'csr_scalar': parameters: there is no 'T' nor any other");
  EXPECT_EQ(complaint_of("hyb K=-1"), "format 'hyb': parameters: K=-1 is not 0 or more");
  EXPECT_EQ(complaint_of("csr_vector T=2 T=4"), "format 'csr_vector': 'T' is given twice");
  for (const std::string word : {"T", "T=", "=2", "T=2,", "T=,2", "T=x", "T=2.5", "T=99999999999999999999", "a-b=1"}) {
    EXPECT_EQ(complaint_of("csr_vector " + word), "'" + word + "' is not NAME=VALUE or NAME=VALUE,VALUE,...");
  }
  EXPECT_NE(complaint_of("csr_vector a=1 b=1 c=1 d=1 e=1 f=1 g=1 h=1 i=1").find("too many"), std::string::npos);
}

// What a format does not take on a device it has elsewhere is another matter than what it never takes.
TEST(FormatChoice, AsksForTheDevice) {
  Device gpu;
  gpu.backend = Backend::cuda;
  gpu.multiprocessors = 100;
  gpu.threads_of_multiprocessor = 2048;
  gpu.memory_bytes = std::int64_t{1} << 36;
  const auto check = [](const std::string& text, const Device& device) {
    const std::vector choices{FormatChoice::parse(text)};
    return complaint([&] { check_choices<double>(choices, device); });
  };
  EXPECT_EQ(check("csr_vector T=32 block=128,512", gpu), "");
  EXPECT_NE(check("csr_vector T=64", host_device()), "");
  EXPECT_NE(check("csr_vector block=128", host_device()), "");
  EXPECT_EQ(check("suraa entries=0 max_child_threads=2048", gpu), "");
  EXPECT_NE(check("suraa entries=0", host_device()), "");
  for (const auto* format : all_formats<double>()) {
    if (format->info().runs_on(Backend::host)) continue;
    EXPECT_EQ(check(format->info().name, host_device()),
              "format '" + format->info().name + "' does not run on the host backend");
  }
}

TEST(FormatChoice, TakesAllThatEveryFormatOffers) {
  const auto device = host_device();
  for (const auto* format : all_formats<double>()) {
    if (!format->info().runs_on(device.backend)) continue;
    FormatChoice choice{format->info().name, format->params(ordinary_features(), device).axes()};
    EXPECT_EQ(complaint_of(choice.text()), "");
    EXPECT_EQ(FormatChoice::parse(choice.text()).text(), choice.text());
  }
}

TEST(FormatChoice, CoversTheNamedValues) {
  const std::vector only{FormatChoice::parse("hyb K=3,4"), FormatChoice::parse("csr_scalar")};
  EXPECT_TRUE(is_among({"hyb", {{"K", 4}, {"value_bits", 64}}}, only));
  EXPECT_FALSE(is_among({"hyb", {{"K", 5}, {"value_bits", 64}}}, only));
  EXPECT_FALSE(is_among({"hyb", {{"value_bits", 64}}}, only));
  EXPECT_TRUE(is_among({"csr_scalar", {}}, only));
  EXPECT_FALSE(is_among({"dia", {}}, only));
  EXPECT_TRUE(is_among({"dia", {}}, {})) << "where nothing is named, everything is meant";
}

TEST(Bench, MeasuresExactlyTheNamedCandidates) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:pde:12");
  const std::vector<std::string> texts{"csr_vector T=2,16", "csr_vector T=16", "hyb K=3 value_bits=64"};
  const auto records = bench(matrix, context, parse_choices(texts));
  EXPECT_EQ(sorted_texts(records),
            (std::vector<std::string>{"csr_vector T=16", "csr_vector T=2", "hyb K=3 value_bits=64"}));
  for (const auto& record : records) EXPECT_TRUE(is_timed(record.measurement)) << record.candidate.text();
  const auto offered = find_format<double>("hyb")->params(
      extract_features(data_of(matrix).on(host_device()), host_device()), host_device());
  for (const auto& axis : offered.axes()) {
    if (axis.name == "K") {
      EXPECT_EQ(std::count(axis.values.begin(), axis.values.end(), 3), 0) << "not offered, and yet allowed";
    }
  }
  EXPECT_THROW(bench(matrix, context, {{"csr_vector", {{"T", {3}}}}}), InvalidArgument);
  EXPECT_THROW(bench(matrix, context, {{"nosuch"}}), InvalidArgument);
}

TEST(Bench, SaysWhyANamedCandidateIsRefused) {
  const Context context(host_options());
  const auto records =
      bench(make_matrix<double>("gen:circuit:5000"), context, {FormatChoice::parse("dia symmetric=0,1")});
  ASSERT_EQ(records.size(), 2U);
  for (const auto& record : records) {
    EXPECT_EQ(record.measurement.outcome, Outcome::refused) << record.candidate.text();
    EXPECT_FALSE(record.measurement.detail.empty());
  }
}

class Only : public ::testing::TestWithParam<Effort> {};

INSTANTIATE_TEST_SUITE_P(Efforts, Only, ::testing::Values(Effort::measure, Effort::exhaustive),
                         [](const auto& effort) { return std::string(name_of(effort.param)); });

TEST_P(Only, TriesTheNamedCandidatesAndTheBaselines) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:pde:12");
  TuneOptions how;
  how.effort = GetParam();
  how.only = {FormatChoice::parse("csr_vector T=2,16"), FormatChoice::parse("hyb K=3 value_bits=64")};
  const auto tuned = tune(matrix, context, how);
  EXPECT_EQ(sorted_texts(tuned.trials),
            (std::vector<std::string>{"csr_scalar", "csr_vector T=16", "csr_vector T=2", "hyb K=3 value_bits=64"}));
  EXPECT_TRUE(tuned.baseline);
  const auto key = key_of(matrix, context);
  auto& database = service_of(context).database();
  EXPECT_EQ(database.trials(key).size(), 4U) << "they are recorded as any others";
  for (const auto effort : {Effort::online, Effort::measure, Effort::exhaustive}) {
    EXPECT_FALSE(was_tuned(database, key, effort, context.limits(), format_catalogue())) << name_of(effort);
  }
  how.only.clear();
  how.effort = Effort::measure;
  EXPECT_GT(tune(matrix, context, how).new_trials, 0) << "there is more to try";
}

// Though the database knows a faster one.
TEST(OnlyThese, ArePlanned) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:pde:12");
  TrialRecord faster{{"csr_vector", {{"T", 2}}}, find_format<double>("csr_vector")->info().version, true, {}};
  faster.measurement.outcome = Outcome::passed;
  faster.measurement.warm = {1e-12, 1e-12, 1e-12, 5};
  service_of(context).database().record(key_of(matrix, context),
                                        {"", matrix.rows(), matrix.cols(), matrix.nnz(), 0, {}}, std::vector{faster});
  for (const auto effort : {Effort::cached, Effort::estimate, Effort::measure, Effort::exhaustive}) {
    const auto plan = make_plan(matrix, context, {.effort = effort, .only = {"hyb K=3 value_bits=64"}});
    const auto known = plan.explain();
    EXPECT_TRUE(known.choice.format == "csr_scalar" || plan.choice() == "hyb K=3 value_bits=64") << plan.choice();
    EXPECT_GT(known.bytes_per_nonzero, 0);
    for (const auto& candidate : known.candidates) {
      EXPECT_TRUE(candidate.format == "csr_scalar" || candidate.format == "hyb") << candidate.format;
    }
    const auto x = testing::ramp(matrix.cols());
    std::vector<double> y(x.size());
    plan(x, y);
    EXPECT_TRUE(testing::is_product(matrix, 1.0, x, 0.0, y, y));
  }
  EXPECT_EQ(make_plan(matrix, context, {.effort = Effort::cached}).choice(), "csr_vector T=2");
}

TEST(OnlyThese, AreWhatThereIs) {
  const Context context(host_options());
  const auto matrix = make_matrix<double>("gen:pde:4");
  const auto complain = [&](const std::string& text) {
    return complaint([&] { (void)make_plan(matrix, context, {.only = {"csr_scalar", text}}); });
  };
  EXPECT_EQ(complain("csr_vector T=2"), "");
  EXPECT_NE(complain("csr_vector T=3").find("T=3 is not 2, 4, 8, 16 or 32"), std::string::npos);
  EXPECT_NE(complain("csr_vector T").find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(complain("").find("no format ''"), std::string::npos);
}

TEST(OnlyThese, AreTriedOnline) {
  auto options = host_options();
  options.limits.expected_calls = 1'000'000'000;  // so many that trials pay, whatever is predicted
  const Context context(options);
  const auto matrix = make_matrix<double>("gen:pde:12");
  const auto plan = make_plan(matrix, context, {.effort = Effort::online, .only = {"hyb K=3", "csr_vector"}});
  const auto x = testing::ramp(matrix.cols());
  std::vector<double> y(x.size());
  while (!plan.settled()) plan(x, y);
  EXPECT_TRUE(testing::is_product(matrix, 1.0, x, 0.0, y, y));
  const auto key = key_of(matrix, context);
  auto& database = service_of(context).database();
  const auto trials = database.trials(key);
  EXPECT_GT(trials.size(), 1U);
  for (const auto& trial : trials) {
    const auto& format = trial.candidate.format;
    EXPECT_TRUE(format == "csr_scalar" || format == "csr_vector" || format == "hyb") << trial.candidate.text();
  }
  EXPECT_FALSE(was_tuned(database, key, Effort::online, context.limits(), format_catalogue()));
}

}  // namespace
}  // namespace autospmv
