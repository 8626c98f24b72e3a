// What goes to standard error: errors, warnings, and how far the work is.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "autospmv/options.hpp"
#include "tuner/tuner.hpp"

namespace autospmv::tools {

/// "autospmv: TEXT", in one line whatever the text holds.
void complain(std::string_view text);

/// what(), in words where the standard library has none.
std::string text_of(const std::exception& error);

/// Writes "autospmv: warning: ..." lines; where `quiet`, only errors.
Logger make_logger(bool quiet);

/// Thrown between two trials after Ctrl-C or a request to terminate. Not an error of any matrix: it ends the program.
struct Interrupted {};

/// While it lives, the first interrupt waits for the end of a trial, so that the candidate under trial is not
/// remembered as one that kills processes; the second one kills.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Throws Interrupted where there was one.
  static void check();
};

/// One line on the terminal that is written again and again, and gone in the end. Nothing in a pipe.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  void clear();

  /// Label and reporting function for the tuning of one matrix. Refers to this object.
  TuneOptions follow(const std::string& label);

 private:
  bool enabled_;
  bool shown_ = false;
  std::optional<InterruptGuard> interrupts_;  // from the first trial of a matrix to its last
};

}  // namespace autospmv::tools
