// What is done once before it is needed.
#include "tuner/context/rehearsal.hpp"

#include <gtest/gtest.h>

#include <set>

#include "features/features.hpp"
#include "formats/format.hpp"
#include "io/generators.hpp"
#include "tests/tuner/predict/recorded.hpp"

namespace autospmv {
namespace {

template <class T>
class Rehearsal : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Rehearsal, Scalars);

TYPED_TEST(Rehearsal, IsOfCandidatesThatThereAre) {
  auto matrix = generate<TypeParam>("gen:uniform:512:512:4");
  for (auto& value : matrix.values) value = TypeParam{1} / 3;
  const auto features = extract_features(matrix.view(), Place{});
  std::set<Candidate> rehearsed;
  for (std::size_t which = 0; which < rehearsed_candidates; ++which) {
    const auto candidate = rehearsed_candidate<TypeParam>(which);
    const auto* format = find_format<TypeParam>(candidate.format);
    ASSERT_NE(format, nullptr);
    EXPECT_TRUE(format->info().is_offered_on(Backend::cuda)) << candidate.text();
    const auto cost = format->predict(features, candidate.params, testing::gpu_recording().device);
    EXPECT_TRUE(cost) << candidate.text();
    rehearsed.insert(candidate);
  }
  EXPECT_EQ(rehearsed.size(), rehearsed_candidates);
}

}  // namespace
}  // namespace autospmv
