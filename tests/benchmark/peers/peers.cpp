// Our products on the host beside those of other libraries, each after all the tuning that it offers:
//     benchmark_peers [--float] [--threads N] [--effort NAME] [--values own|random:SEED] [--markdown] MATRIX...
// MATRIX: a Matrix Market file, a directory of such, or gen:KIND:ARGS; --values is for those that follow it. Ours is
// the plan that one context, which knows nothing at first, keeps of each matrix. Who can be told of it hears of a
// million products to come.
//
// All multiply the same values by the same vector. They take turns in rounds, so that what slows the machine down for a
// while slows down all, which is divided out, in threads that each have a processor of their own, as when we tune;
// samples in which a thread did not have it to itself do not count, and are taken again. The column "best/ours" says
// how many times as long as ours the fastest of the others takes: above 1, ours is faster.
#include <omp.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "core/machine/array.hpp"
#include "core/machine/device.hpp"
#include "core/verify/random.hpp"
#include "io/load.hpp"
#include "tests/benchmark/arguments.hpp"
#include "tests/benchmark/peers/peer.hpp"
#include "tuner/measure/host_threads.hpp"
#include "tuner/measure/meter.hpp"
#include "tuner/measure/rounds.hpp"

namespace {

using namespace autospmv;
using benchmark::Peer;

// Which pages its arrays happen to get decides up to a fifth of what a product takes as long as caches hold them:
// everything is set up so many times, and of each library the best counts.
constexpr int setups = 3;
constexpr int rounds = 9;
constexpr int most_rounds = 2 * rounds;  // on a machine that is never quiet
// Several products of all but the largest matrices; the meter cuts it into parts.
constexpr double sample_seconds = 0.02;
// Each addition rounds, and the sums of n terms in two orders differ by about sqrt(n) of these roundings: 6e-5 in
// float and 1e-13 in double for rows of a million nonzeros, more than any row here has.
template <class T>
constexpr double allowed_error = sizeof(T) == sizeof(float) ? 1e-4 : 1e-12;

struct Settings {
  Effort effort = Effort::measure;
  bool markdown = false;
};

// As CMake has found them.
std::vector<Peer> all_peers() {
  return {
#ifdef AUTOSPMV_WITHOUT_MKL
      {.name = "MKL", .version = {}, .missing = AUTOSPMV_WITHOUT_MKL, .in_float = {}, .in_double = {}},
#else
      benchmark::mkl(),
#endif
#ifdef AUTOSPMV_WITHOUT_LIBRSB
      {.name = "librsb", .version = {}, .missing = AUTOSPMV_WITHOUT_LIBRSB, .in_float = {}, .in_double = {}},
#else
      benchmark::librsb(),
#endif
#ifdef AUTOSPMV_WITHOUT_EIGEN
      {.name = "Eigen", .version = {}, .missing = AUTOSPMV_WITHOUT_EIGEN, .in_float = {}, .in_double = {}},
#else
      benchmark::eigen(),
#endif
  };
}

// As many threads as a product has, each on a processor of its own. Anew for each sample: a library that multiplies in
// fewer threads ends the others, and those that come in their place are nowhere pinned, or all with the first one.
class PinnedTeam {
 public:
  explicit PinnedTeam(int threads) : team_(threads) {}

 private:
  struct Team {
    explicit Team(int threads) { omp_set_num_threads(threads); }
    ~Team() { omp_set_num_threads(before); }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    int before = omp_get_max_threads();
  };

  Team team_;
  PinnedThreads pinned_;
};

bool threads_get_pinned() {
  const PinnedTeam team(omp_get_max_threads());
  bool pinned = true;
#pragma omp parallel default(none) reduction(&& : pinned)
  {
    cpu_set_t own;
    pinned = sched_getaffinity(0, sizeof(own), &own) == 0 && CPU_COUNT(&own) == 1;
  }
  return pinned;
}

struct Contestant {
  std::string name;
  int threads = 1;
  Launch multiply;
  std::unique_ptr<TimedProduct> timed = nullptr;
  Samples samples = {};
  int counted = 0;  // samples that nothing disturbed

