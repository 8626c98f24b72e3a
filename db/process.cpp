#include "db/process.hpp"

#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <system_error>

namespace autospmv::db {

namespace {

// proc(5), /proc/PID/stat: "pid (name) state ...", the start time being the 22nd field.
std::optional<std::int64_t> start_ticks_of(std::int64_t pid) {
  constexpr int fields_between_state_and_start = 18;
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  // Else memory that runs out would make the process look as if it were gone.
  stat.exceptions(std::ios::badbit);
  std::string content;
  try {
    if (!std::getline(stat, content, '\0')) return std::nullopt;
  } catch (const std::ios::failure&) {
    return std::nullopt;  // it ended meanwhile
  }
  const auto name_end = content.rfind(')');  // the name may hold anything, parentheses and newlines too
  if (name_end == std::string::npos) return std::nullopt;

  std::istringstream fields(content.substr(name_end + 1));
  fields.exceptions(std::ios::badbit);
  char state = 0;
  fields >> state;
  if (state == 'Z' || state == 'X') return std::nullopt;
  std::string skipped;
  for (int i = 0; i < fields_between_state_and_start; ++i) fields >> skipped;
  std::int64_t start_ticks = 0;
  if (!(fields >> start_ticks)) return std::nullopt;
  return start_ticks;
}

std::string host_name() {
  std::array<char, 257> name{};  // the last byte stays 0: a name that is cut off need not end in one
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

// Two containers of one host may share a file and have processes of the same ids, of which neither sees the other's.
std::string process_namespace() {
  std::error_code unknown;
  std::string name = std::filesystem::read_symlink("/proc/self/ns/pid", unknown);
  if (!unknown) name.insert(name.begin(), ' ');
  return name;
}

}  // namespace

// It is asked for twice a trial, and takes as long to read as several small products.
Process this_process() {
  thread_local Process known;
  const auto pid = static_cast<std::int64_t>(getpid());
  if (known.pid != pid)
    known = {host_name() + process_namespace(), pid, start_ticks_of(pid).value_or(0)};  // not after a fork
  return known;
}

bool is_running(const Process& process) { return start_ticks_of(process.pid) == process.start_ticks; }

}  // namespace autospmv::db
