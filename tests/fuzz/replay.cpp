// fuzz_replay_TARGET FILE-OR-FOLDER...: gives the target what the files hold, as libFuzzer does, by any compiler. What
// was found once is never lost again.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/support.hpp"

namespace {

namespace fs = std::filesystem;

std::vector<fs::path> files_of(const fs::path& path) {
  if (!fs::is_directory(path)) return {path};
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path)) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

void replay(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::vector<char> text{std::istreambuf_iterator<char>(stream), {}};
  autospmv::fuzzing::require(stream.good() || stream.eof(), "the input can be read");
  // Of exactly that size, so that a sanitizer sees a read past its end.
  const auto data = std::make_unique<std::uint8_t[]>(text.size());
  std::copy(text.begin(), text.end(), data.get());
  LLVMFuzzerTestOneInput(data.get(), text.size());
}

}  // namespace

int main(int argc, char** argv) {
  int count = 0;
  for (int i = 1; i < argc; ++i) {
    for (const auto& file : files_of(argv[i])) {
      // Before, so that it is the last line where the target ends the process.
      std::printf("%s\n", file.c_str());
      std::fflush(stdout);
      replay(file);
      ++count;
    }
  }
  std::printf("%d inputs\n", count);
  return count > 0 ? 0 : 1;
}
