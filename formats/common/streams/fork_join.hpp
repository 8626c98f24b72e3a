// Kernels that may run side by side: forked from the caller's stream and joined to it again.
//
//   stream      ---+--- branch 0 ---------------+---
//   a stream of    +--- branch 1 --- branch 3 --+
//   its own        +--- branch 2 ---------------+
//
// Eagerly, the branches go to streams of the operator's own, ordered by events. Those serve one caller at a time, so
// callers take turns to submit. Inside a capture they are of no use: a stream that takes part in one cannot serve
// others before it ends. There, every branch is captured into the caller's stream, whose dependencies are set back to
// those it had at the fork; the graph gets the same branches.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <mutex>
#include <vector>

#include "core/machine/device.hpp"
#include "core/uncopied.hpp"

namespace autospmv::formats {

class ForkJoin : Uncopied {
 public:
  /// For so many branches at once, that of the caller's stream among them.
  ForkJoin(int width, Place place);
  ~ForkJoin();

  /// Calls submit(branch, stream) for every branch; what it gives to the stream runs after all that the caller's
  /// stream holds and before all that it is given later.
  template <class Submit>
  void run(int branches, Stream stream, const Submit& submit) const {
    if (branches == 1) return submit(0, stream);
    if (is_capturing(stream)) {
      const Dependencies fork = dependencies_of(stream);
      Dependencies join;
      for (int branch = 0; branch < branches; ++branch) {
        set_dependencies(stream, fork);
        submit(branch, stream);
        join.add(dependencies_of(stream));
      }
      set_dependencies(stream, join);
      return;
    }
    const std::scoped_lock lock(mutex_);
    const int used = std::min<int>(branches - 1, static_cast<int>(streams_.size()));
    fork(stream, used);
    for (int branch = 0; branch < branches; ++branch) {
      const int at = branch % (used + 1);
      submit(branch, at == 0 ? stream : streams_[static_cast<std::size_t>(at) - 1]);
    }
    join(stream, used);
  }

 private:
  struct Dependencies {
    std::vector<cudaGraphNode_t> nodes;
    std::vector<cudaGraphEdgeData> edges;

    void add(const Dependencies& other) {
      nodes.insert(nodes.end(), other.nodes.begin(), other.nodes.end());
      edges.insert(edges.end(), other.edges.begin(), other.edges.end());
    }
  };

  static bool is_capturing(Stream stream);
  static Dependencies dependencies_of(Stream stream);
  static void set_dependencies(Stream stream, const Dependencies& dependencies);

  void fork(Stream stream, int used) const;
  void join(Stream stream, int used) const;

  mutable std::mutex mutex_;
  cudaEvent_t forked_ = nullptr;
  std::vector<Stream> streams_;
  std::vector<cudaEvent_t> joined_;
};

}  // namespace autospmv::formats
