// Matrices made from a line of text, "gen:KIND:ARGS". The same text gives the same matrix, bit for bit, for any number
// of threads; rows are sorted by column and free of duplicates.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/machine/device.hpp"
#include "io/host_csr.hpp"

namespace autospmv {

/// One entry of the table that the program's help shows.
struct GeneratorInfo {
  std::string_view name;
  std::string_view usage;
  std::string_view meaning;
};

std::span<const GeneratorInfo> generator_table();

/// Whether the text asks for a generator: it begins with "gen:".
bool is_generator(std::string_view source);

/// T is float or double. Throws InvalidArgument for an unknown kind, wrong
/// arguments, more than 2^31 - 1 rows or columns, more than 2^40 nonzeros or arrays of more than `most_bytes`, before
/// anything is allocated.
template <class T>
HostCsr<T> generate(std::string_view spec, std::int64_t most_bytes = host_device().memory_bytes);

}  // namespace autospmv
