#include "tests/benchmark/latency/rungs.hpp"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/cuda/check.hpp"
#include "core/cuda/launch.hpp"
#include "formats/binned/row_bins.hpp"
#include "tests/benchmark/latency/sharing.cuh"
#include "tests/benchmark/latency/steps.cuh"

namespace autospmv::latency {

namespace {

constexpr int launches_in_a_row = 16;  // of programmatic ones, which need a kernel before them

struct Attributes {
  bool programmatic = false;
  unsigned cluster = 0;
};

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned grid, int block, Stream stream, Attributes wanted,
            Arguments... arguments) {
  cudaLaunchAttribute attributes[2];
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = static_cast<unsigned>(block);
  config.stream = stream.handle;
  config.attrs = attributes;
  if (wanted.programmatic) {
    attributes[config.numAttrs].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[config.numAttrs++].val.programmaticStreamSerializationAllowed = 1;
  }
  if (wanted.cluster > 0) {
    attributes[config.numAttrs].id = cudaLaunchAttributeClusterDimension;
    attributes[config.numAttrs++].val.clusterDim = {wanted.cluster, 1, 1};
  }
  cuda::check(cudaLaunchKernelEx(&config, kernel, arguments...));
}

}  // namespace

template <int T>
std::vector<Rung> ladder(Shape shape, bool hopper) {
  const auto grid = static_cast<unsigned>(shape.grid);
  const int block = shape.block;
  const int row_count = shape.threads() / T;
  const auto finish_grid = cuda::grid_for(row_count);
  constexpr Attributes ordinary{};
  constexpr Attributes programmatic{.programmatic = true};
  std::vector<Rung> rungs;
  const auto add = [&](const char* name, int over, int entries, Result result, auto&& run, int launches = 1) {
    rungs.push_back({name, over, entries, result, launches, run});
  };
  const auto add_step = [&]<class Step>(const char* name, int over, int entries, Result result, Step) {
    add(name, over, entries, result,
        [=](View v, Stream stream) { launch(step_kernel<Step, T>, grid, block, stream, ordinary, v); });
  };
  using enum Result;
  add_step("empty kernel", 0, 1, none, Empty{});
  add_step("record of 16 bytes", 0, 1, none, Record{});
  add_step("two offsets of 4 bytes", 0, 1, none, Offsets{});
  add_step("+ column", 2, 1, none, Column{});
  add_step("+ value beside it", 3, 1, none, Value{});
  add_step("+ x, near columns", 4, 1, none, Gather{});
  add_step("+ x, scattered columns", 4, 1, none, ScatteredGather{});
  add_step("+ sum over T lanes", 5, 1, none, Sum{});
  add_step("+ y: a product", 7, 1, Result::rows, Product<by_offsets>{});
  add_step("record, column, x, y", 8, 1, Result::rows, Product<by_record>{});
  add_step("row id, offsets, column, x, y", 9, 1, Result::rows, Product<by_id>{});
  add_step("bin, row id, offsets, column, x, y", 9, 1, Result::rows, ProductOfBin{});
  formats::RowBin bins[8];
  const int bin_count = std::min(shape.grid, 8);
  for (int bin = 0; bin < bin_count; ++bin) {
    const auto end_of = [&](int of) { return std::int64_t{row_count} * of / bin_count; };
    bins[bin] = {.first = end_of(bin), .last = end_of(bin + 1), .log_threads = std::countr_zero(unsigned{T})};
  }
  const auto table = formats::table_of(bins, bin_count, block);
  add("the same, bins among the arguments", 9, 1, Result::rows, [=](View v, Stream stream) {
    launch(table_kernel<T>, static_cast<unsigned>(table.blocks), block, stream, ordinary, v, table);
  });
  add_step("4 entries, one by one", 8, 4, Result::rows, OneByOne{});
  add_step("4 entries, a batch of 4", 13, 4, Result::rows, Batches<4, Tail::one_by_one>{});
  add_step("7 entries, one by one", 8, 7, Result::rows, OneByOne{});
  add_step("7 entries, a batch of 4, then one by one", 15, 7, Result::rows, Batches<4, Tail::one_by_one>{});
  add_step("7 entries, batches of 4, masked", 15, 7, Result::rows, Batches<4, Tail::masked>{});
  add_step("7 entries, a batch of 8, masked", 15, 7, Result::rows, Batches<8, Tail::masked>{});
  add_step("7 entries, a batch of 8, the last again", 15, 7, Result::rows, Batches<8, Tail::repeated>{});
  add("product, then an empty kernel", 8, 1, Result::rows, [=](View v, Stream stream) {
    launch(step_kernel<Product<by_offsets>, T>, grid, block, stream, ordinary, v);
    launch(empty_kernel, 1, 32, stream, ordinary);
  });
  const auto two_kernels = [=](View v, Stream stream, Attributes first, Attributes second) {
    launch(early_product_kernel<T, true>, grid, block, stream, first, v);
    launch(finish_kernel, finish_grid, cuda::default_block, stream, second, v, row_count, 1);
  };
  add("product, then a kernel that adds to y", 8, 1, Result::rows,
      [=](View v, Stream stream) { two_kernels(v, stream, ordinary, ordinary); });
  const auto after_update = [=](View v, Stream stream, Attributes product) {
    launch(update_kernel, finish_grid, cuda::default_block, stream, ordinary, v, row_count);
    launch(early_product_kernel<T, false>, grid, block, stream, product, v);
  };
  add("a solver's update of a vector, then a product", 8, 1, Result::rows,
      [=](View v, Stream stream) { after_update(v, stream, ordinary); });
  if (hopper) {
    add("the same, the product programmatic", 22, 1, Result::rows,
        [=](View v, Stream stream) { after_update(v, stream, programmatic); });
    add("product, then a programmatic one that adds to y", 21, 1, Result::rows,
        [=](View v, Stream stream) { two_kernels(v, stream, ordinary, programmatic); });
    add(
        "the same, both (31 of 32 launches)", 21, 1, Result::rows,
        [=](View v, Stream stream) {
          for (int i = 0; i < launches_in_a_row; ++i) {
            two_kernels(v, stream, i == 0 ? ordinary : programmatic, programmatic);
          }
        },
        launches_in_a_row);
    add(
        "a product, programmatic (15 of 16 launches)", 8, 1, Result::rows,
        [=](View v, Stream stream) {
          for (int i = 0; i < launches_in_a_row; ++i) {
            launch(early_product_kernel<T, false>, grid, block, stream, i == 0 ? ordinary : programmatic, v);
          }
        },
        launches_in_a_row);
  }
  add("product, summed over a block", 8, 1, Result::blocks,
      [=](View v, Stream stream) { launch(block_sum_kernel<T>, grid, block, stream, ordinary, v, v.y); });
  if (shape.grid % cluster != 0) return rungs;
  const int over = static_cast<int>(rungs.size()) - 1;
  if (hopper) {
    add("summed over 8 blocks: a cluster", over, 1, Result::clusters, [=](View v, Stream stream) {
      launch(cluster_sum_kernel<T>, grid, block, stream, Attributes{.cluster = cluster}, v);
    });
  }
  add("summed over 8 blocks: by the last of them", over, 1, Result::clusters,
      [=](View v, Stream stream) { launch(last_block_kernel<T>, grid, block, stream, ordinary, v); });
  add("summed over 8 blocks: by a second kernel", over, 1, Result::clusters, [=](View v, Stream stream) {
    launch(block_sum_kernel<T>, grid, block, stream, ordinary, v, v.partial);
    const int size = shape.grid / cluster;
    launch(finish_kernel, cuda::grid_for(size), cuda::default_block, stream, ordinary, v, size, cluster);
  });
  return rungs;
}

template std::vector<Rung> ladder<1>(Shape, bool);
template std::vector<Rung> ladder<4>(Shape, bool);
template std::vector<Rung> ladder<32>(Shape, bool);

}  // namespace autospmv::latency
