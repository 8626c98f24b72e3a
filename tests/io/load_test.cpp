#include "io/load.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "io/archive.hpp"
#include "io/generators.hpp"
#include "io/matrix_market.hpp"

namespace autospmv {
namespace {

namespace fs = std::filesystem;

using Members = std::vector<std::pair<std::string, std::string>>;
using Packer = std::unique_ptr<archive, decltype([](archive* packer) { archive_write_free(packer); })>;

// A folder that lives as long as the test.
class Load : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / ("autospmv_load_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }

  // Packs members into a tar archive, or the only one as it is where `tar` is false.
  std::string pack(const std::string& name, int filter, bool tar, const Members& members) const {
    const Packer packer(archive_write_new());
    EXPECT_EQ(archive_write_add_filter(packer.get(), filter), ARCHIVE_OK);
    EXPECT_EQ(tar ? archive_write_set_format_pax_restricted(packer.get()) : archive_write_set_format_raw(packer.get()),
              ARCHIVE_OK);
    EXPECT_EQ(archive_write_open_filename(packer.get(), path(name).c_str()), ARCHIVE_OK);
    for (const auto& [member, text] : members) {
      const std::unique_ptr<archive_entry, decltype([](archive_entry* entry) { archive_entry_free(entry); })> entry(
          archive_entry_new());
      archive_entry_set_pathname(entry.get(), member.c_str());
      archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
      archive_entry_set_filetype(entry.get(), AE_IFREG);
      archive_entry_set_perm(entry.get(), 0644);
      EXPECT_EQ(archive_write_header(packer.get(), entry.get()), ARCHIVE_OK);
      EXPECT_EQ(archive_write_data(packer.get(), text.data(), text.size()), static_cast<la_ssize_t>(text.size()));
    }
    EXPECT_EQ(archive_write_close(packer.get()), ARCHIVE_OK);
    return path(name);
  }

 private:
  fs::path folder_;
};

// A 1 x 1 matrix of this value.
std::string one_value(int value) {
  return "%%MatrixMarket matrix coordinate integer general\n1 1 1\n1 1 " + std::to_string(value) + '\n';
}

std::string text_of(const HostCsr<double>& matrix) {
  std::ostringstream out;
  write_matrix_market(out, matrix.view());
  return out.str();
}

template <class Call>
std::string error_from(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string load_error(const std::string& source) {
  return error_from([&] { load_matrix<double>(source); });
}

const std::vector<std::pair<std::string, int>>& compressions() {
  static const std::vector<std::pair<std::string, int>> all = {{".gz", ARCHIVE_FILTER_GZIP},
                                                               {".xz", ARCHIVE_FILTER_XZ},
                                                               {".zst", ARCHIVE_FILTER_ZSTD},
                                                               {".bz2", ARCHIVE_FILTER_BZIP2}};
  return all;
}

TEST_F(Load, ReadsPlainAndCompressedFiles) {
  const auto matrix = generate<double>("gen:circuit:3000");
  const auto text = text_of(matrix);
  const auto expect_read = [&](const std::string& file) {
    const auto read = load_matrix<double>(file);
    EXPECT_EQ(read.row_ptr, matrix.row_ptr) << file;
    EXPECT_EQ(read.col_idx, matrix.col_idx) << file;
    EXPECT_EQ(read.values, matrix.values) << file;
  };
  expect_read(write("a.mtx", text));
  for (const auto& [ending, filter] : compressions()) {
    expect_read(pack("a.mtx" + ending, filter, false, {{"a.mtx", text}}));
    expect_read(pack("a.tar" + ending, filter, true, {{"a/a.mtx", text}}));
  }
  // Names decide nothing.
  fs::rename(path("a.mtx.gz"), path("misnamed"));
  expect_read(path("misnamed"));
}

TEST_F(Load, UnpacksNoMoreThanThereIsRoomFor) {
  const std::string text(3'000'000, ' ');
  const auto size = static_cast<std::int64_t>(text.size());
  const auto file = write("a.mtx", text);
  EXPECT_EQ(std::ssize(read_text(file, size)), size);
  EXPECT_EQ(error_from([&] { (void)read_text(file, size - 1); }), file + ": too large for the memory that there is");
  for (const auto& [ending, filter] : compressions()) {
    const auto packed = pack("a.mtx" + ending, filter, false, {{"a.mtx", text}});
    EXPECT_LT(fs::file_size(packed), 10'000U);
    EXPECT_EQ(std::ssize(read_text(packed, size)), size);
    EXPECT_EQ(error_from([&] { (void)read_text(packed, 1 << 20); }),
              packed + ": too large for the memory that there is");
  }
}

TEST_F(Load, ReadsStandardInput) {
  const auto file = write("a.mtx", one_value(5));
  const int saved = dup(STDIN_FILENO);
  ASSERT_NE(std::freopen(file.c_str(), "r", stdin), nullptr);
  EXPECT_EQ(load_matrix<double>("-").values, std::vector<double>{5});
  EXPECT_EQ(load_error("-"), "standard input: empty file");
  ASSERT_GE(dup2(saved, STDIN_FILENO), 0);
  close(saved);
}

TEST_F(Load, TakesTheMatrixOfItsOwnNameFromAnArchive) {
  const auto own = pack("own.tar.gz", ARCHIVE_FILTER_GZIP, true,
                        {{"own/own_b.mtx", one_value(1)}, {"own/own.mtx", one_value(2)}, {"own/z.mtx", one_value(3)}});
  EXPECT_EQ(load_matrix<double>(own).values, std::vector<double>{2});
  const auto other = pack("other.tar.gz", ARCHIVE_FILTER_GZIP, true,
                          {{"README", "words"}, {"own/x.mtx", one_value(1)}, {"own/own.mtx", one_value(2)}});
  EXPECT_EQ(load_matrix<double>(other).values, std::vector<double>{1});
  const auto none = pack("none.tar", ARCHIVE_FILTER_NONE, true, {{"README", "words"}});
  EXPECT_EQ(load_error(none), none + ": no .mtx file in this archive");
}

TEST_F(Load, PassesOverMembersThatHoldNothing) {
  const auto empty =
      pack("empty.tar", ARCHIVE_FILTER_NONE, true, {{"a.mtx", ""}, {"empty.mtx", ""}, {"b.mtx", one_value(2)}});
  EXPECT_EQ(load_matrix<double>(empty).values, std::vector<double>{2});
  const auto nothing = pack("nothing.tar", ARCHIVE_FILTER_NONE, true, {{"a.mtx", ""}});
  EXPECT_EQ(load_error(nothing), nothing + ": every .mtx file in this archive is empty");

  const Packer packer(archive_write_new());
  archive_write_set_format_pax_restricted(packer.get());
  ASSERT_EQ(archive_write_open_filename(packer.get(), path("link.tar").c_str()), ARCHIVE_OK);
  const std::unique_ptr<archive_entry, decltype([](archive_entry* entry) { archive_entry_free(entry); })> entry(
      archive_entry_new());
  archive_entry_set_pathname(entry.get(), "link.mtx");
  archive_entry_set_filetype(entry.get(), AE_IFLNK);
  archive_entry_set_symlink(entry.get(), "elsewhere.mtx");
  ASSERT_EQ(archive_write_header(packer.get(), entry.get()), ARCHIVE_OK);
  archive_entry_clear(entry.get());
  const auto text = one_value(3);
  archive_entry_set_pathname(entry.get(), "matrix.mtx");
  archive_entry_set_filetype(entry.get(), AE_IFREG);
  archive_entry_set_size(entry.get(), static_cast<la_int64_t>(text.size()));
  ASSERT_EQ(archive_write_header(packer.get(), entry.get()), ARCHIVE_OK);
  ASSERT_EQ(archive_write_data(packer.get(), text.data(), text.size()), static_cast<la_ssize_t>(text.size()));
  ASSERT_EQ(archive_write_close(packer.get()), ARCHIVE_OK);
  EXPECT_EQ(load_matrix<double>(path("link.tar")).values, std::vector<double>{3});
}

TEST_F(Load, MissingEmptyAndUnsuitableFiles) {
  EXPECT_EQ(load_error(path("missing.mtx")), path("missing.mtx") + ": no such file");
  EXPECT_EQ(load_error(path("")), path("") + ": is a directory");
  EXPECT_EQ(load_error(write("empty.mtx", "")), path("empty.mtx") + ": empty file");
  EXPECT_EQ(load_error(pack("empty.mtx.gz", ARCHIVE_FILTER_GZIP, false, {{"a", ""}})),
            path("empty.mtx.gz") + ": empty file");
  EXPECT_EQ(load_error(write("words.mtx", "words\n")),
            path("words.mtx") + ":1: no Matrix Market file: it does not begin with '%%MatrixMarket'");
}

TEST_F(Load, TruncatedFilesAreErrorsWhereverTheyEnd) {
  const auto text = text_of(generate<double>("gen:dense:5"));
  for (const bool tar : {false, true}) {
    for (const auto& [ending, filter] : compressions()) {
      const auto file = pack("whole" + ending, filter, tar, {{"whole.mtx", text}});
      std::ostringstream bytes;
      bytes << std::ifstream(file, std::ios::binary).rdbuf();
      const auto whole = bytes.str();
      ASSERT_EQ(load_error(file), "no error");
      // What follows the member in a tar archive may be missing; half of the bytes may not.
      const auto longest = tar ? whole.size() / 2 : whole.size() - 1;
      for (std::size_t size = 0; size <= longest; ++size) {
        const auto cut = write("cut" + ending, whole.substr(0, size));
        const auto error = load_error(cut);
        ASSERT_TRUE(error.starts_with(cut + ":")) << ending << " cut to " << size << " bytes: " << error;
        if (size == longest) {
          EXPECT_TRUE(error.starts_with(cut + ": truncated")) << error;
        }
      }
    }
  }
}

TEST_F(Load, ErrorsInsideOfPackedFilesNameFileAndLine) {
  const auto file = pack("bad.mtx.xz", ARCHIVE_FILTER_XZ, false,
                         {{"bad", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n"}});
  EXPECT_EQ(load_error(file), file + ":3: row 3 is not in 1 to 2");
}

TEST_F(Load, ReadsGenerators) {
  EXPECT_EQ(load_matrix<float>("gen:grid2d:2").values, generate<float>("gen:grid2d:2").values);
  EXPECT_THROW(load_matrix<float>("gen:nothing"), InvalidArgument);
}

TEST(Values, Parse) {
  EXPECT_FALSE(Values::parse("own").seed.has_value());
  EXPECT_EQ(Values::parse("random:0").seed, 0U);
  EXPECT_EQ(Values::parse("random:18446744073709551615").seed, 18446744073709551615U);
  EXPECT_FALSE(Values::parse("random:3").in_float);
  EXPECT_EQ(Values::parse("float:3").seed, 3U);
  EXPECT_TRUE(Values::parse("float:3").in_float);
  for (const auto* bad : {"", "Own", "random", "random:", "float", "float:", "double:1", "random:x", "random:-1",
                          "random:1 ", "random:18446744073709551616"}) {
    EXPECT_EQ(error_from([&] { Values::parse(bad); }),
              "values '" + std::string(bad) + "' are not 'own', 'random:SEED' or 'float:SEED'");
  }
}

TEST(Values, FloatOnesSurviveFloat) {
  const auto matrix = load_matrix<double>("gen:pde:5", Values::parse("float:3"));
  const auto full = load_matrix<double>("gen:pde:5", Values::parse("random:3"));
  for (std::size_t k = 0; k < matrix.values.size(); ++k) {
    EXPECT_EQ(matrix.values[k], static_cast<double>(static_cast<float>(full.values[k])));
  }
  EXPECT_NE(matrix.values, full.values);
}

TEST(Values, RandomOnesAreSymmetricWhereThePatternIs) {
  const auto own = generate<double>("gen:grid2d:150");
  const auto matrix = load_matrix<double>("gen:grid2d:150", {7});
  EXPECT_EQ(matrix.col_idx, own.col_idx);
  const auto value_at = [&](std::int64_t row, std::int64_t col) {
    for (std::int64_t k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      if (matrix.col_idx[k] == col) return matrix.values[k];
    }
    return 0.0;
  };
  std::vector<double> distinct = matrix.values;
  std::sort(distinct.begin(), distinct.end());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  EXPECT_EQ(static_cast<std::int64_t>(distinct.size()), (matrix.nnz() + matrix.rows) / 2);
  for (std::int64_t row = 0; row < matrix.rows; ++row) {
    for (std::int64_t k = matrix.row_ptr[row]; k < matrix.row_ptr[row + 1]; ++k) {
      ASSERT_EQ(matrix.values[k], value_at(matrix.col_idx[k], row));
      ASSERT_NE(matrix.values[k], 0);
    }
  }
  EXPECT_EQ(load_matrix<double>("gen:grid2d:150", {7}).values, matrix.values);
  EXPECT_NE(load_matrix<double>("gen:grid2d:150", {8}).values, matrix.values);
}

TEST_F(Load, DirectoriesBecomeTheirMatrices) {
  const auto folder = path("");
  EXPECT_EQ(error_from([&] { expand_sources({folder}); }), folder + ": no matrix in this directory");
  for (const auto* name : {"b.mtx", "c.tar.gz", "a.mtx.xz", "notes.txt", "d.mtx.orig", ".mtx"}) write(name, "");
  fs::create_directory(path("e.mtx"));
  EXPECT_EQ(
      expand_sources({"-", folder, "gen:pde:3", "missing.mtx"}),
      (std::vector<std::string>{"-", path("a.mtx.xz"), path("b.mtx"), path("c.tar.gz"), "gen:pde:3", "missing.mtx"}));
}

TEST(Label, IsShort) {
  EXPECT_EQ(label_of("-"), "stdin");
  EXPECT_EQ(label_of("gen:pde:100"), "gen:pde:100");
  EXPECT_EQ(label_of("cant__recon.mtx"), "cant__recon");
  EXPECT_EQ(label_of("/data/cant.v2.mtx.zst"), "cant.v2");
  EXPECT_EQ(label_of("some/where/cant.tar.gz"), "cant");
  EXPECT_EQ(label_of("cant.tgz"), "cant");
  EXPECT_EQ(label_of("some/where/notes.txt"), "notes.txt");
}

}  // namespace
}  // namespace autospmv
