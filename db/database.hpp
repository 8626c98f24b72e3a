// The memory of the tuner: one SQLite file of append-only trials, and the queries over it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/trial.hpp"
#include "core/uncopied.hpp"
#include "db/rows.hpp"

namespace autospmv {

/// A matrix and device for which trials are kept.
struct TunedMatrix {
  TrialKey key;
  MatrixRecord matrix;
  std::int64_t trials = 0;  ///< candidates that were tried
};

/// A matrix that was measured under one key: what predictions for other matrices are made from.
struct RecordedMatrix {
  TrialKey key;
  MatrixRecord matrix;
  std::size_t layer = 0;  ///< as in TrialRecord
};

/// What a matrix was measured in: a key without a pattern.
struct RecordedEnvironment {
  TrialKey key;
  std::int64_t id = 0;    ///< in its database
  std::size_t layer = 0;  ///< as in TrialRecord
};

/// A recorded matrix, by what finds it again.
struct RecordedPoint {
  Fingerprint pattern;
  std::uint32_t environment = 0;  ///< which of RecordedPoints::environments
};

/// Recorded matrices as points, for who looks for the nearest of them.
struct RecordedPoints {
  std::vector<RecordedEnvironment> environments;
  std::vector<RecordedPoint> points;
  std::size_t dimensions = 0;
  std::vector<double> coordinates;  ///< finite

  [[nodiscard]] std::span<const double> coordinates_of(std::size_t point) const {
    return std::span(coordinates).subspan(point * dimensions, dimensions);
  }
  [[nodiscard]] TrialKey key_of(const RecordedPoint& point) const {
    auto key = environments[point.environment].key;
    key.pattern = point.pattern;
    return key;
  }
};

/// What predictions for other matrices are made from.
struct KnownMatrix {
  std::optional<MatrixRecord> matrix;
  std::vector<TrialRecord> passed;
};

/// How features become a point.
struct PointMaker {
  std::string name;  ///< of the way: points that were made in another are made again
  std::size_t dimensions = 0;
  /// Writes the coordinates; false where the features are none that it knows.
  std::function<bool(const MatrixRecord&, std::span<double>)> make;
};

/// What is true of a device of a machine.
struct Machine {
  std::string host;
  std::string backend;
  std::string device;
  double copy_bandwidth = 0;  ///< bytes a second
};

/// A candidate that may have killed a process.
struct Suspect {
  Candidate candidate;
  int deaths = 0;  ///< of processes that were launching it for the first time

  friend bool operator==(const Suspect&, const Suspect&) = default;
};

/// A trial and when it was recorded.
struct DatedTrial {
  TrialRecord trial;
  std::string moment;  ///< UTC, as in a Selection
};

/// That an effort was complete with these formats.
struct FinishedTuning {
  std::string effort;
  std::string catalogue;
  std::string moment;
};

/// Some of what is kept: what every part that is given allows, and everything where none is.
struct Selection {
  std::optional<Fingerprint> pattern = {};
  std::string label = {};       ///< of a matrix
  std::string device = {};      ///< its name, as in a key
  std::string backend = {};     ///< likewise
  std::string value_type = {};  ///< "double", and with it "double in 8 bits"
  std::string format = {};
  std::string since = {};      ///< recorded at this moment or later: "2026-11-25T16:45:04.000Z"
  std::string before = {};     ///< recorded before this moment
  bool only_suspects = false;  ///< forget() leaves the trials; what was tuned without the suspects is not complete
};

/// Rows that are gone.
struct Forgotten {
  std::int64_t matrices = 0;  ///< of which nothing is left
  std::int64_t trials = 0;
  std::int64_t tunings = 0;  ///< marks that an effort is complete
  std::int64_t suspects = 0;

  friend bool operator==(const Forgotten&, const Forgotten&) = default;
};

/// Rows that another database had and this one had not.
struct Merged {
  std::int64_t matrices = 0;
  std::int64_t trials = 0;
  std::int64_t tunings = 0;
  std::int64_t suspects = 0;
  std::int64_t fits = 0;  ///< devices whose coefficients were replaced by later ones