  Sample take_sample(Patience& patience) {
    const PinnedTeam team(threads);
    if (timed == nullptr) timed = make_timed_product(host_device(), multiply, {.host = sample_seconds}, patience);
    const auto sample = timed->warm_sample();
    if (!sample.disturbed) ++counted;
    return sample;
  }
};

void race(std::vector<Contestant>& contestants) {
  Patience patience;
  std::vector<Round> taken(most_rounds);
  for (auto& round : taken) {
    for (std::size_t i = 0; i < contestants.size(); ++i) {
      if (contestants[i].counted < rounds) round.samples.push_back({i, contestants[i].take_sample(patience)});
    }
  }
  auto samples = evened(taken, contestants.size());
  for (std::size_t i = 0; i < contestants.size(); ++i) contestants[i].samples = std::move(samples[i]);
  for (auto& contestant : contestants) contestant.timed.reset();  // before the patience that it refers to
}

// What rounding errors are measured by: the length of |A| |x|.
template <class T>
double length_of_terms(const HostCsr<T>& csr, const Array<T>& x) {
  double squares = 0;
  for (std::int64_t row = 0; row < csr.rows; ++row) {
    double sum = 0;
    for (auto k = csr.row_ptr[row]; k < csr.row_ptr[row + 1]; ++k) {
      sum += std::abs(static_cast<double>(csr.values[k]) * static_cast<double>(x.data()[csr.col_idx[k]]));
    }
    squares += sum * sum;
  }
  return std::sqrt(squares);
}

template <class T>
void check_equal(const Array<T>& expected, const Array<T>& result, double length, const std::string& name) {
  double squares = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double difference = static_cast<double>(expected.data()[i]) - static_cast<double>(result.data()[i]);
    squares += difference * difference;
  }
  if (!(std::sqrt(squares) <= allowed_error<T> * length)) throw Error("the product of " + name + " is not ours");
}

// What came out of one matrix: microseconds of ours and of the peers, in their order.
struct Result {
  std::string matrix;
  std::int64_t nnz = 0;
  double ours = 0;
  std::vector<double> peers;
  std::size_t best = 0;
  std::string plan;
  bool disturbed = false;  ///< of one of them there is no undisturbed sample, whichever way it was set up

  [[nodiscard]] double ratio(std::size_t peer) const { return peers[peer] / ours; }
};

// Waits until it is settled; `multiply` is a product by it.
template <class T>
Plan<T> settled_plan(const Matrix<T>& matrix, const Context& context, std::span<const T> x, std::span<T> y) {
  constexpr int most_products = 100000;
  auto plan = kept_plan(matrix, context);
  for (int i = 0; i < most_products && !plan.settled(); ++i) plan(x, y);
  return plan;
}

template <class T>
Result compare_once(const HostCsr<T>& csr, const std::string& label, const Context& context,
                    const std::vector<Peer>& peers) {
  const auto matrix = Matrix<T>::from_csr(csr.rows, csr.cols, csr.row_ptr, csr.col_idx, csr.values);
  Array<T> x(static_cast<std::size_t>(csr.cols), {});
  Array<T> y(static_cast<std::size_t>(csr.rows), {});
  fill_random(x.data(), csr.cols, 1, {}, {});
  const std::span<const T> from = x.span();
  const auto plan = settled_plan(matrix, context, from, y.span());
  plan(from, y.span());

  std::vector<std::unique_ptr<benchmark::PeerProduct<T>>> products;
  std::vector<Contestant> contestants;
  contestants.push_back({"autospmv", omp_get_max_threads(), [&](Stream) { plan(from, y.span()); }});
  Array<T> peer_y(y.size(), {});
  const double length = length_of_terms(csr, x);
  for (const auto& peer : peers) {
    const auto& product = products.emplace_back(peer.make<T>()(csr)).get();
    std::fill_n(peer_y.data(), peer_y.size(), std::numeric_limits<T>::quiet_NaN());
    product->multiply(x.data(), peer_y.data());
    check_equal(y, peer_y, length, peer.name);
    contestants.push_back(
        {peer.name, product->threads(), [&, product](Stream) { product->multiply(x.data(), peer_y.data()); }});
  }
  race(contestants);

  Result result{.matrix = label, .nnz = csr.nnz(), .peers = {}, .plan = plan.choice()};
  for (const auto& contestant : contestants) {
    result.peers.push_back(contestant.samples.timing().median * 1e6);
    result.disturbed = result.disturbed || contestant.samples.all_disturbed();
  }
  result.ours = result.peers.front();
  result.peers.erase(result.peers.begin());
  return result;
}

template <class T>
Result compare(const HostCsr<T>& csr, const std::string& label, const Context& context,
               const std::vector<Peer>& peers) {
  auto result = compare_once(csr, label, context, peers);
  for (int i = 1; i < setups; ++i) {
    const auto again = compare_once(csr, label, context, peers);
    result.ours = std::min(result.ours, again.ours);
    for (std::size_t peer = 0; peer < peers.size(); ++peer) {
      result.peers[peer] = std::min(result.peers[peer], again.peers[peer]);
    }
    result.disturbed = result.disturbed && again.disturbed;
  }
  result.best =
      static_cast<std::size_t>(std::min_element(result.peers.begin(), result.peers.end()) - result.peers.begin());
  return result;
}

// A table for a terminal, or that of a document.
class Table {
 public:
  Table(const std::vector<Peer>& peers, bool markdown) : peers_(peers), markdown_(markdown) {}

