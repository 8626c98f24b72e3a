#include "tools/output/report.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <iostream>
#include <memory>
#include <new>
#include <utility>

#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "core/printable.hpp"

namespace autospmv::tools {

namespace {

bool on_terminal() { return isatty(STDERR_FILENO) == 1; }

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
  std::cerr << "autospmv: " << printable(line) << std::endl;
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
    logger->log(level == LogLevel::error ? spdlog::level::err : spdlog::level::warn, printable(message));
  };
}

ProgressLine::ProgressLine(bool quiet) : enabled_(!quiet && on_terminal()) {}

void ProgressLine::show(std::string_view text) const {
  if (!enabled_) return;
  line_stands = true;
  std::cerr << erase_line << printable(text).substr(0, terminal_width() - 1) << std::flush;
}

void ProgressLine::clear() {
  if (!line_stands) return;
  std::cerr << erase_line << std::flush;
  line_stands = false;
}

TuneOptions ProgressLine::follow(const MatrixName& matrix) {
  return {.label = matrix.label,
          .source = matrix.source,
          .progress =
              [this, label = matrix.label](const Progress& progress) {
                show(label + ": candidate " + std::to_string(progress.done + 1) + " of " +
                     std::to_string(progress.total) + ": " + progress.candidate);
              },
          .stop = Keeping::stop};
}

}  // namespace autospmv::tools