  friend bool operator==(const Merged&, const Merged&) = default;
};

/// How much there is of what was selected.
struct Statistics {
  /// Trials of one kind.
  struct Of {
    std::string name;  ///< of a format, or of an outcome
    std::int64_t trials = 0;
    std::int64_t wins = 0;  ///< matrices and environments of which its is the shortest warm time of all that passed
  };
  /// A device and type of values.
  struct Place {
    std::string backend;
    std::string device;
    std::string value_type;
    std::int64_t matrices = 0;
    std::int64_t trials = 0;
  };
  std::int64_t matrices = 0;
  std::int64_t trials = 0;
  std::int64_t tunings = 0;
  std::int64_t suspects = 0;
  std::string first;  ///< the moments of the first and the last trial; empty where there is none
  std::string last;
  std::vector<Place> places;
  std::vector<Of> formats;
  std::vector<Of> outcomes;
};

/// Safe from many threads; many processes may write into one file. Failure of the file never throws after opening:
/// what cannot be read is a miss, what cannot be written is kept in memory, with one warning. Memory that runs out is
/// no failure of the file: it is thrown (OutOfMemory, std::bad_alloc), and nothing was written. Does not survive a
/// fork: the child opens its own.
class Database : Uncopied {
 public:
  /// Gets one line each time. Must not call the database.
  using Warn = std::function<void(const std::string&)>;

  /// Opens or begins the file; ":memory:" means memory. An older schema is migrated forward. A newer one throws Error.
  /// A file that is not ours throws InvalidArgument, and nothing of it is changed. One of ours that is damaged is
  /// renamed to NAME.corrupt-N and a new one begun: ours is what has our application's id in its header, or, in the
  /// place where a user's database lies by default, the header of any SQLite database. An unwritable place means memory
  /// only. The last two say so through `warn`, once.
  static std::shared_ptr<Database> open(const std::filesystem::path& file, Warn warn);
  /// A copy of what the file holds now, in memory; nothing where there is no file. Writes nothing, neither into it nor
  /// beside it. Throws as open() does, and Error where it cannot be read.
  static std::shared_ptr<Database> look(const std::filesystem::path& file);
  static std::shared_ptr<Database> in_memory();
  /// To be put under others: what the file holds, also while others write it, and never written itself. Nullptr where
  /// it cannot be used, which `warn` is told.
  static std::shared_ptr<Database> layer(const std::filesystem::path& file, const Warn& warn);

  /// $AUTOSPMV_DB, else $XDG_CACHE_HOME/autospmv/trials.db, else ~/.cache/autospmv/trials.db.
  static std::filesystem::path default_path();

  ~Database();

  /// From now on what is asked of this database and it does not know is asked of these, the uppermost first: trials,
  /// tunings by a catalogue, recorded matrices, coefficients and the copy bandwidth. All else, and whatever writes or
  /// travels, is of this one alone. Called before it is shared.
  void put_under(std::vector<std::shared_ptr<Database>> layers);

  /// Adds trials of one matrix, all or none, except those that were given up, and notes the next candidate with them
  /// where one is named.
  void record(const TrialKey& key, const MatrixRecord& matrix, std::span<const TrialRecord> trials,
              const std::optional<Candidate>& suspect = {});

  /// The last trial of every candidate under this key, in the order in which they were made. With `catalogue`
  /// (format_catalogue()), only trials of formats at the versions named there.
  std::vector<TrialRecord> trials(const TrialKey& key, const std::string& catalogue = {});

  /// That every candidate an effort asks for was tried with these formats ("measure", "csr_scalar:1 ...").
  void mark_tuned(const TrialKey& key, const std::string& effort, const std::string& catalogue);
  /// The efforts that were marked so.
  std::vector<std::string> tunings(const TrialKey& key, const std::string& catalogue);

  /// Notes a candidate before it is first launched. A note that a dead process left behind names a candidate that may
  /// have killed it.
  void note_suspect(const TrialKey& key, const Candidate& candidate);
  /// Clears the note of this process: the candidate was given up before it was launched. Where memory runs out, the
  /// note goes with what is written next, at the latest when the database is closed.
  void clear_suspect(const TrialKey& key, const Candidate& candidate) noexcept;
  /// Clears every note of the candidate: it was launched, and nobody died of it. Where memory runs out, as much as
  /// clear_suspect() does.
  void absolve(const TrialKey& key, const Candidate& candidate) noexcept;
  /// By candidate. What a process that still runs has noted is none yet.
  std::vector<Suspect> suspects(const TrialKey& key);

  /// Asks what the tuning of a new matrix asks first, and writes what it writes, and takes that back: the first time
  /// they take a connection several times as long.
  void rehearse() noexcept;

  /// Every matrix and environment of which a trial is selected, most recent first, with how many candidates are.
  std::vector<TunedMatrix> list(const Selection& selection = {});

  /// Every trial under this key, earlier ones of the same candidates too, in the order in which they were made.
  std::vector<DatedTrial> history(const TrialKey& key);

