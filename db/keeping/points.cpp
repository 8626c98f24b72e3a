#include "db/keeping/points.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "db/keeping/pieces.hpp"
#include "db/matrices.hpp"

namespace autospmv::db {

namespace {

// A record of the kept bytes: byte_order, then for each point pattern, environment and coordinates, of 8 bytes each.
constexpr std::size_t words_before_coordinates = 3;

struct Kept {
  std::int64_t upto = 0;  // the last trial that was looked at
  std::string bytes;
};

class Points {
 public:
  Points(const Connection& connection, const std::string& backend, const std::string& type, const PointMaker& maker)
      : connection_(connection), backend_(backend), type_(type), maker_(maker) {
    Statement statement(connection,
                        "SELECT id, value_type, operation, backend, device, toolkit, driver, library FROM environment "
                        "WHERE backend = ?1 AND (value_type = ?2 OR value_type LIKE ?2 || ' %') ORDER BY id");
    statement.bind(backend, type);
    while (statement.step()) {
      auto& environment = found_.environments.emplace_back();
      auto& key = environment.key;
      statement.read(environment.id, key.value_type, key.operation, key.backend, key.device, key.toolkit, key.driver,
                     key.library);
      index_[environment.id] = static_cast<std::uint32_t>(found_.environments.size() - 1);
    }
  }

  // Whether what is kept tells so little that it is worth replacing.
  bool find() {
    auto kept = read();
    add_kept(kept.bytes);
    const auto newest = newest_trial(connection_);
    if (newest <= kept.upto) return false;
    if (kept.upto == 0) {
      for (const auto& one : find_recorded(connection_, backend_, type_)) add(one.matrix, one.key.pattern, one.key);
    } else {
      add_newer_than(kept.upto);
    }
    upto_ = newest;
    constexpr std::int64_t few = 1000;
    constexpr std::int64_t percent = 50;
    return newest - kept.upto > few + kept.upto / percent;
  }

  void keep(Connection& connection) const {
    std::string bytes;
    const auto put = [&](auto value) { bytes.append(std::bit_cast<std::array<char, 8>>(value).data(), 8); };
    put(byte_order);
    for (std::size_t p = 0; p < found_.points.size(); ++p) {
      const auto& point = found_.points[p];
      put(point.pattern.high);
      put(point.pattern.low);
      put(found_.environments[point.environment].id);
      for (const double coordinate : found_.coordinates_of(p)) put(coordinate);
    }
    Transaction transaction(connection, Transaction::Waiting::no);
    Statement(connection,
              "INSERT OR REPLACE INTO points (backend, value_type, maker, upto, bytes) "
              "VALUES (?1, ?2, ?3, ?4, CAST(?5 AS BLOB))")
        .bind(backend_, type_, maker_.name, upto_, bytes)
        .run();
    transaction.commit();
  }

  RecordedPoints take() { return std::move(found_); }

 private:
  // Nothing where it was kept for another way of making points.
  [[nodiscard]] Kept read() const {
    Kept kept;
    Statement statement(connection_,
                        "SELECT upto, bytes FROM points WHERE backend = ?1 AND value_type = ?2 AND maker = ?3");
    statement.bind(backend_, type_, maker_.name);
    if (statement.step()) statement.read(kept.upto, kept.bytes);
    const auto size = kept.bytes.size();
    const auto stride = 8 * (words_before_coordinates + maker_.dimensions);
    std::uint64_t order = 0;
    if (size >= 8) std::memcpy(&order, kept.bytes.data(), 8);
    if (order != byte_order || (size - 8) % stride != 0) return {};
    return kept;
  }

  void add_kept(const std::string& bytes) {
    if (bytes.empty()) return;
    const auto stride = 8 * (words_before_coordinates + maker_.dimensions);
    const auto count = (bytes.size() - 8) / stride;
    found_.dimensions = maker_.dimensions;
    found_.points.reserve(count);
    found_.coordinates.reserve(count * maker_.dimensions);
    const char* from = bytes.data() + 8;
    for (std::size_t p = 0; p < count; ++p, from += stride) {
      std::array<std::uint64_t, words_before_coordinates> words{};
      std::memcpy(words.data(), from, sizeof words);
      const auto environment = index_.find(static_cast<std::int64_t>(words[2]));
      if (environment == index_.end()) continue;
      const auto begin = found_.coordinates.size();
      found_.coordinates.resize(begin + maker_.dimensions);
      std::memcpy(found_.coordinates.data() + begin, from + sizeof words, stride - sizeof words);
      accept({{words[0], words[1]}, environment->second}, begin);
    }
  }

