// What goes to standard error: errors, warnings, and how far the work is.
#pragma once

#include <exception>
#include <string>
#include <string_view>

#include "autospmv/options.hpp"
#include "tools/interrupts.hpp"
#include "tuner/measure/stop.hpp"
#include "tuner/plan/tuner.hpp"

namespace autospmv::tools {

/// "autospmv: TEXT", in one line whatever the text holds.
void complain(std::string_view text);

/// what(), in words where the standard library has none.
std::string text_of(const std::exception& error);

/// Writes "autospmv: warning: ..." lines; where `quiet`, only errors.
Logger make_logger(bool quiet);

/// What a matrix is called, and what it was read from: both are remembered with it.
struct MatrixName {
  std::string label;
  std::string source;
};

/// One line on the terminal that is written again and again, and gone in the end. Nothing in a pipe.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text) const;
  void clear();

  /// What work(options) returns, where the options are those of trials on the matrix of this name: how far they are
  /// is shown here, and a signal interrupts them. Throws Interrupted after that.
  template <class Work>
  auto during(const MatrixName& matrix, const Work& work) {
    auto result = [&] {
      const Keeping keeping;
      const Clearing clearing(*this);
      return work(follow(matrix));
    }();
    give_up_if(Keeping::stop);
    return result;
  }

 private:
  struct Clearing {
    ProgressLine& line;
    explicit Clearing(ProgressLine& shown) : line(shown) {}
    ~Clearing() { line.clear(); }
    Clearing(const Clearing&) = delete;
    Clearing& operator=(const Clearing&) = delete;
  };

  TuneOptions follow(const MatrixName& matrix);

  bool enabled_;
};

}  // namespace autospmv::tools