  /// Every effort that was marked complete under this key.
  std::vector<FinishedTuning> tunings(const TrialKey& key);

  /// Whether anything was tried on a matrix of this pattern, on whatever device.
  bool knows(const Fingerprint& pattern);

  /// How many matrices it knows anything of.
  std::int64_t matrices();

  /// Every matrix of which the features and trials are known, on any device of a backend ("cuda"), oldest first, of
  /// values of one type ("double"), however few bits they take.
  std::vector<RecordedMatrix> recorded(const std::string& backend, std::string_view type);

  /// The same as points, which are kept in the file from one process to the next. In no particular order.
  RecordedPoints points(const std::string& backend, const std::string& type, const PointMaker& maker);

  /// What is known of the matrix of a point.
  std::optional<MatrixRecord> matrix_at(const RecordedPoints& points, const RecordedPoint& point);

  /// Those trials() that passed, by candidate: of what was measured the warm median, the setup and the bytes.
  std::vector<TrialRecord> passed(const TrialKey& key, const std::string& catalogue = {});

  /// What matrix_at() and passed() say of some of the points, a function each, which any thread may call as long as
  /// this and the points live. What is kept in one piece is found now, by one question of each database, and unpacked
  /// when the function is called. The catalogue is not empty.
  std::vector<std::function<KnownMatrix()>> known(const RecordedPoints& points, std::span<const std::size_t> which,
                                                  const std::string& catalogue);

  /// As long as this is the same, so is what the layers say: their files, as they were opened, and their newest trials.
  /// Nothing where this database knows of trials itself.
  std::optional<std::string> state_of_layers();

  /// Keeps what matrix_at() and passed() say of each matrix in one piece, from which it is read many times as fast by
  /// whoever names a catalogue: for a file that others will read. Who next asks for points() makes them anew of all
  /// trials, and they are kept.
  void keep_passed();

  /// What was fitted to the trials of a device, by name; empty where nothing was. Numbers of a file that anybody may
  /// have written.
  std::vector<std::pair<std::string, double>> coefficients(const std::string& backend, const std::string& device);
  /// Replaces them.
  void record_coefficients(const std::string& backend, const std::string& device,
                           std::span<const std::pair<std::string, double>> values);

  /// Bytes a second that a device of this machine copies, where it was measured and is one that a device may have.
  std::optional<double> copy_bandwidth(const std::string& backend, const std::string& device);
  /// Replaces it.
  void record_copy_bandwidth(const std::string& backend, const std::string& device, double bytes_a_second);

  /// Every machine whose copy bandwidth was measured.
  std::vector<Machine> machines();

  /// Removes rows, all of those chosen or none. Unlike the other members it throws Error where the file cannot be
  /// changed: who wants something gone must know that it is not. Notes of processes that still run go too.
  Forgotten forget(const Selection& selection);

  /// Hands out all rows that are selected, in an order that depends on nothing but what they say, except that trials of
  /// one candidate keep theirs. Throws Error where they cannot be read.
  void visit(const Selection& selection, const std::function<void(const Row&)>& take);

  /// What visit() has handed out, in memory again: next() sets its argument to the next row, or returns false. Throws
  /// InvalidArgument for a row that no database can hold, and what next() throws.
  static std::shared_ptr<Database> of_rows(const std::function<bool(Row&)>& next);

  /// Adds what the other knows and this one does not, all or nothing. Which of two is merged into the other makes no
  /// difference to what visit() hands out of the result, and to merge again changes nothing. Trials of one candidate
  /// stand in the order of their moments where neither has all of them. Throws Error as forget() does.
  Merged merge(Database& other, const Selection& selection = {});

  Statistics statistics(const Selection& selection = {});

  /// What is wrong with it, a line each: damage that SQLite finds, and rows that are passed over since no run of this
  /// library can have given them. Empty where nothing is.
  std::vector<std::string> faults();

  /// Gives back the room of what was forgotten. Throws Error as forget() does.
  void vacuum();

  /// Where it is kept; empty for memory only.
  [[nodiscard]] const std::filesystem::path& file() const;
  /// Of a layer, by TrialRecord::layer.
  [[nodiscard]] const std::filesystem::path& file_of_layer(std::size_t layer) const;

 private:
  [[nodiscard]] std::optional<std::vector<TrialRecord>> kept_passed(const TrialKey& key, const std::string& catalogue);

  struct Impl;
  /// That of this database, or of a layer, by TrialRecord::layer.
  [[nodiscard]] Impl& impl_of(std::size_t layer) const;
  explicit Database(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace autospmv
