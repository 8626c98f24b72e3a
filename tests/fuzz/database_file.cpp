// The bytes are a file where a database should be, or patches of a good one. It is read, set aside or refused.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/bytes.hpp"
#include "tests/fuzz/database_support.hpp"
#include "tuner/context/keys.hpp"

namespace autospmv::fuzzing {
namespace {

const Problem<double>& problem() { return problems<double>().front(); }

// With a row in every table, on the smallest pages that there are.
std::string good_file() {
  const auto file = fresh_database("");
  {
    db::Connection connection(file, db::Access::write);
    connection.execute("PRAGMA page_size = 512");
    connection.execute("PRAGMA application_id = 0x6173706d");  // else it is anybody's
    connection.execute("VACUUM");
  }
  {
    const Context context(options_for(file));
    auto& database = service_of(context).database();
    const auto key = key_of(problem().matrix, context);
    TrialRecord trial;
    trial.candidate = {"coo", {}};
    for (const auto* const format : {"csr_scalar", "jad", "sell_p", "coo"}) {
      trial.candidate.format = format;
      trial.format_version = find_format<double>(format)->info().version;
      const auto features = extract_features(problem().arrays.view(), Place{});
      trial.candidate.params = find_format<double>(format)->params(features, host_device()).combinations().front();
      trial.measurement.outcome = Outcome::passed;
      trial.measurement.warm = {1e-6, 1e-6, 1e-6, 5};
      database.record(key, {"label", 40, 40, 100, 1000, {{"nnz", 100.0}}}, std::vector{trial});
    }
    database.mark_tuned(key, "measure", format_catalogue());
    database.note_suspect(key, trial.candidate);
    database.record_coefficients("host", host_device().name,
                                 std::vector{std::pair<std::string, double>{"launch_seconds", 1e-6}});
  }
  {
    db::Connection connection(file, db::Access::write);
    connection.execute("PRAGMA journal_mode = DELETE");
  }
  return read_file(file);
}

std::string patched(Bytes bytes) {
  static const auto good = good_file();
  auto file = good;
  while (!bytes.empty() && !file.empty()) {
    const auto at = bytes.below(std::min<std::size_t>(file.size(), 1 << 16));
    switch (bytes.below(8)) {
      case 0:
        file.resize(at);
        break;
      case 1: {
        // A page in the place of another.
        constexpr std::size_t page = 512;
        const auto from = bytes.below(file.size() / page + 1) * page;
        for (std::size_t i = 0; i < page && from + i < file.size() && at / page * page + i < file.size(); ++i) {
          file[at / page * page + i] = file[from + i];
        }
        break;
      }
      default:
        for (std::size_t i = 0, size = 1 + bytes.below(8); i < size && at + i < file.size(); ++i) {
          file[at + i] = static_cast<char>(bytes.byte());
        }
    }
  }
  return file;
}

void use(const fs::path& file) {
  const Context context(options_for(file));
  for (const auto effort : {Effort::cached, Effort::estimate}) {
    require_plan(problem(), context, {.effort = effort, .limits = Limits{}});
  }
  auto& database = service_of(context).database();
  const auto key = key_of(problem().matrix, context);
  (void)database.suspects(key);
  (void)was_tuned(database, key, Effort::measure, {}, format_catalogue());
  database.note_suspect(key, {"coo", {}});
  database.clear_suspect(key, {"coo", {}});
  // What is recorded is there afterwards, wherever it is kept.
  TrialRecord trial;
  trial.candidate = {"csr_scalar", {}};
  trial.measurement.outcome = Outcome::passed;
  trial.measurement.warm = {1e-9, 1e-9, 1e-9, 5};
  database.record(key, {"label", 40, 40, 100, 1000, {}}, std::vector{trial});
}

void check(Bytes bytes) {
  const bool whole = bytes.one_in(16);
  const auto left = bytes.left();
  const auto content = whole ? std::string(left.begin(), left.end()) : patched(bytes);
  const auto file = fresh_database(content);
  if (!is_taken([&] { use(file); })) {
    require(read_file(file) == content, "what is refused is left as it was");
    return;
  }
  if (content.size() % 2 == 0) {
    run_db(file, {"list"}, true);
  } else {
    run_db(file, {"show", data_of(problem().matrix).fingerprint().text()}, false);
  }
}

}  // namespace
}  // namespace autospmv::fuzzing

extern "C" int LLVMFuzzerInitialize(int* /*argc*/, char*** /*argv*/) {
  autospmv::fuzzing::warm_up();
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  autospmv::fuzzing::check({data, size});
  return 0;
}
