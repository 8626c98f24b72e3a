#include "io/recording.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/error.hpp"

namespace autospmv {
namespace {

class Recordings : public ::testing::Test {
 protected:
  ~Recordings() override { std::filesystem::remove(file_); }

  std::vector<MatrixTrials> read(const std::string& text) {
    std::ofstream(file_) << text;
    return read_recording(file_);
  }

  std::string file_ = ::testing::TempDir() + "recording_" + std::to_string(::getpid()) + ".txt";
};

const std::string head = "device\thost\ta cpu, 2 threads\nformats\tcsr:4 sell:7\n";
const std::string matrix = "matrix\tgen:pde:4\tdouble in 8 bits\tcols=64 nnz=288 npr_mean=4.5 rows=64\n";

TEST_F(Recordings, AreReadAsTheyAreWritten) {
  const auto text = head + matrix + "trial\tcsr\t\t12.50 3.0 0\ntrial\tsell\tC=8 sigma=1\t8.25 140.5 4096\n" +
                    "matrix\tgen:pde:5\tdouble\trows=125\ntrial\tcsr\t\t20.00 1.0 0\n";
  const auto matrices = read(text);
  ASSERT_EQ(matrices.size(), 2U);
  const auto& first = matrices.front();
  EXPECT_EQ(first.key.backend, "host");
  EXPECT_EQ(first.key.device, "a cpu, 2 threads");
  EXPECT_EQ(first.key.value_type, "double in 8 bits");
  EXPECT_EQ(first.matrix.label, "gen:pde:4");
  EXPECT_EQ(first.matrix.nnz, 288);
  ASSERT_EQ(first.trials.size(), 2U);
  EXPECT_EQ(first.trials[1].candidate.text(), "sell C=8 sigma=1");
  EXPECT_EQ(first.trials[1].format_version, 7);
  EXPECT_DOUBLE_EQ(first.trials[1].measurement.warm.median, 8.25e-6);
  EXPECT_DOUBLE_EQ(first.trials[1].measurement.setup_seconds, 140.5e-6);
  EXPECT_EQ(first.trials[1].measurement.bytes, 4096);
  EXPECT_TRUE(is_timed(first.trials[1].measurement));
  std::ostringstream again;
  write_recording(again, matrices);
  EXPECT_EQ(again.str(), text);
}

// Devices that were given the same matrix share what is said of it; no two matrices do.
TEST_F(Recordings, HavePatternsOfTheirLines) {
  const auto one = read(head + matrix);
  const auto elsewhere = read("device\thost\tanother\nformats\n" + matrix);
  EXPECT_EQ(one.front().key.pattern, elsewhere.front().key.pattern);
  EXPECT_NE(one.front().key.device, elsewhere.front().key.device);
  const auto other = read(head + "matrix\tgen:pde:4\tfloat\tcols=64 nnz=288 npr_mean=4.5 rows=64\n");
  EXPECT_NE(one.front().key.pattern, other.front().key.pattern);
}

TEST_F(Recordings, OfAnythingElseAreRefusedByTheLine) {
  const auto refused = [&](const std::string& text, const std::string& line, const std::string& why) {
    try {
      (void)read(text);
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(file_ + ":" + line + ": "), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
    }
  };
  refused("nonsense\n", "1", "'nonsense' is neither");
  refused(matrix, "1", "of no device");
  refused(head + "trial\tcsr\t\t1 1 0\n", "3", "of no matrix");
  refused(head + matrix + "trial\tnew\t\t1 1 0\n", "4", "'new' is not among the formats");
  refused(head + matrix + "trial\tcsr\tT=\t1 1 0\n", "4", "parameters");
  refused(head + matrix + "trial\tcsr\t\tfast 1 0\n", "4", "'fast' is no number");
  refused(head + matrix + "trial\tcsr\t\t1 1\n", "4", "'' is no number");
}

}  // namespace
}  // namespace autospmv
