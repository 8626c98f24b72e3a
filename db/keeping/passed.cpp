#include "db/keeping/passed.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>

#include "db/keeping/pieces.hpp"
#include "db/matrices.hpp"

namespace autospmv::db {

namespace {

// After byte_order, of trials: how many there are, then format after format a FormatHead, the name, and for each of
// its trials a TrialHead and the text of its parameters. Of a matrix: a MatrixHead, the label, the source, and for each
// of its features the value, the length of its name and that.
struct FormatHead {
  std::int64_t version;
  std::uint32_t trials;
  std::uint32_t name_bytes;
};
struct TrialHead {
  double seconds;
  double setup_seconds;
  std::int64_t bytes;
  std::int32_t samples;
  std::uint32_t params_bytes;
};

struct MatrixHead {
  std::int64_t rows;
  std::int64_t cols;
  std::int64_t nnz;
  std::uint32_t label_bytes;
  std::uint32_t source_bytes;
};

template <class Part>
void append(std::string& bytes, const Part& part) {
  bytes.append(reinterpret_cast<const char*>(&part), sizeof part);
}

// Reads on as long as there is something; nothing past the end.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  [[nodiscard]] bool done() const { return left_.empty(); }

  template <class Part>
  bool read(Part& part) {
    if (left_.size() < sizeof part) return false;
    std::memcpy(&part, left_.data(), sizeof part);
    left_.remove_prefix(sizeof part);
    return true;
  }

  bool read(std::string& text, std::size_t bytes) {
    if (left_.size() < bytes) return false;
    text.assign(left_.data(), bytes);
    left_.remove_prefix(bytes);
    return true;
  }

 private:
  std::string_view left_;
};

std::string bytes_of(const std::vector<BriefTrial>& trials) {
  std::string bytes;
  append(bytes, byte_order);
  append(bytes, std::uint64_t{trials.size()});
  for (auto at = trials.begin(); at != trials.end();) {
    const auto end = std::find_if(at, trials.end(), [&](const BriefTrial& trial) {
      return trial.format != at->format || trial.version != at->version;
    });
    append(bytes, FormatHead{at->version, static_cast<std::uint32_t>(end - at),
                             static_cast<std::uint32_t>(at->format.size())});
    bytes += at->format;
    for (; at != end; ++at) {
      append(bytes, TrialHead{at->seconds, at->setup_seconds, at->bytes, at->samples,
                              static_cast<std::uint32_t>(at->params.size())});
      bytes += at->params;
    }
  }
  return bytes;
}

std::string bytes_of(const MatrixRecord& matrix) {
  std::string bytes;
  append(bytes, byte_order);
  append(bytes, MatrixHead{matrix.rows, matrix.cols, matrix.nnz, static_cast<std::uint32_t>(matrix.label.size()),
                           static_cast<std::uint32_t>(matrix.source.size())});
  bytes += matrix.label;
  bytes += matrix.source;
  for (const auto& [name, value] : matrix.features) {
    append(bytes, value);
    append(bytes, static_cast<std::uint32_t>(name.size()));
    bytes += name;
  }
  return bytes;
}

// Calls take(trial) for each of a format at the version that is named, as long as it wants more. False where they are
// damaged.
template <class Take>
bool for_each_kept(std::string_view bytes, const Versions& versions, const Take& take) {
  Reader reader(bytes);
  std::uint64_t order = 0;
  std::uint64_t count = 0;
  if (!reader.read(order) || order != byte_order || !reader.read(count)) return false;
  FormatHead of_format{};
  TrialHead head{};
  BriefTrial trial;
  trial.passed = true;
  while (!reader.done()) {
    if (!reader.read(of_format) || !reader.read(trial.format, of_format.name_bytes)) return false;
    trial.version = of_format.version;
    const auto known = versions.find(trial.format);
    const bool wanted = known != versions.end() && known->second == of_format.version;
    for (std::uint32_t i = 0; i < of_format.trials; ++i) {
      if (!reader.read(head) || !reader.read(trial.params, head.params_bytes)) return false;
      if (!wanted) continue;
      trial.samples = head.samples;
      trial.seconds = head.seconds;
      trial.setup_seconds = head.setup_seconds;
      trial.bytes = head.bytes;
      if (!take(trial)) return true;
    }
  }
  return true;
}

}  // namespace

