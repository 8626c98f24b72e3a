// Products that are captured into graphs, by every format with every choice of its parameters that can be: new values
// reach them, and they have scratch memory of their own. The others refuse.

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/cuda/check.hpp"
#include "core/machine/array.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/verify/random.hpp"
#include "core/verify/reference.hpp"
#include "features/features.hpp"
#include "formats/format.hpp"
#include "tests/formats/cuda_operators.hpp"
#include "tests/formats/scenarios.hpp"
#include "tests/formats/support.hpp"

namespace autospmv::testing {
namespace {

/// What a body gives to a stream, to be launched again and again.
class Graph {
 public:
  template <class Body>
  Graph(Stream stream, const Body& body) {
    cudaGraph_t graph = nullptr;
    cuda::check(cudaStreamBeginCapture(stream.handle, cudaStreamCaptureModeThreadLocal));
    try {
      body();
    } catch (...) {
      cuda::ignore(cudaStreamEndCapture(stream.handle, &graph));  // else no other test could do anything
      throw;
    }
    cuda::check(cudaStreamEndCapture(stream.handle, &graph));
    cuda::check(cudaGraphInstantiate(&replay_, graph, 0));
    cuda::check(cudaGraphDestroy(graph));
  }
  ~Graph() { cuda::ignore(cudaGraphExecDestroy(replay_)); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(Stream stream) const { cuda::check(cudaGraphLaunch(replay_, stream.handle)); }

 private:
  cudaGraphExec_t replay_ = nullptr;
};

class Graphs : public CudaOperators {
 protected:
  /// Calls body(operator) for all whose products can be captured; the others refuse.
  void for_each_operator(const std::function<void(Operator<double>&)>& body) {
    for_each_built([&](Operator<double>& op, bool capturable) {
      if (capturable) return body(op);
      const auto x = random_x(3);
      auto y = empty_y();
      const OwnStream stream;
      EXPECT_THROW(Graph(stream.get(), [&] { op.apply(1, x.data(), 0, y.data(), stream.get()); }), Unsupported);
    });
  }
};

class NewValuesOfGraphs : public Graphs {
 protected:
  // A captured product before and after an update by values of the same kind; then after one by any values that is
  // captured itself.
  void expect_new_values(const HostCsr<double>& source, const std::vector<double>& values) {
    const DeviceScope scope(device_);
    set_matrix(source);
    std::vector<double> any(source.values.size());
    for (std::size_t k = 0; k < any.size(); ++k) any[k] = random_value(31, k);
    const auto x = random_x(7);
    auto y = empty_y();
    const OwnStream stream;
    const auto expect_replay = [&](const Graph& product) {
      clear(y, stream.get());
      product.launch(stream.get());
      stream.wait();
      expect_right(x, y);
    };
    for_each_operator([&](Operator<double>& op) {
      const Graph product(stream.get(), [&] { op.apply(1, x.data(), 0, y.data(), stream.get()); });
      expect_replay(product);
      set_values(values, stream);
      EXPECT_TRUE(op.update_values(data_of(*matrix_).on(device_), stream.get()));
      expect_replay(product);
      if (op.takes_any_values()) {
        const auto view = data_of(*matrix_).on(device_);
        const Graph update(stream.get(), [&] { EXPECT_TRUE(op.update_values(view, stream.get())); });
        set_values(any, stream);
        update.launch(stream.get());
        expect_replay(product);
      }
      set_values(source.values, stream);
    });
  }
};

TEST_F(NewValuesOfGraphs, AllEqual) {
  const auto source = with_few_values(generate<double>("gen:pde:20"), 1);
  expect_new_values(source, std::vector<double>(source.values.size(), 2.5));
}

TEST_F(NewValuesOfGraphs, FewDistinct) {
  const auto pattern = generate<double>("gen:circuit:20000");
  expect_new_values(with_few_values(pattern, 9), with_few_values(pattern, 200).values);
}

TEST_F(NewValuesOfGraphs, ExactInFloat) {
  const auto source = with_float_values(generate<double>("gen:fem:10:3"));
  auto values = source.values;
  for (auto& value : values) value *= 2;
  expect_new_values(source, values);
}

TEST_F(NewValuesOfGraphs, OfFullPrecision) {
  auto source = generate<double>("gen:rmat:12");
  std::vector<double> values(source.values.size());
  for (std::size_t k = 0; k < values.size(); ++k) {
    source.values[k] = random_value(13, k);
    values[k] = random_value(17, k);
  }
  expect_new_values(source, values);
}

TEST_F(NewValuesOfGraphs, SymmetricStill) {
  const auto source = generate<double>("gen:grid2d:60");
  auto values = source.values;
  for (auto& value : values) value *= 3;
  expect_new_values(source, values);
}

// ---- Several graphs of one operator, and eager products beside them.

/// x, y = A x, and what that should be.
struct Problem {
  Array<double> x;
  Array<double> y;
  Reference reference;
};

class Event {
 public:
  Event() { cuda::check(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming)); }
  ~Event() { cuda::ignore(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void order(const OwnStream& later, const OwnStream& earlier) const {
    cuda::check(cudaEventRecord(event_, earlier.get().handle));
    cuda::check(cudaStreamWaitEvent(later.get().handle, event_, 0));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

class ManyGraphs : public Graphs {
 protected:
  [[nodiscard]] Problem problem(std::uint64_t seed) const {
    auto x = random_x(seed);
    auto reference = reference_product<double>(data_of(*matrix_).on(device_), 1, x.data(), 0, nullptr, device_);
    return {std::move(x), empty_y(), std::move(reference)};
  }

  static void give(const Operator<double>& op, Problem& to, const OwnStream& stream) {
    op.apply(1, to.x.data(), 0, to.y.data(), stream.get());
  }

  // Two graphs, one of two branches, and eager products in two streams, all at once.
  void expect_right_at_once(const HostCsr<double>& source) {
    const DeviceScope scope(device_);
    set_matrix(source);
    std::vector<Problem> problems;
    for (std::uint64_t i = 0; i < 6; ++i) problems.push_back(problem(i));
    const std::vector<OwnStream> streams(problems.size());
    for_each_operator([&](Operator<double>& op) {
      const Graph first(streams[0].get(), [&] { give(op, problems[0], streams[0]); });
      const Graph second(streams[1].get(), [&] { give(op, problems[1], streams[1]); });
      const Event fork;
      const Event join;
      const Graph forked(streams[2].get(), [&] {
        fork.order(streams[3], streams[2]);
        give(op, problems[2], streams[2]);
        give(op, problems[3], streams[3]);
        join.order(streams[2], streams[3]);
      });
      for (int round = 0; round < 5; ++round) {
        for (auto& to : problems) clear(to.y, setup_stream(device_));
        synchronize(device_);
        for (int i = 0; i < 10; ++i) {
          first.launch(streams[0].get());
          second.launch(streams[1].get());
          forked.launch(streams[2].get());
          give(op, problems[4], streams[4]);
          give(op, problems[5], streams[5]);
        }
        synchronize(device_);
        for (std::size_t i = 0; i < problems.size(); ++i) {
          const auto& to = problems[i];
          const auto comparison = compare(to.reference, to.y.data(), device_);
          EXPECT_TRUE(comparison.passed()) << comparison.wrong_rows << " wrong rows of product " << i;
        }
      }
    });
  }
};

TEST_F(ManyGraphs, AreRightAtOnce) { expect_right_at_once(generate<double>("gen:rmat:16")); }

// What all of the vendor's formats take.
TEST_F(ManyGraphs, OfADenseMatrixAreRightAtOnce) { expect_right_at_once(generate<double>("gen:dense:256")); }

TEST_F(ManyGraphs, HaveScratchMemoryOfTheirOwnAsLongAsTheyLive) {
  const DeviceScope scope(device_);
  set_matrix(generate<double>("gen:rmat:16"));
  auto to = problem(3);
  const OwnStream stream;
  int with_scratch = 0;
  for_each_operator([&](Operator<double>& op) {
    const auto capture = [&] { return std::make_unique<Graph>(stream.get(), [&] { give(op, to, stream); }); };
    const auto before = op.bytes();
    auto first = capture();
    const auto part = op.bytes() - before;
    if (part == 0) return;
    ++with_scratch;
    auto second = capture();
    EXPECT_EQ(op.bytes(), before + 2 * part);
    first.reset();
    second.reset();
    // A thread of the driver's tells that graphs are gone, some time after they are.
    bool another_took_a_part = false;
    for (int i = 0; i < 1000 && !another_took_a_part; ++i) {
      const auto bytes = op.bytes();
      const auto again = capture();
      again->launch(stream.get());
      stream.wait();
      another_took_a_part = op.bytes() == bytes;
      if (!another_took_a_part) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    EXPECT_TRUE(another_took_a_part);
  });
  EXPECT_GT(with_scratch, 0);
}

TEST_F(ManyGraphs, MayOutliveTheirOperator) {
  const DeviceScope scope(device_);
  set_matrix(generate<double>("gen:rmat:12"));
  auto to = problem(3);
  const OwnStream stream;
  const auto* pcsr = find_format<double>("pcsr");
  const auto params = pcsr->params(features_, device_).combinations().front();
  for (int i = 0; i < 10; ++i) {
    auto built = pcsr->build(data_of(*matrix_).on(device_), params, device_);
    ASSERT_TRUE(built.admitted()) << built.reason();
    const Graph product(stream.get(), [&] { give(**built, to, stream); });
    product.launch(stream.get());
    stream.wait();
    expect_right(to.x, to.y);
    built->reset();
  }
}

}  // namespace
}  // namespace autospmv::testing
