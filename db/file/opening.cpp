#include "db/file/opening.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <optional>
#include <string_view>
#include <system_error>
#include <thread>

#include "core/uncopied.hpp"
#include "db/file/migration.hpp"

namespace autospmv::db {

namespace fs = std::filesystem;

namespace {

bool has_content(const fs::path& file) {
  std::error_code missing;
  const auto size = fs::file_size(file, missing);
  return !missing && size > 0;
}

constexpr std::string_view sqlite_magic{"SQLite format 3\0", 16};

// The application's id, where the header of a database has it; 0 where there is no such header.
std::int64_t application_id_in(const std::string& header) {
  constexpr std::size_t at = 68;
  constexpr int bits_of_byte = 8;
  if (header.size() < at + 4 || !header.starts_with(sqlite_magic)) return 0;
  std::int64_t id = 0;
  for (std::size_t i = at; i < at + 4; ++i) id = id << bits_of_byte | static_cast<unsigned char>(header[i]);
  return id;
}

// What is not ours is left as it is: nothing but its first bytes was looked at. In our own place a header that lost the
// id was ours.
void refuse_others(const Connection& connection, const fs::path& file) {
  if (!has_content(file)) return;  // SQLite itself takes a file of one byte for an empty one
  constexpr std::size_t header_bytes = 100;
  const auto header = connection.first_bytes(header_bytes);
  if (application_id_in(header) == application_id) return;
  if (!header.starts_with(sqlite_magic)) throw InvalidArgument("it is no database");
  if (file != resolve(own_place())) throw InvalidArgument("it is a database of another program");
}

// A write-ahead log needs memory that all processes share, which no network file system gives to two hosts. SQLite does
// not notice, so only file systems known to be local are trusted with it.
bool is_local(const fs::path& file) {
  constexpr std::int64_t zfs_magic = 0x2fc12fc1;
  constexpr std::array<std::int64_t, 7> local = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,  BTRFS_SUPER_MAGIC,
                                                 TMPFS_MAGIC,      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC,
                                                 zfs_magic};
  struct statfs info = {};
  if (statfs(file.c_str(), &info) != 0) return false;
  return std::find(local.begin(), local.end(), static_cast<std::int64_t>(info.f_type)) != local.end();
}

std::string journal_mode(const Connection& connection) {
  Statement statement(connection, "PRAGMA journal_mode");
  std::string mode;
  if (statement.step()) statement.read(mode);
  return mode;
}

void choose_journal(Connection& connection, const fs::path& file) {
  const std::string wanted = is_local(file) ? "wal" : "delete";
  if (journal_mode(connection) == wanted) return;
  try {
    connection.execute("PRAGMA journal_mode = " + wanted);
  } catch (const SqliteError&) {
    // Somebody else is at work in the file, which changes its mode only for one who is alone. The next to open may.
  }
}

void bring_up_to_date(Connection& connection) {
  migrate(connection, migrations());
  // Preparing a statement reads the whole schema, and with it finds the damage that the header hides.
  const Statement ignored(connection, "SELECT id FROM trial");
}

void prepare_file(Connection& connection, const fs::path& file) {
  bring_up_to_date(connection);
  if (connection.read_only()) throw SqliteError(SQLITE_READONLY, "no permission to write it");
  choose_journal(connection, file);
  connection.execute("PRAGMA synchronous = NORMAL");
}

// Keeps a file from being replaced while others are about to find out what it is: SQLite goes by names, and would take
// the journal of the new file for that of the old one. The lock is on the directory, because closing any descriptor of
// the file itself would drop the locks that SQLite holds on it in this process. Waits a second at most: others may
// lock the directory for reasons of their own.
class DirectoryLock : Uncopied {
 public:
  DirectoryLock(const fs::path& directory, int operation)
      : descriptor_(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    using namespace std::chrono_literals;
    const auto give_up = std::chrono::steady_clock::now() + 1s;
    while (flock(descriptor_, operation | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      if (std::chrono::steady_clock::now() > give_up) break;
      std::this_thread::sleep_for(1ms);
    }
  }
  ~DirectoryLock() {
    if (descriptor_ >= 0) close(descriptor_);
  }

 private:
  int descriptor_;
};

Opened open_for_writing(const fs::path& file) {
  // Asked once: between two questions another process may set a damaged file aside.
  const auto status = fs::status(file);
  if (fs::exists(status) && !fs::is_regular_file(status)) throw SqliteError(SQLITE_CANTOPEN, "not a regular file");
  fs::create_directories(file.parent_path());
  std::optional<Connection> connection;
  try {
    const DirectoryLock lock(file.parent_path(), LOCK_SH);
    connection.emplace(file, Access::write);
    refuse_others(*connection, file);
    prepare_file(*connection, file);
    return {std::move(*connection), true, {}};
  } catch (const SqliteError& error) {
    if (!connection || !error.damaged()) throw;
    return replace_damaged(file, *connection, error.what());
  }
}

// The second attempt is for a file in a place where its log cannot be made, as a system database is.
std::optional<Connection> read_to_memory(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  for (const auto access : {Access::read, Access::immutable}) {
    try {
      Connection source(file, access);
      auto copy = Connection::in_memory();
      copy.copy_from(source);
      bring_up_to_date(copy);
      return copy;
    } catch (const SqliteError&) {
      continue;
    }
  }
  return std::nullopt;
}

Opened open_in_memory(const fs::path& file, const std::string& reason) {
  if (auto copy = read_to_memory(file)) {
    return {std::move(*copy), false,
            "database " + file.string() + " cannot be written (" + reason +
                "): its trials are used, new ones are kept in memory only"};
  }
  return {begin_in_memory(), false,
          "database " + file.string() + " cannot be opened (" + reason + "): trials are kept in memory only"};
}

Opened open_or_fall_back(const fs::path& file) {
  try {
    return open_for_writing(file);
  } catch (const SqliteError& error) {
    return open_in_memory(file, error.what());
  } catch (const std::system_error& error) {
    return open_in_memory(file, error.code().message());
  }
}

fs::path with_suffix(fs::path file, std::string_view suffix) { return file += suffix; }

fs::path free_name(const fs::path& file) {
  for (int number = 1;; ++number) {
    auto name = with_suffix(file, ".corrupt-" + std::to_string(number));
    if (!fs::exists(name)) return name;
  }
}

void rename_with_logs(const fs::path& from, const fs::path& to) {
  // The file goes last: a log that stayed behind would be replayed into the next file of that name.
  for (const auto* const log : {"-wal", "-shm", "-journal"}) {
    if (fs::exists(with_suffix(from, log))) fs::rename(with_suffix(from, log), with_suffix(to, log));
  }
  fs::rename(from, to);
}

// What is thrown says which file it is about.
template <class Body>
auto naming(const fs::path& file, const Body& body) {
  const auto sentence = [&](const char* reason) { return "cannot use database " + file.string() + ": " + reason; };
  try {
    return body();
  } catch (const OutOfMemory&) {
    throw;
  } catch (const InvalidArgument& error) {
    throw InvalidArgument(sentence(error.what()));
  } catch (const Error& error) {
    throw Error(sentence(error.what()));
  } catch (const std::system_error& error) {
    throw Error(sentence(error.code().message().c_str()));
  }
}

// Even a reader makes files beside a database that writes ahead. Where there is no log, the file alone tells
// everything, as long as nobody changes it meanwhile: as long as it takes to copy, that is, and not as long as somebody
// may look. That takes as much memory as the file is large, for the moment of a command; what is read for good is a
// layer, which is read in place.
Connection copy_without_a_trace(const fs::path& file) {
  constexpr int most_attempts = 10;
  const auto logged = [&] {
    return has_content(with_suffix(file, "-wal")) || has_content(with_suffix(file, "-journal"));
  };
  for (int attempt = 0;; ++attempt) {
    const auto changed_at = fs::last_write_time(file);
    const auto access = logged() || attempt == most_attempts ? Access::read : Access::immutable;
    auto copy = Connection::in_memory();
    std::exception_ptr failure;
    try {
      Connection source(file, access);
      refuse_others(source, file);
      copy.copy_from(source);
      bring_up_to_date(copy);
    } catch (const SqliteError&) {
      failure = std::current_exception();
    }
    if (access == Access::immutable && (logged() || fs::last_write_time(file) != changed_at)) continue;
    if (failure) std::rethrow_exception(failure);
    return copy;
  }
}

// The new name, or nothing where another process was faster: then the damaged file has lost its name already.
std::optional<fs::path> set_aside(const fs::path& file, const Connection& damaged) {
  if (damaged.moved()) return std::nullopt;
  refuse_others(damaged, file);
  auto name = free_name(file);
  rename_with_logs(file, name);
  return name;
}

}  // namespace

fs::path own_place() {
  const auto path_in = [](const char* variable) {
    const char* const value = std::getenv(variable);
    return value == nullptr ? fs::path{} : fs::path{value};
  };
  // The XDG base directory specification has relative paths ignored.
  if (const auto cache = path_in("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "autospmv" / "trials.db";
  if (const auto home = path_in("HOME"); home.is_absolute()) return home / ".cache" / "autospmv" / "trials.db";
  return {};
}

fs::path resolve(const fs::path& file) {
  std::error_code failed;
  auto absolute = fs::absolute(file, failed);
  if (failed) return file;
  auto resolved = fs::weakly_canonical(absolute, failed);
  return failed ? absolute : resolved;
}

Opened open_anyhow(const fs::path& file) {
  return naming(file, [&] { return open_or_fall_back(file); });
}

Connection look_at(const fs::path& file) {
  return naming(file, [&] {
    std::error_code unknown;
    const auto size = fs::file_size(file, unknown);
    if (!fs::exists(file, unknown) || (fs::is_regular_file(file, unknown) && size == 0)) return begin_in_memory();
    return copy_without_a_trace(file);
  });
}

Connection open_layer(const fs::path& file) {
  return naming(file, [&] {
    std::error_code unknown;
    if (!fs::is_regular_file(file, unknown)) throw Error("there is no such file");
    std::exception_ptr failure;
    // The second attempt is for a file in a place where its log cannot be made.
    for (const auto access : {Access::read, Access::immutable}) {
      try {
        Connection connection(file, access);
        refuse_others(connection, file);
        if (!is_up_to_date(connection)) return copy_without_a_trace(file);
        const Statement ignored(connection, "SELECT id FROM trial");  // as in bring_up_to_date()
        return connection;
      } catch (const SqliteError&) {
        failure = std::current_exception();
      }
    }
    std::rethrow_exception(failure);
  });
}

std::string state_of_file(const fs::path& file) {
  std::string state = file.string();
  for (const auto* const suffix : {"", "-wal"}) {
    struct stat found = {};
    if (stat(file.string().append(suffix).c_str(), &found) != 0) found = {};
    for (const auto number : {static_cast<std::int64_t>(found.st_dev), static_cast<std::int64_t>(found.st_ino),
                              static_cast<std::int64_t>(found.st_size), static_cast<std::int64_t>(found.st_mtim.tv_sec),
                              static_cast<std::int64_t>(found.st_mtim.tv_nsec)}) {
      state.append(" ").append(std::to_string(number));
    }
  }
  return state;
}

Opened replace_damaged(const fs::path& file, const Connection& damaged, const std::string& reason) {
  const DirectoryLock lock(file.parent_path(), LOCK_EX);
  const auto name = set_aside(file, damaged);
  Connection connection(file, Access::write);
  prepare_file(connection, file);
  return {std::move(connection), true,
          "database " + file.string() + " is damaged (" + reason +
              "): " + (name ? "it was renamed to " + name->filename().string() : "another process has renamed it") +
              " and a new one begun"};
}

Connection begin_in_memory() {
  auto connection = Connection::in_memory();
  bring_up_to_date(connection);
  return connection;
}

Connection copy_to_memory(Connection& source) {
  try {
    auto copy = Connection::in_memory();
    copy.copy_from(source);
    bring_up_to_date(copy);
    return copy;
  } catch (const Error&) {
    return begin_in_memory();
  }
}

}  // namespace autospmv::db
