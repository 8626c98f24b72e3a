// The members of Database that look after what is kept.
#include <algorithm>
#include <memory>
#include <utility>

#include "db/impl.hpp"
#include "db/keeping/exchange.hpp"
#include "db/keeping/forgetting.hpp"
#include "db/keeping/passed.hpp"
#include "db/keeping/pieces.hpp"
#include "db/keeping/points.hpp"
#include "db/keeping/statistics.hpp"
#include "db/matrices.hpp"
#include "db/trials.hpp"

namespace autospmv {

using db::Connection;
using db::Statement;

std::vector<DatedTrial> Database::history(const TrialKey& key) { return impl_->ask(key, db::find_history); }

std::vector<FinishedTuning> Database::tunings(const TrialKey& key) {
  return impl_->ask(key, [](Connection& connection, const std::string& fingerprint, std::int64_t environment) {
    std::vector<FinishedTuning> tunings;
    Statement statement(connection,
                        "SELECT effort, catalogue, finished_at FROM tuning WHERE matrix = ?1 AND environment = ?2 "
                        "ORDER BY finished_at, effort, catalogue");
    statement.bind(fingerprint, environment);
    while (statement.step()) {
      auto& tuning = tunings.emplace_back();
      statement.read(tuning.effort, tuning.catalogue, tuning.moment);
    }
    return tunings;
  });
}

std::vector<Machine> Database::machines() {
  return impl_->attempt([](Connection& connection) {
    std::vector<Machine> machines;
    Statement statement(connection,
                        "SELECT host, backend, device, copy_bandwidth FROM machine ORDER BY host, backend, device");
    while (statement.step()) {
      auto& machine = machines.emplace_back();
      statement.read(machine.host, machine.backend, machine.device, machine.copy_bandwidth);
    }
    return machines;
  });
}

RecordedPoints Database::points(const std::string& backend, const std::string& type, const PointMaker& maker) {
  auto all = impl_->attempt([&](Connection& connection) { return db::find_points(connection, backend, type, maker); });
  for (std::size_t i = 0; i < impl_->layers.size(); ++i) {
    db::add_layer(all, impl_->layers[i]->points(backend, type, maker), i + 1);
  }
  return all;
}

void Database::keep_passed() {
  impl_->attempt_write([](Connection& connection) {
    db::forget_points(connection);
    db::keep_passed(connection);
  });
}

std::optional<MatrixRecord> Database::matrix_at(const RecordedPoints& points, const RecordedPoint& point) {
  const auto& environment = points.environments[point.environment];
  auto& owner = impl_of(environment.layer);
  const auto kept = owner.attempt(
      [&](Connection& connection) { return db::find_kept(connection, point.pattern.text(), environment.id); });
  if (kept) {
    if (auto matrix = db::matrix_in(kept->described)) return matrix;
  }
  return owner.attempt([&](Connection& connection) { return db::read_matrix(connection, point.pattern.text()); });
}

std::vector<std::function<KnownMatrix()>> Database::known(const RecordedPoints& points,
                                                          std::span<const std::size_t> which,
                                                          const std::string& catalogue) {
  const auto environment_of = [&](std::size_t at) -> const RecordedEnvironment& {
    return points.environments[points.points[at].environment];
  };
  std::vector<std::optional<db::KeptMatrix>> kept(which.size());
  for (std::size_t layer = 0; layer <= impl_->layers.size(); ++layer) {
    const auto is_there = [&](std::size_t at) { return environment_of(at).layer == layer; };
    if (std::ranges::none_of(which, is_there)) continue;
    impl_of(layer).attempt([&](Connection& connection) {
      const db::Snapshot snapshot(connection);
      for (std::size_t i = 0; i < which.size(); ++i) {
        if (!is_there(which[i])) continue;
        kept[i] = db::find_kept(connection, points.points[which[i]].pattern.text(), environment_of(which[i]).id);
      }
    });
  }
  // What several databases know of a matrix is put together from the rows of all.
  const auto is_of_one = [&](const RecordedEnvironment& environment) {
    return std::ranges::count(points.environments, environment.key, &RecordedEnvironment::key) == 1;
  };
  const auto versions = std::make_shared<const db::Versions>(db::versions_in(catalogue));
  std::vector<std::function<KnownMatrix()>> known;
  known.reserve(which.size());
  for (std::size_t i = 0; i < which.size(); ++i) {
    const auto layer = environment_of(which[i]).layer;
    known.emplace_back([this, &points, at = which[i], catalogue, versions, layer, found = std::move(kept[i]),
                        alone = is_of_one(environment_of(which[i]))] {
      const auto& point = points.points[at];
      auto matrix = found ? db::matrix_in(found->described) : std::nullopt;
      auto trials =
          found && alone ? db::trials_in(found->trials, *versions, impl_of(layer).shared_params) : std::nullopt;
      if (!matrix) matrix = matrix_at(points, point);
      if (!trials) return KnownMatrix{std::move(matrix), passed(points.key_of(point), catalogue)};
      for (auto& trial : *trials) trial.layer = layer;
      return KnownMatrix{std::move(matrix), std::move(*trials)};
    });
  }
  return known;
}

std::optional<std::string> Database::state_of_layers() {
  const auto newest = [](Connection& connection) { return std::optional(db::newest_trial(connection)); };
  if (impl_->attempt(newest) != 0) return std::nullopt;
  std::string state;
  for (const auto& layer : impl_->layers) {
    const auto trial = layer->impl_->attempt(newest);
    if (!trial) return std::nullopt;
    state += layer->impl_->layer_state + " " + std::to_string(*trial) + "\n";
  }
  return state;
}

Forgotten Database::forget(const Selection& selection) {
  return impl_->change_or_throw([&](Connection& connection) {
    db::forget_points(connection);
    return db::forget_chosen(connection, selection);
  });
}

void Database::visit(const Selection& selection, const std::function<void(const Row&)>& take) {
  const std::scoped_lock lock(impl_->mutex);
  db::visit_chosen(impl_->connection, selection, take);
}

std::shared_ptr<Database> Database::of_rows(const std::function<bool(Row&)>& next) {
  auto database = in_memory();
  database->impl_->change_or_throw([&](Connection& connection) {
    for (Row row; next(row);) db::add_row(connection, row);
    return true;
  });
  return database;
}

Merged Database::merge(Database& other, const Selection& selection) {
  if (&other == this) return {};
  const std::scoped_lock lock(other.impl_->mutex);
  return impl_->change_or_throw([&](Connection& connection) {
    db::forget_points(connection);
    return db::merge_chosen(connection, other.impl_->connection, selection);
  });
}

Statistics Database::statistics(const Selection& selection) {
  return impl_->attempt([&](Connection& connection) { return db::statistics_of(connection, selection); });
}

std::vector<std::string> Database::faults() {
  const std::scoped_lock lock(impl_->mutex);
  return db::faults_of(impl_->connection);
}

void Database::vacuum() {
  const std::scoped_lock lock(impl_->mutex);
  if (impl_->connection.moved()) throw Error("database " + file().string() + " was removed or replaced");
  impl_->connection.execute("VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
}

}  // namespace autospmv
