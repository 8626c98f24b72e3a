// What Python sees of a tuning while it runs: its line of progress, and the signals that came meanwhile.
#pragma once

#include <nanobind/nanobind.h>

#include <autospmv/options.hpp>

namespace autospmv::python {

/// Has tunings show themselves by autospmv.progress, if `shown`, and end where a signal raises KeyboardInterrupt, or
/// whatever its handler raises. That stands in Python already when they throw Interrupted.
void watch_tunings(ContextOptions& options, bool shown);

/// Other threads of Python run while one lives. In the end no line of progress stands any more.
class OthersRun {
 public:
  OthersRun() = default;
  ~OthersRun();
  OthersRun(const OthersRun&) = delete;
  OthersRun& operator=(const OthersRun&) = delete;

 private:
  nanobind::gil_scoped_release released_;
};

}  // namespace autospmv::python