// Most parameters are known from other matrices: then none waits for another.
std::optional<std::vector<TrialRecord>> trials_in(std::string_view bytes, const Versions& versions,
                                                  SharedParams& shared) {
  const auto parse = [&] {
    const std::scoped_lock lock(shared.mutex);
    return for_each_kept(bytes, versions, [&](const BriefTrial& trial) {
      (void)shared.parsed.of(trial.params);
      return true;
    });
  };
  for (int attempt = 0; attempt < 2; ++attempt) {
    std::vector<TrialRecord> trials;
    trials.reserve(bytes.size() / (2 * sizeof(TrialHead)));
    bool all_known = true;
    {
      const std::shared_lock lock(shared.mutex);
      const bool sound = for_each_kept(bytes, versions, [&](const BriefTrial& trial) {
        const auto* const params = shared.parsed.find(trial.params);
        all_known = params != nullptr;
        if (all_known) add_if_passed(trial, *params, trials);
        return all_known;
      });
      if (!sound) return std::nullopt;
    }
    if (all_known) return trials;
    if (!parse()) return std::nullopt;
  }
  return std::nullopt;
}

std::optional<MatrixRecord> matrix_in(std::string_view bytes) {
  Reader reader(bytes);
  std::uint64_t order = 0;
  MatrixHead head{};
  MatrixRecord matrix;
  if (!reader.read(order) || order != byte_order || !reader.read(head) || head.rows < 0 || head.cols < 0 ||
      head.nnz < 0 || !reader.read(matrix.label, head.label_bytes) || !reader.read(matrix.source, head.source_bytes)) {
    return std::nullopt;
  }
  matrix.rows = head.rows;
  matrix.cols = head.cols;
  matrix.nnz = head.nnz;
  while (!reader.done()) {
    auto& [name, value] = matrix.features.emplace_back();
    std::uint32_t name_bytes = 0;
    if (!reader.read(value) || !reader.read(name_bytes) || !reader.read(name, name_bytes)) return std::nullopt;
    if (!std::isfinite(value)) matrix.features.pop_back();
  }
  return matrix;
}

void keep_passed(const Connection& connection) {
  const auto newest = newest_trial(connection);
  Statement insertion(connection,
                      "INSERT INTO passed (matrix, environment, upto, described, trials) "
                      "VALUES (?1, ?2, ?3, CAST(?4 AS BLOB), CAST(?5 AS BLOB))");
  Statement pairs(connection, "SELECT DISTINCT matrix, environment FROM trial");
  while (pairs.step()) {
    std::string fingerprint;
    std::int64_t environment = 0;
    pairs.read(fingerprint, environment);
    const auto matrix = read_matrix(connection, fingerprint);
    if (!matrix) continue;
    insertion
        .bind(fingerprint, environment, newest, bytes_of(*matrix),
              bytes_of(last_passed(connection, fingerprint, environment)))
        .run();
  }
}

// One statement, for each asks for the lock of the file, which takes longer than to find the row.
std::optional<KeptMatrix> find_kept(const Connection& connection, const std::string& fingerprint,
                                    std::int64_t environment) {
  std::int64_t upto = 0;
  std::int64_t newest = 0;
  KeptMatrix kept;
  {
    Statement statement(connection,
                        "SELECT upto, (SELECT ifnull(max(id), 0) FROM trial), described, trials FROM passed "
                        "WHERE matrix = ?1 AND environment = ?2");
    if (!statement.bind(fingerprint, environment).step()) return std::nullopt;
    statement.read(upto, newest, kept.described, kept.trials);
  }
  if (newest > upto) {
    Statement newer(connection, "SELECT 1 FROM trial WHERE id > ?1 AND matrix = ?2 AND environment = ?3 LIMIT 1");
    if (newer.bind(upto, fingerprint, environment).step()) return std::nullopt;
  }
  return kept;
}

}  // namespace autospmv::db
