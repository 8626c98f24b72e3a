#include "db/matrices.hpp"

#include <cmath>
#include <utility>

namespace autospmv::db {

namespace {

std::optional<TrialKey> read_key(const Connection& connection, const std::string& fingerprint,
                                 std::int64_t environment) {
  const auto pattern = Fingerprint::parse(fingerprint);
  Statement statement(connection,
                      "SELECT value_type, operation, backend, device, toolkit, driver, library "
                      "FROM environment WHERE id = ?1");
  if (!pattern || !statement.bind(environment).step()) return std::nullopt;
  TrialKey key;
  key.pattern = *pattern;
  statement.read(key.value_type, key.operation, key.backend, key.device, key.toolkit, key.driver, key.library);
  return key;
}

}  // namespace

std::optional<MatrixRecord> read_matrix(const Connection& connection, const std::string& fingerprint) {
  Statement statement(connection, "SELECT label, rows, cols, nnz, source FROM matrix WHERE fingerprint = ?1");
  if (!statement.bind(fingerprint).step()) return std::nullopt;
  MatrixRecord matrix;
  statement.read(matrix.label, matrix.rows, matrix.cols, matrix.nnz, matrix.source);
  if (matrix.rows < 0 || matrix.cols < 0 || matrix.nnz < 0) return std::nullopt;

  Statement features(connection, "SELECT name, value FROM feature WHERE matrix = ?1 ORDER BY name");
  features.bind(fingerprint);
  while (features.step()) {
    auto& [name, value] = matrix.features.emplace_back();
    features.read(name, value);
    if (!std::isfinite(value)) matrix.features.pop_back();
  }
  return matrix;
}

std::optional<std::int64_t> find_environment(const Connection& connection, const TrialKey& key) {
  Statement statement(connection,
                      "SELECT id FROM environment WHERE value_type = ?1 AND operation = ?2 AND backend = ?3 "
                      "AND device = ?4 AND toolkit = ?5 AND driver = ?6 AND library = ?7");
  statement.bind(key.value_type, key.operation, key.backend, key.device, key.toolkit, key.driver, key.library);
  if (!statement.step()) return std::nullopt;
  std::int64_t id = 0;
  statement.read(id);
  return id;
}

std::int64_t add_environment(const Connection& connection, const TrialKey& key) {
  if (const auto known = find_environment(connection, key)) return *known;
  Statement statement(connection,
                      "INSERT INTO environment (value_type, operation, backend, device, toolkit, driver, library) "
                      "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) RETURNING id");
  statement.bind(key.value_type, key.operation, key.backend, key.device, key.toolkit, key.driver, key.library);
  std::int64_t id = 0;
  statement.step();
  statement.read(id);
  statement.run();
  return id;
}

void add_matrix(const Connection& connection, const std::string& fingerprint, const MatrixRecord& matrix) {
  Statement(connection,
            "INSERT INTO matrix (fingerprint, rows, cols, nnz, label, source) VALUES (?1, ?2, ?3, ?4, ?5, ?6) "
            "ON CONFLICT (fingerprint) DO UPDATE SET label = iif(excluded.label = '', label, excluded.label), "
            "source = iif(excluded.source = '', source, excluded.source) "
            "WHERE excluded.label || excluded.source <> ''")
      .bind(fingerprint, matrix.rows, matrix.cols, matrix.nnz, matrix.label, matrix.source)
      .run();
  Statement statement(connection,
                      "INSERT INTO feature (matrix, name, value) VALUES (?1, ?2, ?3) "
                      "ON CONFLICT (matrix, name) DO UPDATE SET value = excluded.value");
  for (const auto& [name, value] : matrix.features) {
    if (std::isfinite(value)) statement.bind(fingerprint, name, value).run();
  }
}

std::optional<RecordedMatrix> read_recorded(const Connection& connection, const std::string& fingerprint,
                                            std::int64_t environment) {
  auto key = read_key(connection, fingerprint, environment);
  auto matrix = read_matrix(connection, fingerprint);
  if (!key || !matrix) return std::nullopt;
  return RecordedMatrix{std::move(*key), std::move(*matrix)};
}

std::vector<RecordedMatrix> find_recorded(const Connection& connection, const std::string& backend,
                                          std::string_view type) {
  std::vector<RecordedMatrix> all;
  // Every pair is looked up in the index of trials, which is quicker than to read them all.
  Statement statement(
      connection,
      "SELECT fingerprint, environment.id FROM environment, matrix "
      "WHERE backend = ?1 AND (value_type = ?2 OR value_type LIKE ?2 || ' %') "
      "AND EXISTS (SELECT 1 FROM trial WHERE trial.matrix = fingerprint AND trial.environment = environment.id) "
      "AND EXISTS (SELECT 1 FROM feature WHERE feature.matrix = fingerprint) "
      "ORDER BY environment.id, fingerprint");
  statement.bind(backend, type);
  while (statement.step()) {
    std::string fingerprint;
    std::int64_t environment = 0;
    statement.read(fingerprint, environment);
    if (auto matrix = read_recorded(connection, fingerprint, environment)) all.push_back(std::move(*matrix));
  }
  return all;
}

}  // namespace autospmv::db
