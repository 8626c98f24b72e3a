// The text of a matrix file, however it is packed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/machine/device.hpp"

namespace autospmv {

/// The bytes of a file, unpacked: plain, compressed in any way libarchive knows (.gz, .xz, .zst, .bz2 ...), or the
/// Matrix Market member of a tar archive such as SuiteSparse's NAME.tar.gz: NAME.mtx where there is one, else the first
/// *.mtx, of those that hold anything. What the file holds decides, not how it is called. "-" is standard input.
/// Throws Error, "FILE: no such file", "FILE: empty file", "FILE: truncated or damaged (...)", among others, and where
/// it unpacks to more than `most_bytes`: a few thousand bytes may be packed gigabytes.
std::vector<char> read_text(const std::string& path, std::int64_t most_bytes = host_device().memory_bytes);

/// How errors name the path: itself, or "standard input" for "-".
std::string display_name(const std::string& path);

/// NAME of NAME.mtx, NAME.tar and either of them compressed (NAME.mtx.gz, NAME.tar.gz), without the folders; nullopt
/// for files of any other name.
std::optional<std::string> matrix_name(const std::string& path);

}  // namespace autospmv
