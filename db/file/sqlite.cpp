#include "db/file/sqlite.hpp"

#include <sqlite3.h>

#include <algorithm>

namespace autospmv::db {

namespace {

constexpr int busy_timeout_ms = 10'000;

[[noreturn]] void fail(int code, const char* text) {
  if ((code & 0xff) == SQLITE_NOMEM) throw OutOfMemory("out of memory in SQLite");
  throw SqliteError(code & 0xff, text);
}

void check(int code, sqlite3* connection) {
  if (code != SQLITE_OK) fail(code, sqlite3_errmsg(connection));
}

void check(int code, sqlite3_stmt* statement) { check(code, sqlite3_db_handle(statement)); }

// A file name as part of a URI, where three characters mean something else.
std::string uri_of(const std::filesystem::path& file, std::string_view query) {
  std::string uri = "file:";
  for (const char c : file.string()) {
    if (c == '%') {
      uri += "%25";
    } else if (c == '?') {
      uri += "%3f";
    } else if (c == '#') {
      uri += "%23";
    } else {
      uri += c;
    }
  }
  return uri.append("?").append(query);
}

std::string name_for(const std::filesystem::path& file, Access access) {
  return access == Access::immutable ? uri_of(file, "immutable=1") : file.string();
}

int flags_for(Access access) {
  switch (access) {
    case Access::write:
      return SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    case Access::read:
      return SQLITE_OPEN_READONLY;
    case Access::immutable:
      return SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  }
  return SQLITE_OPEN_READONLY;
}

}  // namespace

bool SqliteError::damaged() const { return code_ == SQLITE_CORRUPT || code_ == SQLITE_NOTADB; }

Connection::Connection(const std::filesystem::path& file, Access access)
    : Connection(name_for(file, access), flags_for(access)) {}

Connection Connection::in_memory() {
  return {":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_MEMORY};
}

Connection::Connection(const std::string& name, int flags) {
  sqlite3* handle = nullptr;
  const int code = sqlite3_open_v2(name.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  open_->handle.reset(handle);  // even a failed open makes a handle, for the text of the error
  if (handle == nullptr) fail(SQLITE_NOMEM, sqlite3_errstr(SQLITE_NOMEM));
  check(code, handle);
  check(sqlite3_busy_timeout(handle, busy_timeout_ms), handle);
  // Not by a PRAGMA, which would read the file: whether it can be read is for the first statement to find out.
  check(sqlite3_db_config(handle, SQLITE_DBCONFIG_ENABLE_FKEY, 1, nullptr), handle);
}

void Connection::Close::operator()(sqlite3* handle) const noexcept { sqlite3_close(handle); }

// NOLINTNEXTLINE(readability-make-member-function-const): it is the database that changes
void Connection::execute(const std::string& sql) {
  check(sqlite3_exec(handle(), sql.c_str(), nullptr, nullptr, nullptr), handle());
}

// NOLINTNEXTLINE(readability-make-member-function-const)
void Connection::copy_from(Connection& source) {
  auto* const backup = sqlite3_backup_init(handle(), "main", source.handle(), "main");
  if (backup == nullptr) fail(sqlite3_errcode(handle()), sqlite3_errmsg(handle()));
  // A step does not wait for a lock by itself, unlike all other calls.
  int code = SQLITE_OK;
  for (int waited_ms = 0; waited_ms < busy_timeout_ms; waited_ms += sqlite3_sleep(10)) {
    code = sqlite3_backup_step(backup, -1);
    if (code != SQLITE_BUSY && code != SQLITE_LOCKED) break;
  }
  sqlite3_backup_finish(backup);
  if (code != SQLITE_DONE) fail(code, sqlite3_errstr(code));
}

std::int64_t Connection::number(std::string_view query) const {
  Statement statement(*this, query);
  std::int64_t number = 0;
  if (statement.step()) statement.read(number);
  return number;
}

std::int64_t Connection::changes() const { return sqlite3_changes64(handle()); }

bool Connection::read_only() const { return sqlite3_db_readonly(handle(), "main") != 0; }

// Through SQLite's own descriptor: closing another one would drop the locks that this process has on the file.
std::string Connection::first_bytes(std::size_t most) const {
  sqlite3_file* file = nullptr;
  check(sqlite3_file_control(handle(), "main", SQLITE_FCNTL_FILE_POINTER, &file), handle());
  sqlite3_int64 size = 0;
  if (file == nullptr || file->pMethods == nullptr || file->pMethods->xFileSize(file, &size) != SQLITE_OK) {
    fail(SQLITE_CANTOPEN, "its size cannot be read");
  }
  std::string bytes(std::min(most, static_cast<std::size_t>(size)), '\0');
  if (bytes.empty()) return bytes;
  const int code = file->pMethods->xRead(file, bytes.data(), static_cast<int>(bytes.size()), 0);
  if (code != SQLITE_OK) fail(code, sqlite3_errstr(code));
  return bytes;
}

bool Connection::moved() const noexcept {
  int moved = 0;
  sqlite3_file_control(handle(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

void Finalize::operator()(sqlite3_stmt* handle) const noexcept { sqlite3_finalize(handle); }

Statement::Statement(const Connection& connection, std::string_view sql)
    : idle_(connection.idle()), node_(idle_.extract(sql)) {
  if (!node_.empty()) return;
  sqlite3_stmt* handle = nullptr;
  const int code = sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &handle, nullptr);
  check(code, connection.handle());
  std::unique_ptr<sqlite3_stmt, Finalize> owned(handle);
  IdleStatements prepared;
  prepared.try_emplace(sqlite3_sql(handle), std::move(owned));
  node_ = prepared.extract(prepared.begin());
}

Statement::~Statement() {
  // At rest it holds no lock on the file, and no values.
  reset();
  sqlite3_clear_bindings(handle());
  idle_.insert(std::move(node_));
}

Statement& Statement::bind_all(std::span<const Value> values) {
  reset();
  int index = 0;
  for (const auto& value : values) {
    ++index;
    std::visit([&](const auto& held) { bind_one(index, held); }, value);
  }
  return *this;
}

std::vector<Value> Statement::values(std::span<const ColumnInfo> columns, int first) const {
  std::vector<Value> read;
  read.reserve(columns.size());
  int column = first;
  for (const auto& info : columns) {
    auto& value = read.emplace_back(value_of(info.type));
    std::visit([&](auto& held) { read_one(column, held); }, value);
    ++column;
  }
  return read;
}

bool Statement::step() {
  const int code = sqlite3_step(handle());
  if (code != SQLITE_ROW && code != SQLITE_DONE) check(code, handle());
  return code == SQLITE_ROW;
}

void Statement::reset() {
  sqlite3_reset(handle());  // repeats the code of the last step, which has been thrown already
}

void Statement::bind_integer(int index, std::int64_t value) {
  check(sqlite3_bind_int64(handle(), index, value), handle());
}

void Statement::bind_one(int index, double value) { check(sqlite3_bind_double(handle(), index, value), handle()); }

void Statement::bind_one(int index, std::string_view value) {
  // A null pointer would bind NULL, and that is what an empty view may hold.
  const char* const data = value.empty() ? "" : value.data();
  check(sqlite3_bind_text64(handle(), index, data, value.size(), SQLITE_TRANSIENT, SQLITE_UTF8), handle());
}

void Statement::read_one(int column, std::int64_t& value) const { value = sqlite3_column_int64(handle(), column); }

void Statement::read_one(int column, double& value) const { value = sqlite3_column_double(handle(), column); }

void Statement::read_one(int column, std::string& value) const {
  const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(handle(), column));
  const auto size = static_cast<std::size_t>(sqlite3_column_bytes(handle(), column));
  value.assign(text == nullptr ? "" : text, size);
}

TriggersOff::TriggersOff(const Connection& connection) : connection_(connection) {
  check(sqlite3_db_config(connection_.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr), connection_.handle());
}

TriggersOff::~TriggersOff() { sqlite3_db_config(connection_.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 1, nullptr); }

Snapshot::Snapshot(Connection& connection) : connection_(connection) { connection_.execute("BEGIN"); }

Snapshot::~Snapshot() { sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr); }

Transaction::Transaction(Connection& connection, Waiting waiting) : connection_(connection) {
  const auto* const begin = "BEGIN IMMEDIATE";
  if (waiting == Waiting::yes) {
    connection_.execute(begin);
    return;
  }
  auto* const handle = connection_.handle();
  sqlite3_busy_timeout(handle, 0);
  const int code = sqlite3_exec(handle, begin, nullptr, nullptr, nullptr);
  sqlite3_busy_timeout(handle, busy_timeout_ms);
  check(code, handle);
}

Transaction::~Transaction() {
  // Some failures have rolled back already; then there is nothing left to do, and SQLite says so.
  if (open_) sqlite3_exec(connection_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() {
  connection_.execute("COMMIT");
  open_ = false;
}

}  // namespace autospmv::db
