// Trials of many matrices on one device, as text: no more than predictions for other matrices need of them.
//
// The first line is "device BACKEND NAME", the second "formats NAME:VERSION ...". Of each matrix there is a line
// "matrix LABEL TYPE NAME=VALUE ..." of features, then its trials that passed, "trial FORMAT PARAMS MICROSECONDS SETUP
// BYTES". Tabs part what may hold spaces.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "core/trial.hpp"

namespace autospmv {

/// A matrix and what candidates took on it.
struct MatrixTrials {
  TrialKey key;
  MatrixRecord matrix;
  std::vector<TrialRecord> trials;
};

/// Reads a file, packed or not. Patterns are not recorded: a matrix gets one that no matrix has and that its line
/// decides, and its key no toolkit, driver and library, so that no trial is ever taken for one of a caller's matrix.
/// Throws Error, "FILE:LINE: what is wrong".
std::vector<MatrixTrials> read_recording(const std::string& file);

/// Writes what read_recording() reads, of matrices on one device.
void write_recording(std::ostream& out, std::span<const MatrixTrials> matrices);

}  // namespace autospmv
