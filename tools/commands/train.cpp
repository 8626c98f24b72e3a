// autospmv train: fills a database with exhaustive trials of matrices that span what matrices are like, so that others
// can be predicted from them.

#include <array>
#include <iostream>
#include <string_view>

#include "core/machine/array.hpp"
#include "core/printable.hpp"
#include "tools/command.hpp"
#include "tools/database/actions.hpp"
#include "tools/input.hpp"
#include "tools/output/json.hpp"
#include "tools/output/record.hpp"
#include "tools/output/table.hpp"

namespace autospmv::tools {

namespace {

// Twins of matrices that the literature measures, by the features of Mpakos et al., "Feature-based SpMV performance
// analysis on contemporary devices", 2023, of up to sixty million nonzeros; named after their models.
constexpr std::array twins = {
    "gen:twin:170998:170998:5.60788:4.39216:61.94716:0.29725:0.80336:0.63302",              // scircuit
    "gen:twin:206500:206500:6.16653:4.43586:6.13529:0.00191:0.17669:0.33051",               // mac_econ_fwd500
    "gen:twin:21200:21200:70.22491:6.327:0.1392:0.0662:1.916:0.96302",                      // raefsky3
    "gen:twin:131072:131072:11.11989:3.34422:1.51801:0.00743:0.03395:0.05174",              // rgg_n_2_17_s0
    "gen:twin:38744:38744:45.72894:38.39531:1.75537:0.02989:1.26263:0.85373",               // bbmat
    "gen:twin:14000:14000:132.36457:36.49446:1.22114:0.98354:0.02021:0.03682",              // appu
    "gen:twin:525825:525825:3.99415:0.07632:0.00146:0.00134:0.4983:0.99891",                // mc2depi
    "gen:twin:121192:121192:21.65432:13.79266:2.74059:0.62306:1.09583:0.6334",              // cop20k_A
    "gen:twin:1000005:1000005:3.10552:25.34521:1512.43391:0.15246:0.31568:0.9361",          // webbase-1M
    "gen:twin:62451:62451:64.16844:14.05626:0.21555:0.0086:1.61575:0.91473",                // cant
    "gen:twin:1393383:1393383:2.75826:1.03703:3.35056:0.00494:0.16173:0.30095",             // roadNet-TX
    "gen:twin:36417:36417:119.30596:31.86038:0.70989:0.12994:1.83776:0.93173",              // pdb1HYS
    "gen:twin:42138:42138:104.73798:102.44317:0.99546:0.6067:1.92346:0.99215",              // TSOPF_RS_b300_c3
    "gen:twin:68121:68121:78.94425:1061.43997:861.90012:0.04536:0.89599:0.99371",           // Chebyshev4
    "gen:twin:643994:643994:9.58918:784.57986:47421.80439:0.37608:0.7909:0.65833",          // rajat30
    "gen:twin:223104:223104:34.23376:15.15671:101.17985:0.59656:0.02653:0.13584",           // radiation
    "gen:twin:683446:683446:11.09579:284.83209:7519.6876:0.00712:1.3266:0.65266",           // Stanford_Berkeley
    "gen:twin:161070:161070:50.81726:19.69828:0.81041:0.03959:1.27954:0.86886",             // PR02R
    "gen:twin:806529:806529:11.06196:0.92161:0.1752:0.02798:0.71552:0.52413",               // CurlCurl_2
    "gen:twin:66463:66463:155.76816:350.74432:425.24244:0.59028:1.9249:0.96147",            // mip1
    "gen:twin:4284:1096894:2633.9944:4209.25932:20.32958:0.95554:1.57627:0.26917",          // rail4284
    "gen:twin:63838:63838:221.63692:95.8757:14.44418:0.86577:1.7315:0.86687",               // crankseg_2
    "gen:twin:38120:38120:424.21744:484.2375:1.31721:0.48326:1.9799:0.92741",               // TSOPF_RS_b2383
    "gen:twin:1382908:1382908:12.23296:37.23001:632.77976:0.0215:1.50718:0.79266",          // in-2004
    "gen:twin:268096:268096:68.96215:105.38755:9.1795:0.17227:1.18402:0.96958",             // Ga41As41H72
    "gen:twin:1634989:1634989:12.08148:31.07498:410.37363:0.34006:0.0671:0.07093",          // wikipedia-20051105
    "gen:twin:262144:262144:80.74153:453.7323:607.89358:0.55185:0.01987:0.02017",           // kron_g500-logn18
    "gen:twin:1437547:1911130:20.79451:4.14027:17.9954:0.53797:0.00012:0.00014",            // GL7d20
    "gen:twin:1200611:1200611:31.867:11.44845:4.86814:0.54995:0.05017:0.16735",             // dgreen
    "gen:twin:18571154:18571154:2.04836:3805.81188:8006372.08519:0.00905:0.88395:0.88745",  // mawi_201512012345
    "gen:twin:1157456:1157456:41.93589:16.14859:1.62305:0.5105:0.8487:0.54912",             // dielFilterV2real
    "gen:twin:5558326:5558326:10.70903:1356.61627:120504.84964:0.50252:1.06533:0.94277",    // circuit5M
};

// Lengths of rows, their spread, the longest, bandwidth, clusters and likeness of neighbouring rows, from few nonzeros
// a row to thousands, at sizes around those of caches.
constexpr std::array sweep = {
    "gen:twin:400000:400000:3:0.3:1:0.001:0.3:0.5",  "gen:twin:400000:400000:3:3:50:0.3:0.3:0.3",
    "gen:twin:300000:300000:4:40:5000:0.2:0.4:0.6",  "gen:twin:200000:200000:8:0.5:0.5:0.002:1.2:0.9",
    "gen:twin:200000:200000:8:6:20:0.05:0.6:0.5",    "gen:twin:150000:150000:9:30:400:0.4:0.1:0.1",
    "gen:twin:100000:100000:16:2:0.5:0.01:0.1:0.05", "gen:twin:60000:60000:25:3:0.5:0.02:1.6:0.9",
    "gen:twin:60000:60000:25:20:10:0.5:0.3:0.3",     "gen:twin:40000:40000:30:150:300:0.5:0.2:0.2",
    "gen:twin:30000:30000:60:5:0.3:0.05:1.8:0.95",   "gen:twin:30000:30000:60:60:15:0.6:0.05:0.05",
    "gen:twin:20000:20000:90:200:50:0.5:0.5:0.4",    "gen:twin:10000:10000:120:30:1:0.9:0.05:0.05",
    "gen:twin:8000:8000:200:20:0.4:0.2:1.9:0.97",    "gen:twin:3000:12000:250:250:6:0.9:0.3:0.3",
    "gen:twin:2000:40000:400:100:1:0.9:0.1:0.05",    "gen:twin:500:20000:1000:800:3:0.95:0.8:0.4",
    "gen:twin:200:100000:4000:3000:5:0.97:1.2:0.4",  "gen:twin:1000000:1000000:4:1:2:0.0005:0.4:0.6",
    "gen:twin:800000:800000:6:8:300:0.1:0.9:0.8",    "gen:twin:500000:500000:14:10:100:0.3:0.2:0.1",
    "gen:twin:20000:5000:20:15:10:0.7:0.1:0.1",      "gen:twin:12000:12000:35:40:30:0.8:0.1:0.1",
};

// What twins have nothing of: diagonals, aligned blocks, full rows, hubs, and values that few bits hold.
constexpr std::array structured = {
    "gen:pde:40",
    "gen:pde:80",
    "gen:pde:120",
    "gen:pde:180",
    "gen:fem:14:3",
    "gen:fem:30:3",
    "gen:fem:50:3",
    "gen:fem:40:1",
    "gen:fem:100:1",
    "gen:fem:24:2",
    "gen:fem:12:6",
    "gen:grid2d:300",
    "gen:grid2d:1000",
    "gen:grid2d:2500",
    "gen:banded:60000:20",
    "gen:banded:400000:2",
    "gen:banded:20000:60",
    "gen:dense:1200",
    "gen:dense:300:9000",
    "gen:dense:3000:400",
    "gen:rmat:15",
    "gen:rmat:17:8",
    "gen:rmat:19",
    "gen:rmat:21:8",
    "gen:circuit:60000",
    "gen:circuit:400000",
    "gen:circuit:2000000",
    "gen:uniform:50000:50000:20",
    "gen:uniform:500000:500000:5",
    "gen:uniform:2000:2000:220",
    "gen:uniform:600:1200:600",
    "gen:uniform:40:20000:9000",
};

// The same with values of full precision, of which no encoding saves anything.
constexpr std::array structured_full = {
    "gen:pde:60",   "gen:pde:140",  "gen:grid2d:700", "gen:rmat:16",         "gen:rmat:20:8",
    "gen:fem:20:3", "gen:fem:70:1", "gen:rmat:18:4",  "gen:banded:150000:6", "gen:grid2d:1800",
};

struct Trained {
  int matrices = 0;
  int skipped = 0;
  std::int64_t trials = 0;
};

// A processor would take hours for the larger ones, and learns as much from the others: its caches are small.
constexpr std::int64_t most_on_host = 4'000'000;

template <Scalar T>
void train_on(std::string_view source, const Values& values, const Context& context, const Options& options,
              ProgressLine& progress, Trained& trained) {
  const LoadedMatrix<T> loaded(std::string(source), values);
  if (service_of(context).device().backend == Backend::host && loaded.matrix.nnz() > most_on_host) {
    ++trained.skipped;
    return;
  }
  const auto tuned = progress.during(loaded, [&](const TuneOptions& how) { return tune(loaded.matrix, context, how); });
  trim_memory(service_of(context).device());
  ++trained.matrices;
  trained.trials += tuned.new_trials;
  const auto record = record_of(summary_of(loaded.label, loaded.matrix), tuned);
  if (options.json) {
    print_json(to_json(record, service_of(context).device(), service_of(context).copy_bandwidth()));
  } else {
    std::cout << printable(record.matrix.label) << ": " << record.choice.text() << ", "
              << fixed(seconds_of(record) * 1e6, 2) << " us, " << tuned.new_trials << " trials" << std::endl;
  }
}

template <Scalar T>
int train(const Options& options) {
  auto context_options = tools::context_options(options);
  context_options.effort = Effort::exhaustive;
  const Context context(context_options);
  ProgressLine progress(options.quiet);
  Trained trained;
  int failures = 0;
  const auto train_all = [&](std::span<const char* const> sources, const Values& values) {
    for (const auto* source : sources) {
      const bool done = attempt(source, [&] { train_on<T>(source, values, context, options, progress, trained); });
      failures += done ? 0 : 1;
    }
  };
  train_all(structured, Values::parse("own"));
  train_all(structured_full, Values::parse("random:7"));
  train_all(sweep, Values::parse("own"));
  train_all(twins, Values::parse("own"));
  prepare(service_of(context).database());
  if (!options.json) {
    std::cout << "\nmatrices: " << trained.matrices << ", trials: " << trained.trials;
    if (trained.skipped > 0) std::cout << ", too large for the host backend: " << trained.skipped;
    std::cout << '\n';
  }
  return failures > 0 ? 1 : 0;
}

}  // namespace

int run_train(const Options& options) {
  return with_value_type(options.value_type, [&]<class T>() { return train<T>(options); });
}

}  // namespace autospmv::tools
