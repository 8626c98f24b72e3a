// autospmv tune: the fastest format for each matrix, one row as soon as it is known.

#include <iostream>
#include <set>

#include "tools/command.hpp"
#include "tools/input.hpp"
#include "tools/output/json.hpp"
#include "tools/output/record.hpp"
#include "tools/output/table.hpp"

namespace autospmv::tools {

namespace {

Table make_table() {
  return {std::cout,
          {{"matrix", 24, true},
           {"rows", 9},
           {"nonzeros", 10},
           {"winner", 28, true},
           {"us", 10},
           {"GFLOP/s", 8},
           {"CSR GB/s", 8},
           {"speed-up", 8},
           {"% of copy", 9},
           {"trials", 6},
           {"source", 20, true}}};
}

Row cells(const TuneRecord& record, double copy_bandwidth) {
  const double seconds = seconds_of(record);
  return {record.matrix.label, std::to_string(record.matrix.rows), std::to_string(record.matrix.nnz),
          record.choice.text(), fixed(seconds * 1e6, 2), fixed(gflops(record.matrix, seconds), 2),
          fixed(csr_equivalent_gbs(record.matrix, seconds), 1), fixed(speedup(record), 2),
          fixed(100 * csr_product_bytes(record.matrix) / seconds / copy_bandwidth, 0), std::to_string(record.trials),
          // How far an estimate is to be trusted depends on what it was made from.
          source_of(record) + (record.prediction ? ": " + std::string(name_of(record.prediction->tier)) : "")};
}

void print_header(Table& table, const Context& context, const std::string& value_type) {
  const auto& device = service_of(context).device();
  std::cout << device.name << ", " << device.toolkit;
  if (!device.driver.empty()) std::cout << ", driver " << device.driver;
  std::cout << ", copy " << fixed(service_of(context).copy_bandwidth() * 1e-9, 1) << " GB/s, "
            << (device.clock_mhz > 0 ? std::to_string(device.clock_mhz) + " MHz" : "clock unknown") << ", "
            << value_type << "\nCSR GB/s: the bytes that plain CSR moves, over the time of the winner; "
            << "speed-up: over plain CSR\n\n";
  table.header();
}

// What the last line says.
struct Totals {
  int matrices = 0;
  std::set<std::string> formats;
  std::int64_t trials = 0;
  bool all_from_database = true;

  void add(const TuneRecord& record) {
    ++matrices;
    formats.insert(record.choice.format);
    trials += record.trials;
    all_from_database = all_from_database && source_of(record) == "database";
  }
};

void print_totals(const Totals& totals, int failures) {
  std::cout << "\nmatrices: " << totals.matrices;
  if (failures > 0) std::cout << " (failed: " << failures << ")";
  std::cout << ", winning formats: " << totals.formats.size() << ", ";
  if (totals.all_from_database) {
    std::cout << "0 trials: every plan came from the database\n";
  } else {
    std::cout << "trials: " << totals.trials << '\n';
  }
}

template <Scalar T>
int tune_all(const Options& options) {
  const auto context = open_context<T>(options);
  ProgressLine progress(options.quiet);
  auto table = make_table();
  Totals totals;
  const int failures = for_each_matrix<T>(options, [&](const LoadedMatrix<T>& loaded) {
    const auto tuned = progress.during(loaded, [&](TuneOptions how) {
      how.only = options.only;
      how.op = options.op;
      return tune(loaded.matrix, context, how);
    });
    const auto record = record_of(summary_of(loaded.label, loaded.matrix, options.op), tuned);
    if (options.json) {
      print_json(to_json(record, service_of(context).device(), service_of(context).copy_bandwidth()));
    } else {
      // Not before there is a row: the header measures the bandwidth, which no wrong file name should wait for.
      if (totals.matrices == 0) print_header(table, context, options.value_type);
      table.row(cells(record, service_of(context).copy_bandwidth()));
    }
    totals.add(record);
  });
  if (!options.json && totals.matrices > 0) print_totals(totals, failures);
  return failures > 0 ? 1 : 0;
}

}  // namespace

int run_tune(const Options& options) {
  return with_value_type(options.value_type, [&]<class T>() { return tune_all<T>(options); });
}

}  // namespace autospmv::tools
