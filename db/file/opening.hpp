// From a path to a connection that can be used, whatever is found there.
#pragma once

#include <filesystem>
#include <string>

#include "db/file/sqlite.hpp"

namespace autospmv::db {

struct Opened {
  Connection connection;
  bool on_file = false;  ///< otherwise it is to memory
  std::string warning;   ///< what the user should know; mostly empty
};

/// autospmv/trials.db in $XDG_CACHE_HOME or ~/.cache; empty where neither is known.
std::filesystem::path own_place();

/// Links are followed once, here: the log lies beside the file itself, and the working directory may change later.
std::filesystem::path resolve(const std::filesystem::path& file);

/// Does what Database::open says. Throws InvalidArgument for a file that is not ours and Error for a newer version,
/// nothing else. The path is resolved.
Opened open_anyhow(const std::filesystem::path& file);

/// Does what Database::look says. Throws as well where the file cannot be read.
Connection look_at(const std::filesystem::path& file);

/// To be read while others may write it. Throws where the file is missing, is not ours, is of a newer version or cannot
/// be read.
Connection open_layer(const std::filesystem::path& file);

/// What tells the file and its log from others that lie in their place later.
std::string state_of_file(const std::filesystem::path& file);

/// Renames the damaged file that a connection was opened with, its log with it, and begins a new one. Many processes
/// may find the damage at once: one renames, and all get the new file. `reason` goes into the warning.
/// Throws SqliteError or std::system_error where the file can be neither renamed nor begun, and InvalidArgument where
/// it is not ours any more.
Opened replace_damaged(const std::filesystem::path& file, const Connection& damaged, const std::string& reason);

/// An empty database in memory, of the newest schema.
Connection begin_in_memory();

/// A database in memory that holds what the source holds, or nothing where that cannot be read.
Connection copy_to_memory(Connection& source);

}  // namespace autospmv::db
