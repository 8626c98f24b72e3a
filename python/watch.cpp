#include "watch.hpp"

#include <nanobind/stl/string.h>

#include <atomic>
#include <chrono>
#include <utility>

namespace nb = nanobind;

namespace autospmv::python {

namespace {

using Clock = std::chrono::steady_clock;

// More often nobody could press a key, and each time waits for whoever runs in Python.
constexpr auto between_looks = std::chrono::milliseconds(20);

std::atomic<bool> line_stands = false;

// That a signal came while the line was written: its exception stands in Python, and whoever asks next is told.
thread_local bool has_raised = false;

nb::object line(const char* function) { return nb::module_::import_("autospmv.progress").attr(function); }

void clear_line() {
  if (!line_stands.exchange(false)) return;
  const nb::gil_scoped_acquire python;
  try {
    line("clear")();
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("the progress of a tuning");
  }
}

void show(const Progress& progress) {
  const nb::gil_scoped_acquire python;
  try {
    line_stands = nb::cast<bool>(line("show")(progress.done, progress.total, progress.candidate));
  } catch (nb::python_error& error) {
    error.restore();
    has_raised = true;
  }
}

bool is_interrupted() {
  thread_local Clock::time_point last;
  const auto now = Clock::now();
  const bool is_known = std::exchange(has_raised, false);
  if (!is_known && now - last < between_looks) return false;
  last = now;
  const nb::gil_scoped_acquire python;
  if (!is_known && PyErr_CheckSignals() == 0) return false;
  nb::python_error raised;
  clear_line();
  raised.restore();
  return true;
}

}  // namespace

void watch_tunings(ContextOptions& options, bool shown) {
  if (shown) options.progress = show;
  options.stop = is_interrupted;
}

OthersRun::~OthersRun() { clear_line(); }

}  // namespace autospmv::python
