// What is kept in one piece beside the rows that it was made from.
#pragma once

#include <cstdint>

#include "db/file/sqlite.hpp"

namespace autospmv::db {

/// A piece begins with it: files go from machine to machine.
inline constexpr std::uint64_t byte_order = 0x0102030405060708;

/// Up to which a piece that is made now tells of the trials; 0 where there are none.
inline std::int64_t newest_trial(const Connection& connection) {
  return connection.number("SELECT ifnull(max(id), 0) FROM trial");
}

}  // namespace autospmv::db
