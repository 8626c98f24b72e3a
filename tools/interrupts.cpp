#include "tools/interrupts.hpp"

#include <unistd.h>

#include <csignal>
#include <initializer_list>

namespace autospmv::tools {

std::atomic<bool> line_stands = false;

namespace {

constexpr int status_of_signals = 128;

std::atomic<bool> keeping = false;
std::atomic<bool> stop_flag = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");
std::atomic<int> first_signal = SIGINT;

// Nothing here but what a signal handler may do.
extern "C" void end_program(int signal) {
  if (keeping && !stop_flag.exchange(true)) {
    first_signal = signal;
    return;
  }
  if (line_stands) static_cast<void>(!write(STDERR_FILENO, erase_line, sizeof(erase_line) - 1));
  _exit(status_of_signals + signal);
}

}  // namespace

void take_signals() {
  static_cast<void>(std::signal(SIGXFSZ, SIG_IGN));
  for (const int signal : {SIGHUP, SIGINT, SIGTERM}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;  // as nohup and shells in the background ask for
    action = {};
    action.sa_handler = end_program;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

Keeping::Keeping() { keeping = true; }

Keeping::~Keeping() { keeping = false; }

bool Keeping::stop() { return stop_flag; }

int interrupted_status() { return status_of_signals + first_signal; }

}  // namespace autospmv::tools
