// The bytes are a file, plain, compressed or a tar archive, of which a matrix is read.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "io/archive.hpp"
#include "io/matrix_market.hpp"
#include "tests/fuzz/support.hpp"

namespace autospmv::fuzzing {
namespace {

// What a few thousand bytes may unpack to here.
constexpr std::int64_t most_bytes = 1 << 20;

// A file in memory that has a path, rewritten each time.
class File {
 public:
  File() : descriptor_(memfd_create("matrix.tar.gz", MFD_CLOEXEC)) {
    require(descriptor_ >= 0, "there is a file in memory");
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(const std::uint8_t* data, std::size_t size) const {
    require(ftruncate(descriptor_, 0) == 0, "the file can be emptied");
    require(pwrite(descriptor_, data, size, 0) == static_cast<ssize_t>(size), "the file can be written");
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

// For which offsets are allocated. Texts are for another target: no other kind is missed by passing over these.
bool promises_many_rows(const std::vector<char>& text) {
  constexpr int few_digits = 5;
  int digits = 0;
  for (const char c : text) {
    digits = c >= '0' && c <= '9' ? digits + 1 : 0;
    if (digits > few_digits) return true;
  }
  return false;
}

void check(const std::uint8_t* data, std::size_t size) {
  static const File file;
  file.write(data, size);
  std::vector<char> text;
  if (!is_taken([&] { text = read_text(file.path(), most_bytes); })) return;
  require(!text.empty() && std::ssize(text) <= most_bytes, "some text, and not more than may be");
  if (promises_many_rows(text)) return;
  HostCsr<double> matrix;
  if (is_taken([&] { matrix = parse_matrix_market<double>(text, "matrix"); })) require_sound(matrix, Columns::sorted);
}

}  // namespace
}  // namespace autospmv::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  autospmv::fuzzing::check(data, size);
  return 0;
}
