// Notes of candidates that a process is launching for the first time: what a dead process left may have killed it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "db/database.hpp"
#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// Notes and clears it for this process.
void add_suspect(const Connection& connection, const TrialKey& key, const Candidate& candidate);
void remove_suspect(const Connection& connection, const TrialKey& key, const Candidate& candidate);

/// Clears what any process has noted of the candidate.
void remove_all_notes(const Connection& connection, const TrialKey& key, const Candidate& candidate);

/// Clears all that this process has noted.
void remove_own_notes(Connection& connection);

/// By candidate. What a process that still runs has noted is none yet.
std::vector<Suspect> find_suspects(const Connection& connection, const std::string& fingerprint,
                                   std::int64_t environment);

}  // namespace autospmv::db