  void print_head() const {
    if (markdown_) {
      std::printf("\n| matrix | nonzeros | autospmv us |");
      for (const auto& peer : peers_) std::printf(" %s us |", peer.name.c_str());
      std::printf("%s plan |\n|---|--:|--:|", peers_.empty() ? "" : " best peer | best/ours |");
      for (std::size_t i = 0; i < peers_.size(); ++i) std::printf("--:|");
      std::printf("%s---|\n", peers_.empty() ? "" : "---|--:|");
    } else {
      std::printf("%-28s %10s %11s", "matrix", "nonzeros", "autospmv us");
      for (const auto& peer : peers_) std::printf(" %11s", (peer.name + " us").c_str());
      std::printf("%s  plan\n", peers_.empty() ? "" : "  best peer best/ours");
    }
  }

  void print(const Result& result) const {
    std::printf(markdown_ ? "| %s | %lld | %.2f |" : "%-28s %10lld %11.2f", result.matrix.c_str(),
                static_cast<long long>(result.nnz), result.ours);
    for (const double peer : result.peers) std::printf(markdown_ ? " %.2f |" : " %11.2f", peer);
    if (!peers_.empty()) {
      std::printf(markdown_ ? " %s | %.2f |" : "  %-9s %9.2f", peers_[result.best].name.c_str(),
                  result.ratio(result.best));
    }
    std::printf(markdown_ ? " %s%s |\n" : "  %s%s\n", result.plan.c_str(), result.disturbed ? " *" : "");
    std::fflush(stdout);
  }

  void print_means(const std::vector<Result>& results) const {
    if (markdown_) std::printf("\n");
    const bool disturbed =
        std::any_of(results.begin(), results.end(), [](const Result& result) { return result.disturbed; });
    if (disturbed) std::printf("* no sample of one of them was undisturbed\n");
    if (peers_.empty()) return;
    print_mean(results, "best peer", [](const Result& result) { return result.ratio(result.best); });
    for (std::size_t i = 0; i < peers_.size(); ++i) {
      print_mean(results, peers_[i].name, [i](const Result& result) { return result.ratio(i); });
    }
  }

 private:
  template <class Ratio>
  void print_mean(const std::vector<Result>& results, const std::string& name, const Ratio& ratio_of) const {
    std::vector<double> ratios;
    ratios.reserve(results.size());
    for (const auto& result : results) ratios.push_back(ratio_of(result));
    const auto worst = std::min_element(ratios.begin(), ratios.end());
    std::printf("%s%s over ours, %zu matrices: geometric mean %.2f, worst %.2f (%s)\n", markdown_ ? "- " : "",
                name.c_str(), ratios.size(), benchmark::geometric_mean(ratios), *worst,
                results[static_cast<std::size_t>(worst - ratios.begin())].matrix.c_str());
  }

  const std::vector<Peer>& peers_;
  bool markdown_;
};

template <class T>
void run(const std::vector<benchmark::Source>& sources, const Settings& settings) {
  const Context context({.device = Place{},
                         .database = DatabaseChoice::memory(),
                         .effort = settings.effort,
                         .limits = {.expected_calls = benchmark::expected_calls},
                         .recheck_share = 0});
  std::vector<Peer> peers;
  std::string left_out;
  std::string head = context.device_name() + (threads_get_pinned() ? ", pinned, " : ", not pinned, ") +
                     (sizeof(T) == sizeof(float) ? "float" : "double");
  for (auto& peer : all_peers()) {
    if (peer.missing.empty()) {
      head += "; " + peer.name + " " + peer.version;
      peers.push_back(std::move(peer));
    } else {
      left_out += peer.name + " is left out: " + peer.missing + "\n";
    }
  }
  std::printf("%s\n%s", head.c_str(), left_out.c_str());
  const Table table(peers, settings.markdown);
  table.print_head();
  std::vector<Result> results;
  for (const auto& source : sources) {
    const auto csr = load_matrix<T>(source.name, source.values);
    const auto label = label_of(source.name);
    try {
      results.push_back(compare(csr, label, context, peers));
    } catch (const std::exception& error) {
      throw Error(label + ": " + error.what());
    }
    table.print(results.back());
  }
  table.print_means(results);
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  std::int64_t threads = omp_get_max_threads();
  const auto take_effort = [&](const std::string& name) {
    const auto effort = parse_effort(name);
    settings.effort = effort.value_or(settings.effort);
    return effort.has_value();
  };
  const auto take_threads = [&](const std::string& text) {
    const auto count = benchmark::parse_count(text);
    threads = count.value_or(0);
    return count.has_value() && threads <= omp_get_thread_limit() && threads <= CPU_SETSIZE;
  };
  const benchmark::OwnOptions own{.valued = {{"--effort", take_effort}, {"--threads", take_threads}},
                                  .flags = {{"--markdown", &settings.markdown}},
                                  .host_only = true};
  return benchmark::run_benchmark(
      argc, argv, "[--float] [--threads N] [--effort NAME] [--values own|random:SEED] [--markdown] MATRIX...", own,
      [&](const benchmark::Arguments& arguments) {
        omp_set_num_threads(static_cast<int>(threads));
        arguments.is_float ? run<float>(arguments.sources, settings) : run<double>(arguments.sources, settings);
      });
}
