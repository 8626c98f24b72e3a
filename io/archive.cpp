#include "io/archive.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/error.hpp"

namespace autospmv {

namespace {

constexpr std::size_t block_bytes = std::size_t{1} << 20;

struct Release {
  void operator()(archive* reader) const { archive_read_free(reader); }
};

// One pass through a file; every failure names the file.
class Reader {
 public:
  Reader(const std::string& path, std::int64_t most_bytes)
      : name_(display_name(path)), most_bytes_(static_cast<std::size_t>(most_bytes)), reader_(archive_read_new()) {
    archive_read_support_filter_all(reader_.get());
    archive_read_support_format_tar(reader_.get());
    archive_read_support_format_raw(reader_.get());
    archive_read_support_format_empty(reader_.get());
    if (path == "-") {
      check(archive_read_open_fd(reader_.get(), STDIN_FILENO, block_bytes));
    } else {
      check_readable(path);
      check(archive_read_open_filename(reader_.get(), path.c_str(), block_bytes));
    }
  }

  // Moves to the next member, the only one where the file is no archive; nullptr after the last.
  archive_entry* next() {
    archive_entry* entry = nullptr;
    return check(archive_read_next_header(reader_.get(), &entry)) ? entry : nullptr;
  }

  [[nodiscard]] bool is_tar() const {
    return (archive_format(reader_.get()) & ARCHIVE_FORMAT_BASE_MASK) == ARCHIVE_FORMAT_TAR;
  }

  [[nodiscard]] bool is_compressed() const { return archive_filter_count(reader_.get()) > 1; }

  // What is left of the member; `expected` bytes of it, or 0 where nobody knows.
  std::vector<char> read(std::size_t expected) {
    std::vector<char> text;
    text.reserve(expected);
    const auto block = std::make_unique_for_overwrite<char[]>(block_bytes);
    while (true) {
      const la_ssize_t size = archive_read_data(reader_.get(), block.get(), block_bytes);
      if (size < 0) check(ARCHIVE_FATAL);
      if (size <= 0) break;
      if (text.size() + static_cast<std::size_t>(size) > most_bytes_) fail("too large for the memory that there is");
      text.insert(text.end(), block.get(), block.get() + size);
    }
    return text;
  }

  [[noreturn]] void fail(const std::string& what) const { throw Error(name_ + ": " + what); }

 private:
  void check_readable(const std::string& path) const {
    if (access(path.c_str(), R_OK) != 0) {
      fail(errno == ENOENT ? "no such file" : "cannot be read: " + std::generic_category().message(errno));
    }
    if (std::filesystem::is_directory(path)) fail("is a directory");
  }

  // False at the end. A warning is about a member's metadata, which nobody reads here.
  bool check(int status) const {
    if (status == ARCHIVE_EOF) return false;
    if (status >= ARCHIVE_WARN) return true;
    const char* detail = archive_error_string(reader_.get());
    fail(std::string("truncated or damaged") + (detail != nullptr ? " (" + std::string(detail) + ")" : ""));
  }

  std::string name_;
  std::size_t most_bytes_;
  std::unique_ptr<archive, Release> reader_;
};

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

// Links and folders hold nothing, and neither does an empty file: the matrix is another one.
std::vector<char> read_member(Reader& reader, archive_entry* entry, const std::string& wanted) {
  std::vector<char> first;
  bool found = false;
  for (; entry != nullptr; entry = reader.next()) {
    const char* path = archive_entry_pathname(entry);
    const std::string member = path != nullptr ? file_name(path) : "";
    if (!member.ends_with(".mtx")) continue;
    found = true;
    if (member != wanted && !first.empty()) continue;
    auto text = reader.read(0);
    if (member == wanted && !text.empty()) return text;
    if (first.empty()) first = std::move(text);
  }
  if (first.empty()) reader.fail(found ? "every .mtx file in this archive is empty" : "no .mtx file in this archive");
  return first;
}

bool remove_ending(std::string& name, std::string_view ending) {
  if (name.size() <= ending.size() || !name.ends_with(ending)) return false;
  name.erase(name.size() - ending.size());
  return true;
}

}  // namespace

std::string display_name(const std::string& path) { return path == "-" ? "standard input" : path; }

std::optional<std::string> matrix_name(const std::string& path) {
  static constexpr std::array<std::string_view, 8> compressions = {".gz",  ".xz",   ".zst", ".bz2",
                                                                   ".lz4", ".lzma", ".lz",  ".Z"};
  std::string name = file_name(path);
  if (remove_ending(name, ".tgz")) return name;
  for (const auto ending : compressions) {
    if (remove_ending(name, ending)) break;
  }
  if (remove_ending(name, ".mtx") || remove_ending(name, ".tar")) return name;
  return std::nullopt;
}

std::vector<char> read_text(const std::string& path, std::int64_t most_bytes) {
  Reader reader(path, most_bytes);
  archive_entry* entry = reader.next();
  if (entry == nullptr) reader.fail("empty file");
  if (reader.is_tar()) return read_member(reader, entry, matrix_name(path).value_or("") + ".mtx");
  std::error_code unknown;
  const auto size = std::filesystem::file_size(path, unknown);
  auto text = reader.read(reader.is_compressed() || unknown ? 0 : size);
  if (text.empty()) reader.fail("empty file");
  return text;
}

}  // namespace autospmv
