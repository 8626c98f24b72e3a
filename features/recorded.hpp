// Features that were written down as names and numbers, read back.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "features/features.hpp"

namespace autospmv {

/// Integers beyond this are not told apart as double, and no feature comes near it.
inline constexpr double largest_recorded = 0x1p53;

/// The features by the names that feature_table() gives them, but for the bins of npr that hold no rows.
std::vector<std::pair<std::string, double>> record_of(const Features& features);

/// The features whose names and values, as record_of() gives them, the record holds once each, in any order.
/// Names that are not in the table are passed over. Nothing where one of the table is missing or no matrix has such
/// features together: the record is then of an older version, or damaged.
std::optional<Features> features_of_record(std::span<const std::pair<std::string, double>> record);

}  // namespace autospmv
