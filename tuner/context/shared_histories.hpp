// What other matrices say, read once a process.
#pragma once

#include <memory>
#include <string>

#include "core/machine/device.hpp"
#include "tuner/predict/cost_model.hpp"
#include "tuner/predict/history.hpp"

namespace autospmv {

/// All that a history depends on whose context knows nothing by itself.
struct HistoryOrigin {
  std::string layers;        ///< Database::state_of_layers()
  Place place;               ///< with what follows, all of the device that formats ask
  bool any_padding = false;  ///< as Device's
  CostModel model;

  friend bool operator==(const HistoryOrigin&, const HistoryOrigin&) = default;
};

/// One of the same origin that an earlier context of this process has read to the end; nullptr where there is none.
/// Safe from many threads, as is the next.
template <class T>
std::shared_ptr<const History<T>> shared_history(const HistoryOrigin& origin);

/// Keeps one for contexts to come, which asks no database for anything any more. Of several, the last few.
template <class T>
void share_history(const HistoryOrigin& origin, std::shared_ptr<const History<T>> history);

}  // namespace autospmv
