// What predictions for other matrices are made from, kept in one piece a matrix: to read a handful of matrices row by
// row takes longer than a thousand products of a small one.
#pragma once

#include <cstdint>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/trial.hpp"
#include "db/file/sqlite.hpp"
#include "db/trials.hpp"

namespace autospmv::db {

/// Of all threads.
struct SharedParams {
  std::shared_mutex mutex;
  ParsedParams parsed;
};

/// Keeps what read_matrix() and find_passed() say of all matrices. Nothing is kept yet.
void keep_passed(const Connection& connection);

/// The bytes that are kept of a matrix.
struct KeptMatrix {
  std::string described;
  std::string trials;
};

/// Nothing where there are none, or something came later.
std::optional<KeptMatrix> find_kept(const Connection& connection, const std::string& fingerprint,
                                    std::int64_t environment);

/// What they say, which takes no connection; nothing where they are damaged. Of trials, as find_passed() of a catalogue
/// that names these versions.
std::optional<std::vector<TrialRecord>> trials_in(std::string_view bytes, const Versions& versions,
                                                  SharedParams& shared);
std::optional<MatrixRecord> matrix_in(std::string_view bytes);

}  // namespace autospmv::db
