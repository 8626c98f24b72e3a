// What trials are of: matrices, and the environments that they were made in.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// By all of the key but the pattern.
std::optional<std::int64_t> find_environment(const Connection& connection, const TrialKey& key);
std::int64_t add_environment(const Connection& connection, const TrialKey& key);

/// A matrix keeps its label and its source until it is given others.
void add_matrix(const Connection& connection, const std::string& fingerprint, const MatrixRecord& matrix);

/// By its fingerprint; nothing where the file holds what no matrix of ours can be.
std::optional<MatrixRecord> read_matrix(const Connection& connection, const std::string& fingerprint);

/// The key and the matrix of trials that name these; nothing where the file holds what no matrix of ours can be.
std::optional<RecordedMatrix> read_recorded(const Connection& connection, const std::string& fingerprint,
                                            std::int64_t environment);

/// Does what Database::recorded says.
std::vector<RecordedMatrix> find_recorded(const Connection& connection, const std::string& backend,
                                          std::string_view type);

}  // namespace autospmv::db
