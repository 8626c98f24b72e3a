#include "watch.hpp"

#include <atomic>
#include <chrono>

namespace nb = nanobind;

namespace autospmv::python {

namespace {

using Clock = std::chrono::steady_clock;

// More often nobody could press a key, and each time waits for whoever runs in Python.
constexpr auto between_looks = std::chrono::milliseconds(20);

std::atomic<bool> line_stands = false;

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

// What a signal raises here ends the tuning, as it does between its samples.
void show(const Progress& progress) {
  const nb::gil_scoped_acquire python;
  try {
    line_stands = nb::cast<bool>(line("show")(progress.done, progress.total, progress.candidate));
  } catch (nb::python_error& error) {
    error.restore();
  }
}

bool is_interrupted() {
  thread_local Clock::time_point last;
  const auto now = Clock::now();
  if (now - last < between_looks) return false;
  last = now;
  const nb::gil_scoped_acquire python;
  if (PyErr_Occurred() == nullptr && PyErr_CheckSignals() == 0) return false;
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
