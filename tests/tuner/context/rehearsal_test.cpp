// What is done once before it is needed.
#include "tuner/context/rehearsal.hpp"

#include <gtest/gtest.h>

#include <set>

#include "features/features.hpp"
#include "formats/format.hpp"
#include "io/generators.hpp"
#include "tests/formats/support.hpp"
#include "tests/tuner/predict/recorded.hpp"

namespace autospmv {
namespace {

template <class T>
class Rehearsal : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Rehearsal, Scalars);

TYPED_TEST(Rehearsal, IsOfCandidatesThatThereAre) {
  auto matrix = generate<TypeParam>("gen:uniform:256:256:4");
  for (auto& value : matrix.values) value = TypeParam{1} / 3;
  const auto features = extract_features(matrix.view(), Place{});
  std::set<Candidate> rehearsed;
  std::size_t steps = 0;
  for (std::size_t step = 0; step < rehearsal_steps; ++step) {
    const auto candidate = rehearsed_candidate<TypeParam>(step);
    if (!candidate) continue;
    ++steps;
    const auto* format = find_format<TypeParam>(candidate->format);
    ASSERT_NE(format, nullptr);
    EXPECT_TRUE(format->info().is_offered_on(Backend::cuda)) << candidate->text();
    const auto cost = format->predict(features, candidate->params, testing::gpu_recording().device);
    EXPECT_TRUE(cost) << candidate->text();
    rehearsed.insert(*candidate);
  }
  EXPECT_GT(steps, 0);
  EXPECT_EQ(rehearsed.size(), steps);
}

// Compute-sanitizer sees what each step reads and writes.
TYPED_TEST(Rehearsal, LeavesEveryDeviceWorking) {
  for (const auto& device : testing::devices()) {
    for (std::size_t step = 0; step < rehearsal_steps; ++step) rehearse<TypeParam>(device, step);
    EXPECT_NO_THROW(synchronize(device)) << name_of(device.backend);
  }
}

}  // namespace
}  // namespace autospmv
