// What one context has read, and others of the same origin.
#include "tuner/context/shared_histories.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "features/recorded.hpp"
#include "tests/tuner/predict/recorded.hpp"
#include "tests/tuner/support.hpp"
#include "tuner/context/keys.hpp"

namespace autospmv {
namespace {

TEST(SharedHistories, AreOfOneOriginAndKeepNoDatabase) {
  const auto records = testing::recorded_matrices(testing::gpu_recording());
  const auto model = testing::model_of(testing::gpu_recording());
  const auto device = testing::gpu_recording().device;
  const HistoryOrigin origin{"layers of this test", device, false, model};
  EXPECT_EQ(shared_history<double>(origin), nullptr);

  const std::vector<RecordedMatrix> matrices(records.begin(), records.end());
  auto database = std::make_shared<int>();
  const std::weak_ptr<int> is_open = database;
  auto history = std::make_shared<const History<double>>(
      testing::points_of<double>(matrices),
      testing::known_among(matrices,
                           [&records, database](const TrialKey& key) {
                             return std::ranges::find(records, key, &testing::Recorded::key)->trials;
                           }),
      device, model);
  while (history->prefetch()) {
  }
  EXPECT_TRUE(history->complete());
  share_history(origin, std::move(history));
  database.reset();
  EXPECT_TRUE(is_open.expired()) << "nothing is left to be read";

  const auto shared = shared_history<double>(origin);
  ASSERT_NE(shared, nullptr);
  EXPECT_FALSE(shared->near(*features_of_record(records.front().matrix.features), {}).neighbours().empty());
  EXPECT_EQ(shared_history<float>(origin), nullptr);
  for (const auto& other :
       {HistoryOrigin{"others", device, false, model}, HistoryOrigin{origin.layers, {}, false, model},
        HistoryOrigin{origin.layers, device, true, model},
        HistoryOrigin{origin.layers, device, false, {device, 1e12, model.coefficients()}}}) {
    EXPECT_EQ(shared_history<double>(other), nullptr);
  }
}

TEST(SharedHistories, AreNotOfAContextThatKnowsSomethingItself) {
  const auto matrix = testing::make_matrix<double>("gen:pde:8");
  const Context first(testing::host_options());
  const Context knowing(testing::host_options());
  const Context last(testing::host_options());
  EXPECT_EQ(service_of(first).history<double>()->matrices(), 0U);
  TrialRecord trial{{"csr_scalar", {}}, 1, true, {}, true};
  trial.measurement.outcome = Outcome::passed;
  trial.measurement.warm = {1e-6, 1e-6, 1e-6, 10};
  const auto features = record_of(extract_features(data_of(matrix).on({}), Place{}));
  service_of(knowing).database().record(key_of(matrix, knowing), {"one", 64, 64, 288, 5000, features},
                                        std::vector{trial});
  EXPECT_EQ(service_of(knowing).history<double>()->matrices(), 1U);
  EXPECT_EQ(service_of(last).history<double>()->matrices(), 0U);
}

}  // namespace
}  // namespace autospmv
