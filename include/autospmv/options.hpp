// What can be chosen: how hard to look, within which limits, on which device, and what is remembered where. All of it
// are plain values with defaults; name what differs: ContextOptions{.effort = Effort::online}.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "autospmv/export.h"
#include "autospmv/types.hpp"

namespace autospmv {

/// How hard to look for the fastest format, after FFTW's planner.
enum class Effort : std::uint8_t {
  cached,      ///< never a trial: what the database knows, else plain CSR
  estimate,    ///< never a trial: what the database knows, else what other matrices and the cost model predict
  measure,     ///< trials of a short list
  exhaustive,  ///< trials of every admitted candidate
  online,  ///< trials ride on the caller's own products, each of which gives the right y, when these have paid for it
};

/// "cached", "estimate", "measure", "exhaustive", "online".
AUTOSPMV_API std::string_view name_of(Effort effort);
AUTOSPMV_API std::optional<Effort> parse_effort(std::string_view name);

/// What a winner must respect, and what it minimizes: setup + expected_calls x time of a product.
struct Limits {
  std::int64_t expected_calls = 1000;
  double time_limit_seconds = std::numeric_limits<double>::infinity();  ///< for all trials of one matrix
  double memory_factor =
      std::numeric_limits<double>::infinity();  ///< bytes allocated for the winner over those of the CSR arrays
  bool deterministic = false;                   ///< only candidates that are bitwise equal from run to run
  bool capture = true;  ///< products may be captured into CUDA graphs; false: also candidates that then throw
};

/// Which product: y = alpha A x + beta y, or the same with A transposed. A transposed product has a plan of its own, on
/// the arrays of the transposed matrix, which are made by the first one and follow update_values(): another copy of the
/// values and their order, and of the pattern where it is not symmetric.
enum class Operation : std::uint8_t { plain, transposed };

/// For one plan. What is not given is the context's; see ContextOptions::effort.
struct PlanOptions {
  std::optional<Effort> effort = {};
  std::optional<Limits> limits = {};
  Operation op = Operation::plain;
  std::string label = {};  ///< remembered with the matrix in the database, for people
  /// The candidates to choose among, beside the baselines; empty: all. A format, and the values that some of its
  /// parameters may take: "ellr_t", "sell_p C=16,32 sigma=1", which may also be such as the format does not offer for
  /// this matrix. Efforts with trials try all of them. InvalidArgument, which names what there is, is thrown for what
  /// is no such text and for formats, parameters and values that this build or the context's device does not have.
  std::vector<std::string> only = {};
};

/// Where what was learned is kept.
class DatabaseChoice {
 public:
  /// $AUTOSPMV_DB, else autospmv/trials.db in $XDG_CACHE_HOME or ~/.cache.
  DatabaseChoice() = default;
  /// Nowhere: it goes with the context.
  static DatabaseChoice memory() { return DatabaseChoice(Kind::memory, {}); }
  /// This file, begun where there is none; ":memory:" means memory.
  static DatabaseChoice file(std::filesystem::path path) { return {Kind::file, std::move(path)}; }
  /// What this file holds now; without a path, the one of the default choice. Nothing is written, and what is learned
  /// goes with the context.
  static DatabaseChoice snapshot(std::filesystem::path path = {}) { return {Kind::snapshot, std::move(path)}; }

  enum class Kind : std::uint8_t { standard, memory, file, snapshot };
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }  ///< of Kind::file and Kind::snapshot

 private:
  DatabaseChoice(Kind kind, std::filesystem::path path) : kind_(kind), path_(std::move(path)) {}

  Kind kind_ = Kind::standard;
  std::filesystem::path path_;
};

enum class LogLevel : std::uint8_t { warning, error };

/// Gets one line each time, from any thread, the context's own among them. Must not call this library.
using Logger = std::function<void(LogLevel, std::string_view message)>;

/// How far a tuning is.
struct Progress {
  std::int64_t done = 0;   ///< candidates tried
  std::int64_t total = 0;  ///< at most, with those to come
  std::string candidate;   ///< that comes next: "sell_p C=32 T=1 sigma=1"
};

/// Asked whether a tuning is to be given up.
using Stop = std::function<bool()>;

struct ContextOptions {
  std::optional<Place> device = {};  ///< none: the first CUDA device where there is one, else the host
  DatabaseChoice database = {};
  /// Files that are read where the database says nothing, the uppermost first, and never written; below them the
  /// knowledge that is installed with the library. None: those in $AUTOSPMV_SYSTEM_DB, between colons. An empty list,
  /// or an empty variable: nothing lies below, not even what is installed. One that cannot be used is passed over with
  /// a warning.
  std::optional<std::vector<std::filesystem::path>> system_databases = {};
  /// Of auto_spmv and kept_plan. Plans that are made by hand are made by trials at once where it is online.
  Effort effort = Effort::online;
  Limits limits = {};
  /// Of the plans that come from the database, how many are timed again, against the baseline, before they are used.
  double recheck_share = 0.1;
  /// Whether one thread of the context's own may work beside the caller's on a CUDA device. Without it nothing is tuned
  /// online there: such plans stay as they begin. On the host, none does.
  bool background = true;
  Logger logger = {};  ///< none: warnings and errors go to standard error
  /// Told before each trial of a call that tunes before it returns, in the thread of that call. Must not call this
  /// library.
  std::function<void(const Progress&)> progress = {};
  /// Asked there too, between trials and between the samples of one, hence often. Where it says true, the call throws
  /// Interrupted.
  Stop stop = {};
};

}  // namespace autospmv
