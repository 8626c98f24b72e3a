// Where recorded matrices lie among each other, kept in one piece: to read the features of thousands of matrices one by
// one takes longer than tuning a small one.
#pragma once

#include <string>

#include "db/database.hpp"
#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// Does what Database::points says, of one file. Keeps what it has made of many trials, where the file can be written
/// at once.
RecordedPoints find_points(Connection& connection, const std::string& backend, const std::string& type,
                           const PointMaker& maker);

/// Adds those of a lower layer that are not known above it.
void add_layer(RecordedPoints& all, const RecordedPoints& lower, std::size_t layer);

/// Trials are about to change that are no newer than all others: neither points of them nor those that passed are kept.
void forget_points(const Connection& connection);

}  // namespace autospmv::db
