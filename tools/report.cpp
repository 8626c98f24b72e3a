#include "tools/report.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <iostream>
#include <memory>
#include <new>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

namespace autospmv::tools {

namespace {

// Back to the first column, and nothing to the right of it.
constexpr std::string_view erase_line = "\r\033[K";

bool on_terminal() { return isatty(STDERR_FILENO) == 1; }

volatile std::sig_atomic_t interrupted = 0;

void note_interrupt(int /*signal*/) { interrupted = 1; }

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

void complain(std::string_view text) {
  std::string line(text);
  std::replace_if(
      line.begin(), line.end(), [](unsigned char c) { return std::iscntrl(c) != 0; }, ' ');
  std::cerr << "autospmv: " << line << std::endl;
}

std::string text_of(const std::exception& error) {
  if (dynamic_cast<const std::bad_alloc*>(&error) != nullptr) return "out of memory";
  return error.what();
}

Logger make_logger(bool quiet) {
  auto logger = std::make_shared<spdlog::logger>("autospmv", std::make_shared<spdlog::sinks::stderr_sink_mt>());
  // A warning may come while the progress line stands.
  logger->set_pattern((on_terminal() ? std::string(erase_line) : std::string()) + "autospmv: %l: %v");
  logger->set_level(quiet ? spdlog::level::err : spdlog::level::warn);
  return [logger = std::move(logger)](LogLevel level, std::string_view message) {
    // Bare text: as a format string, the braces of a message would be read as its fields.
    logger->log(level == LogLevel::error ? spdlog::level::err : spdlog::level::warn, message);
  };
}

InterruptGuard::InterruptGuard() {
  struct sigaction action {};
  action.sa_handler = note_interrupt;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

InterruptGuard::~InterruptGuard() {
  static_cast<void>(std::signal(SIGINT, SIG_DFL));
  static_cast<void>(std::signal(SIGTERM, SIG_DFL));
}

void InterruptGuard::check() {
  if (interrupted != 0) throw Interrupted{};
}

ProgressLine::ProgressLine(bool quiet) : enabled_(!quiet && on_terminal()) {}

void ProgressLine::show(std::string_view text) {
  if (!enabled_) return;
  std::cerr << erase_line << text.substr(0, terminal_width() - 1) << std::flush;
  shown_ = true;
}

void ProgressLine::clear() {
  if (shown_) std::cerr << erase_line << std::flush;
  shown_ = false;
  interrupts_.reset();
}

TuneOptions ProgressLine::follow(const std::string& label) {
  return {.label = label, .progress = [this, label](const Progress& progress) {
            if (!interrupts_) interrupts_.emplace();
            InterruptGuard::check();
            show(label + ": candidate " + std::to_string(progress.done + 1) + " of " + std::to_string(progress.total) +
                 ": " + progress.candidate);
          }};
}

}  // namespace autospmv::tools
