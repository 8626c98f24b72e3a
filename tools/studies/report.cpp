#include "tools/studies/report.hpp"

#include <algorithm>
#include <iostream>

#include "tools/output/table.hpp"
#include "tools/studies/claims.hpp"
#include "tools/studies/exchange.hpp"

namespace autospmv::tools {

namespace {

// As published, or as tuned here.
bool is_own(const Contender& contender) { return contender.role == Role::own || contender.role == Role::tuned; }

std::vector<const Contest*> own_of(const StudiedMatrix& studied) {
  std::vector<const Contest*> own;
  for (const auto& contest : studied.contests) {
    if (is_own(*contest.contender)) own.push_back(&contest);
  }
  return own;
}

/// "ELLR-T over it": the speed-up of each of the paper's own formats over that of the row.
void add_speedup_columns(const Study& study, std::vector<Column>& columns) {
  for (const auto& contender : study.contenders) {
    if (is_own(contender)) columns.push_back({.title = std::string(contender.name) + " over it"});
  }
}

Row cells(const StudiedMatrix& studied, const Contest& contest) {
  const double seconds = seconds_of(contest);
  Row row = {std::string(contest.contender->name), contest.best ? contest.best->candidate.text() : contest.status,
             fixed(seconds * 1e6, 2), fixed(gflops(studied.matrix, seconds), 2),
             fixed(effective_bandwidth(studied, contest) * 1e-9, 1)};
  for (const auto* own : own_of(studied)) row.push_back(fixed(seconds / seconds_of(*own), 2));
  row.push_back(fixed(setup_products(contest), 1));
  row.push_back(fixed(memory_of(studied, contest) * 1e-6, 2));
  row.push_back(contest.detail);
  return row;
}

/// One number of a contender on every matrix.
template <class Value>
double mean_of(Matrices matrices, std::size_t contender, const Value& value) {
  std::vector<double> values;
  for (const auto& studied : matrices) values.push_back(value(studied, studied.contests[contender]));
  return geometric_mean(values);
}

/// A contender over all matrices: counts, and geometric means where it has a time.
struct Standing {
  std::int64_t measured_on = 0;
  std::int64_t fastest_on = 0;
  double gflops = 0;
  double average_gflops = 0;  ///< in arithmetic mean
  double bandwidth = 0;
  std::vector<double> speedups;  ///< of each own format over it, where both have a time
  double setup_products = 0;
  double memory_over_csr = 0;
};

Standing standing_of(const Study& study, Matrices matrices, std::size_t index) {
  Standing standing;
  for (const auto& studied : matrices) {
    const auto& contest = studied.contests[index];
    standing.measured_on += contest.best ? 1 : 0;
    standing.fastest_on += fastest_of(studied) == &contest ? 1 : 0;
  }
  const auto mean = [&](const auto& value) { return mean_of(matrices, index, value); };
  standing.gflops = mean(gflops_of);
  std::vector<double> gflops_on_all;
  for (const auto& studied : matrices) gflops_on_all.push_back(gflops_of(studied, studied.contests[index]));
  standing.average_gflops = arithmetic_mean(gflops_on_all);
  standing.bandwidth = mean(effective_bandwidth);
  for (std::size_t own = 0; own < study.contenders.size(); ++own) {
    if (!is_own(study.contenders[own])) continue;
    standing.speedups.push_back(mean(
        [&](const StudiedMatrix& one, const Contest& it) { return seconds_of(it) / seconds_of(one.contests[own]); }));
  }
  standing.setup_products = mean([](const StudiedMatrix& /*one*/, const Contest& it) { return setup_products(it); });
  standing.memory_over_csr =
      mean([](const StudiedMatrix& one, const Contest& it) { return memory_of(one, it) / csr_memory(one.matrix); });
  return standing;
}

Row cells(const Contender& contender, const Standing& standing) {
  Row row = {std::string(contender.name), std::to_string(standing.measured_on), std::to_string(standing.fastest_on),
             fixed(standing.gflops, 2),   fixed(standing.average_gflops, 2),    fixed(standing.bandwidth * 1e-9, 1)};
  for (const double speedup : standing.speedups) row.push_back(fixed(speedup, 2));
  row.push_back(fixed(standing.setup_products, 1));
  row.push_back(fixed(standing.memory_over_csr, 2));
  return row;
}

void print_claims(const Study& study, Matrices matrices) {
  for (const auto& claim : study.claims) {
    const auto judgement = judge(claim, matrices);
    std::cout << "claimed: " << claim.text << " (" << claim.place << ")\nhere:    " << name_of(judgement.verdict);
    const char* separator = ": ";
    for (std::size_t i = 0; i < claim.measured.size(); ++i) {
      std::cout << separator << claim.measured[i].name << ": " << fixed(judgement.values[i], 2);
      separator = ", ";
    }
    std::cout << '\n';
  }
}

template <class Value>
Json speedups_json(const Study& study, const Value& value) {
  Json json = Json::object();
  std::size_t own = 0;
  for (const auto& contender : study.contenders) {
    if (is_own(contender)) json[std::string(contender.name)] = value(own++);
  }
  return json;
}

Json contest_json(const Study& study, const StudiedMatrix& studied, const Contest& contest) {
  const double seconds = seconds_of(contest);
  const auto own = own_of(studied);
  Json json = {{"name", contest.contender->name}, {"candidates", contest.contender->candidates}};
  json["status"] = contest.status;
  json["detail"] = contest.detail;
  json["format"] = contest.best ? Json(contest.best->candidate.format) : Json(nullptr);
  json["params"] = contest.best ? to_json(contest.best->candidate)["params"] : Json(nullptr);
  json["median_us"] = seconds * 1e6;
  json["gflops"] = gflops(studied.matrix, seconds);
  json["effective_gbs"] = effective_bandwidth(studied, contest) * 1e-9;
  json["speedups"] = speedups_json(study, [&](std::size_t i) { return seconds / seconds_of(*own[i]); });
  json["setup_products"] = setup_products(contest);
  json["memory_mb"] = memory_of(studied, contest) * 1e-6;
  return json;
}

}  // namespace

void print_studied(const Study& study, const StudiedMatrix& studied) {
  std::vector<Column> columns = {{.title = "format", .left = true},
                                 {.title = "candidate", .left = true},
                                 {.title = "us"},
                                 {.title = "GFLOP/s"},
                                 {.title = "GB/s"}};
  add_speedup_columns(study, columns);
  columns.insert(columns.end(), {{.title = "setup in products"}, {.title = "MB"}, {.title = "", .left = true}});
  std::vector<Row> rows;
  for (const auto& contest : studied.contests) rows.push_back(cells(studied, contest));
  std::cout << headline(studied.matrix) << ", longest row " << fixed(studied.longest_row, 0) << ", mean "
            << fixed(studied.mean_row, 1) << ", CSR " << fixed(csr_memory(studied.matrix) * 1e-6, 2) << " MB, "
            << studied.device << ", copy " << fixed(studied.copy_bandwidth * 1e-9, 1) << " GB/s\n";
  print_table(std::cout, columns, rows);
  std::cout << std::endl;
}

void print_summary(const Study& study, Matrices matrices) {
  std::vector<Column> columns = {{.title = "format", .left = true},
                                 {.title = "measured on"},
                                 {.title = "fastest on"},
                                 {.title = "GFLOP/s"},
                                 {.title = "average"},
                                 {.title = "GB/s"}};
  add_speedup_columns(study, columns);
  columns.insert(columns.end(), {{.title = "setup in products"}, {.title = "memory over CSR"}});
  std::vector<Row> rows;
  for (std::size_t i = 0; i < study.contenders.size(); ++i) {
    rows.push_back(cells(study.contenders[i], standing_of(study, matrices, i)));
  }
  std::cout << study.paper << "\nmatrices: " << matrices.size()
            << ", geometric means, and the average of GFLOP/s\nGB/s: " << study.byte_count << '\n';
  print_table(std::cout, columns, rows);
  print_claims(study, matrices);
}

Json studied_json(const Study& study, const StudiedMatrix& studied) {
  auto json = to_json(study, studied);
  json["csr_mb"] = csr_memory(studied.matrix) * 1e-6;
  json["formats"] = Json::array();
  for (const auto& contest : studied.contests) json["formats"].push_back(contest_json(study, studied, contest));
  return json;
}

Json summary_json(const Study& study, Matrices matrices) {
  Json summary = {{"paper", study.paper}, {"byte_count", study.byte_count}, {"matrices", matrices.size()}};
  summary["formats"] = Json::array();
  for (std::size_t i = 0; i < study.contenders.size(); ++i) {
    const auto standing = standing_of(study, matrices, i);
    summary["formats"].push_back(
        {{"name", study.contenders[i].name},
         {"candidates", study.contenders[i].candidates},
         {"measured_on", standing.measured_on},
         {"fastest_on", standing.fastest_on},
         {"gflops", standing.gflops},
         {"average_gflops", standing.average_gflops},
         {"effective_gbs", standing.bandwidth * 1e-9},
         {"speedups", speedups_json(study, [&](std::size_t own) { return standing.speedups[own]; })},
         {"setup_products", standing.setup_products},
         {"memory_over_csr", standing.memory_over_csr}});
  }
  summary["claims"] = Json::array();
  for (const auto& claim : study.claims) {
    const auto judgement = judge(claim, matrices);
    Json measured = Json::array();
    for (std::size_t i = 0; i < claim.measured.size(); ++i) {
      measured.push_back({{"quantity", claim.measured[i].name}, {"value", judgement.values[i]}});
    }
    summary["claims"].push_back(
        {{"claimed", claim.text}, {"measured", std::move(measured)}, {"verdict", name_of(judgement.verdict)}});
  }
  return {{"study", study.name}, {"summary", std::move(summary)}};
}

void print_matrices(const Study& study, bool markdown) {
  std::vector<Column> columns = {{.title = "matrix", .left = true},
                                 {.title = "SuiteSparse", .left = true},
                                 {.title = "rows"},
                                 {.title = "columns"},
                                 {.title = "nonzeros"},
                                 {.title = "stands in", .left = true}};
  std::vector<Row> rows;
  for (const auto& one : study.matrices) {
    rows.push_back({std::string(one.name), one.suitesparse.empty() ? "-" : std::string(one.suitesparse),
                    std::to_string(one.rows), std::to_string(one.cols), std::to_string(one.nnz),
                    std::string(stand_in_of(one))});
  }
  std::cout << study.name << ": " << study.paper << (markdown ? "\n\n" : "\n");
  if (markdown) {
    print_markdown(std::cout, std::move(columns), rows);
  } else {
    print_table(std::cout, std::move(columns), rows);
  }
  std::cout << std::endl;
}

Json matrices_json(const Study& study) {
  Json json = {{"study", study.name}, {"paper", study.paper}, {"matrices", Json::array()}};
  for (const auto& one : study.matrices) {
    json["matrices"].push_back({{"matrix", one.name},
                                {"suitesparse", one.suitesparse},
                                {"rows", one.rows},
                                {"columns", one.cols},
                                {"nonzeros", one.nnz},
                                {"stands_in", stand_in_of(one)}});
  }
  return json;
}

}  // namespace autospmv::tools
