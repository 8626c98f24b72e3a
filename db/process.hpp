// Which process noted something, and whether it still runs.
#pragma once

#include <cstdint>
#include <string>

namespace autospmv::db {

struct Process {
  std::string host;  ///< with the namespace of process ids: what one host and one namespace see of each other
  std::int64_t pid = 0;
  std::int64_t start_ticks = 0;  ///< clock ticks from boot to its start: tells two processes with one id apart
};

Process this_process();

/// Whether a process of this host still runs. One that has ended and waits to be reaped does not.
bool is_running(const Process& process);

}  // namespace autospmv::db
