// Ctrl-C, requests to terminate and other signals, as the program alone takes them.
#pragma once

#include <atomic>

namespace autospmv::tools {

/// From now on a signal that asks the program to end ends it at once with the status that shells know, 128 and its
/// number, and leaves a whole terminal behind. A file that may not grow is an error of the write, and no signal.
void take_signals();

/// While one lives, there is something to be kept: the first such signal only sets the flag, the next one ends the
/// program.
class Keeping {
 public:
  Keeping();
  ~Keeping();
  Keeping(const Keeping&) = delete;
  Keeping& operator=(const Keeping&) = delete;

  /// Whether the flag is set.
  [[nodiscard]] static bool stop();
};

/// The status of a program that the signal which has set the flag ends.
int interrupted_status();

/// Whether an unfinished line stands on the terminal, which a signal must not leave there.
extern std::atomic<bool> line_stands;

/// Back to the first column, and nothing to the right of it.
inline constexpr char erase_line[] = "\r\033[K";

}  // namespace autospmv::tools
