// A database on file, as a target wants to find it, and what is asked of it then.
#pragma once

#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "autospmv/plan.hpp"
#include "db/file/sqlite.hpp"
#include "formats/format.hpp"
#include "io/generators.hpp"
#include "tests/fuzz/support.hpp"
#include "tests/tuner/support.hpp"
#include "tools/command.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv::fuzzing {

namespace fs = std::filesystem;

/// The only place of a process where its databases lie.
inline const fs::path& database_folder() {
  static const testing::TemporaryFolder folder;
  return folder.path();
}

inline std::string read_file(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

/// An empty folder with this one file in it.
inline fs::path fresh_database(std::string_view content) {
  for (const auto& entry : fs::directory_iterator(database_folder())) fs::remove_all(entry.path());
  auto file = database_folder() / "trials.db";
  std::ofstream(file, std::ios::binary) << content;
  return file;
}

/// Small ones, of every kind that generators know.
template <class T>
struct Problem {
  HostCsr<T> arrays;
  Matrix<T> matrix;

  explicit Problem(std::string_view spec)
      : arrays(generate<T>(spec)),
        matrix(Matrix<T>::from_csr(arrays.rows, arrays.cols, std::span<const std::int64_t>(arrays.row_ptr),
                                   std::span<const std::int32_t>(arrays.col_idx), std::span<const T>(arrays.values))) {}
};

template <class T>
const std::vector<Problem<T>>& problems() {
  static const auto all = [] {
    std::vector<Problem<T>> problems;
    for (const auto* const spec :
         {"gen:circuit:40", "gen:fem:2:2", "gen:rmat:5", "gen:dense:5:9", "gen:banded:30:2", "gen:uniform:9:9:0"}) {
      problems.emplace_back(spec);
    }
    return problems;
  }();
  return all;
}

inline ContextOptions options_for(const fs::path& file) {
  return {.device = Place{},
          .database = DatabaseChoice::file(file),
          .recheck_share = 0,
          .background = false,
          .logger = [](LogLevel /*level*/, std::string_view /*message*/) {}};
}

/// What every process measures once.
inline void warm_up() {
  auto options = options_for({});
  options.database = DatabaseChoice::memory();
  (void)service_of(Context(options)).copy_bandwidth();
}

inline Candidate candidate_of(std::string_view text) {
  const auto name = text.substr(0, text.find(' '));
  return {std::string(name), Params::parse(text.substr(std::min(text.size(), name.size() + 1))).value()};
}

/// Whatever the database says: a plan within the limits, and the right product.
template <class T>
void require_plan(const Problem<T>& problem, const Context& context, const PlanOptions& options) {
  const auto plan = make_plan(problem.matrix, context, options);
  const auto candidate = candidate_of(plan.choice());
  const auto* const format = find_format<T>(candidate.format);
  require(format != nullptr, "a plan has a format");
  const auto& limits = *options.limits;
  if (limits.deterministic) {
    require(format->deterministic(candidate.params, service_of(context).device()), plan.choice() + " is deterministic");
  }
  // Without nonzeros, plain CSR is as good as any other format, and a table of no values no reason to prefer it.
  const auto csr_bytes = data_of(problem.matrix).on({}).bytes();
  require(problem.arrays.nnz() == 0 ||
              static_cast<double>(plan.bytes()) <= limits.memory_factor * static_cast<double>(csr_bytes),
          plan.choice() + " takes no more bytes than it may");
  const auto x = ramp<T>(problem.arrays.cols);
  std::vector<T> y(static_cast<std::size_t>(problem.arrays.rows), std::numeric_limits<T>::quiet_NaN());
  plan(x, y);
  require(direct_sum(problem.arrays, x).is_like(y), "y = A x");
  const auto explanation = plan.explain();
  require(nlohmann::json::accept(explanation.json()), "an explanation is JSON");
  require(!explanation.text().empty(), "an explanation is text too");
}

/// Standard output for as long as it lives.
class CapturedOutput {
 public:
  CapturedOutput() : former_(std::cout.rdbuf(text_.rdbuf())) {}
  ~CapturedOutput() { std::cout.rdbuf(former_); }
  CapturedOutput(const CapturedOutput&) = delete;
  CapturedOutput& operator=(const CapturedOutput&) = delete;

  [[nodiscard]] std::string text() const { return text_.str(); }

 private:
  std::ostringstream text_;
  std::streambuf* former_;
};

/// autospmv db WORDS.
inline void run_db(const fs::path& file, std::vector<std::string> words, bool json) {
  tools::Options options;
  options.arguments = std::move(words);
  options.database = file;
  options.backend = Backend::host;
  options.quiet = true;
  options.json = json;
  const CapturedOutput output;
  const bool done = is_taken([&] { (void)tools::run_db(options); });
  if (done && json) require(nlohmann::json::accept(output.text()), "what --json prints is JSON");
}

}  // namespace autospmv::fuzzing