  void add_newer_than(std::int64_t upto) {
    std::set<std::pair<Fingerprint, std::uint32_t>> known;
    Statement statement(connection_, "SELECT DISTINCT matrix, environment FROM trial WHERE id > ?1");
    statement.bind(upto);
    while (statement.step()) {
      std::string fingerprint;
      std::int64_t environment = 0;
      statement.read(fingerprint, environment);
      const auto index = index_.find(environment);
      const auto pattern = Fingerprint::parse(fingerprint);
      if (index == index_.end() || !pattern) continue;
      if (known.empty()) {
        for (const auto& point : found_.points) known.emplace(point.pattern, point.environment);
      }
      if (!known.emplace(*pattern, index->second).second) continue;
      if (const auto recorded = read_recorded(connection_, fingerprint, environment)) {
        add(recorded->matrix, recorded->key.pattern, recorded->key);
      }
    }
  }

  void add(const MatrixRecord& matrix, const Fingerprint& pattern, TrialKey key) {
    key.pattern = {};
    const auto environment = std::find_if(found_.environments.begin(), found_.environments.end(),
                                          [&](const auto& e) { return e.key == key; });
    if (environment == found_.environments.end()) return;
    found_.dimensions = maker_.dimensions;
    const auto begin = found_.coordinates.size();
    found_.coordinates.resize(begin + maker_.dimensions);
    if (!maker_.make(matrix, std::span(found_.coordinates).subspan(begin))) {
      found_.coordinates.resize(begin);
      return;
    }
    accept({pattern, static_cast<std::uint32_t>(environment - found_.environments.begin())}, begin);
  }

  // The point whose coordinates are the last, unless they are none.
  void accept(const RecordedPoint& point, std::size_t begin) {
    const auto coordinates = std::span(found_.coordinates).subspan(begin);
    if (std::all_of(coordinates.begin(), coordinates.end(), [](double c) { return std::isfinite(c); })) {
      found_.points.push_back(point);
    } else {
      found_.coordinates.resize(begin);
    }
  }

  const Connection& connection_;
  const std::string& backend_;
  const std::string& type_;
  const PointMaker& maker_;
  RecordedPoints found_;
  std::map<std::int64_t, std::uint32_t> index_;  // of environments, by their ids
  std::int64_t upto_ = 0;
};

}  // namespace

RecordedPoints find_points(Connection& connection, const std::string& backend, const std::string& type,
                           const PointMaker& maker) {
  Points points(connection, backend, type, maker);
  if (points.find() && !connection.read_only()) {
    try {
      points.keep(connection);
    } catch (const SqliteError&) {
      // Somebody is writing, or nobody can: the next to ask makes them again.
    }
  }
  return points.take();
}

void add_layer(RecordedPoints& all, const RecordedPoints& lower, std::size_t layer) {
  const auto first = static_cast<std::uint32_t>(all.environments.size());
  for (auto environment : lower.environments) {
    environment.layer = layer;
    all.environments.push_back(std::move(environment));
  }
  // Where an environment is known to both, so may a matrix in it be: the first of them stands for both.
  std::vector<std::uint32_t> meant;
  bool any_twice = false;
  for (const auto& environment : all.environments) {
    const auto same = std::find_if(all.environments.begin(), all.environments.end(),
                                   [&](const auto& e) { return e.key == environment.key; });
    meant.push_back(static_cast<std::uint32_t>(same - all.environments.begin()));
    any_twice = any_twice || (meant.size() > first && meant.back() < first);
  }
  std::set<std::pair<Fingerprint, std::uint32_t>> known;
  if (any_twice) {
    for (const auto& point : all.points) known.emplace(point.pattern, meant[point.environment]);
  }
  all.dimensions = std::max(all.dimensions, lower.dimensions);
  for (std::size_t p = 0; p < lower.points.size(); ++p) {
    auto point = lower.points[p];
    point.environment += first;
    if (any_twice && known.contains({point.pattern, meant[point.environment]})) continue;
    all.points.push_back(point);
    const auto coordinates = lower.coordinates_of(p);
    all.coordinates.insert(all.coordinates.end(), coordinates.begin(), coordinates.end());
  }
}

void forget_points(const Connection& connection) {
  Statement(connection, "DELETE FROM points").run();
  Statement(connection, "DELETE FROM passed").run();
}

}  // namespace autospmv::db
