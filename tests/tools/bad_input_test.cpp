// Whatever the program is given, it answers with one line and an exit code.
#include <ostream>

#include "tests/tools/program.hpp"

namespace autospmv::test {

namespace {

const std::string banner = "%%MatrixMarket matrix coordinate real general\n";

struct BadFile {
  std::string name;
  std::string text;
  std::string complaint;  ///< right after the path
};

void PrintTo(const BadFile& file, std::ostream* out) { *out << file.name; }

class BadFiles : public ProgramTest, public testing::WithParamInterface<BadFile> {};

TEST_P(BadFiles, GiveOneErrorThatNamesFileAndLine) {
  const auto file = write("matrix.mtx", GetParam().text);
  const auto finished = tune({file});
  expect_one_error(finished, 1, file + GetParam().complaint);
  EXPECT_EQ(finished.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    MatrixMarket, BadFiles,
    testing::Values(BadFile{"Empty", "", ": empty file"},
                    BadFile{"WrongBanner", "%%NotMatrixMarket matrix\n1 1 0\n", ":1: "},
                    BadFile{"TooFewEntries", banner + "2 2 3\n1 1 1\n2 2 1\n", ":4: promised 3 entries"},
                    BadFile{"TooManyEntries", banner + "2 2 1\n1 1 1\n2 2 1\n", ":4: "},
                    BadFile{"IndexOutOfRange", banner + "2 2 2\n1 1 1\n3 1 1\n", ":4: "},
                    BadFile{"IndexZero", banner + "2 2 2\n0 1 1\n2 1 1\n", ":3: "},
                    BadFile{"ValueIsNoNumber", banner + "2 2 2\n1 1 1\n2 1 abc\n", ":4: "},
                    BadFile{"OverflowingIndex", banner + "2 2 2\n1 1 1\n99999999999999999999999 1 1\n", ":4: "},
                    BadFile{"OverflowingDimension", banner + "99999999999999999999999 2 1\n1 1 1\n", ":2: "},
                    BadFile{"PromiseOfManyEntries", banner + "2 2 1000000000000000000\n1 1 1\n2 1 1\n",
                            ":4: promised 1000000000000000000 entries"},
                    BadFile{"PromiseOfManyRows", banner + "1000000000000000000 2 1\n1 1 1\n", ":2: "}),
    [](const auto& chosen) { return chosen.param.name; });

class BadInput : public ProgramTest {};

TEST_F(BadInput, MissingFile) {
  expect_one_error(tune({path("missing.mtx")}), 1, path("missing.mtx") + ": no such file");
}

TEST_F(BadInput, TruncatedCompressedFile) {
  // gzip of a Matrix Market file, without its end.
  static constexpr unsigned char header[] = {0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x03};
  // A stored deflate block that promises 200 bytes.
  static constexpr unsigned char block[] = {0x01, 0xc8, 0x00, 0x37, 0xff};
  std::string text(std::begin(header), std::end(header));
  text.append(std::begin(block), std::end(block));
  const auto file = write("matrix.mtx.gz", text + banner + "2 2 2\n1 1 1\n");
  expect_one_error(tune({file}), 1, file + ": truncated or damaged");
}

TEST_F(BadInput, DirectoryWithoutMatrix) {
  std::filesystem::create_directory(path("empty"));
  expect_one_error(tune({path("empty")}), 1, path("empty") + ": no matrix in this directory");
}

TEST_F(BadInput, GeneratorThatIsNone) {
  expect_one_error(tune({"gen:nosuch:3"}), 1, "gen:nosuch:3");
  expect_one_error(run({"generate", "gen:nosuch:3"}), 2, "gen:nosuch:3");
  expect_one_error(run({"generate", "matrix.mtx"}), 2, "matrix.mtx");
}

TEST_F(BadInput, NamesWithLineBreaksStayInOneLine) { expect_one_error(tune({"a\nb"}), 1, "a b: no such file"); }

struct Misuse {
  std::string name;
  std::vector<std::string> words;
  std::string complaint;
};

void PrintTo(const Misuse& misuse, std::ostream* out) { *out << misuse.name; }

class Misuses : public ProgramTest, public testing::WithParamInterface<Misuse> {};

TEST_P(Misuses, GiveOneErrorAndExitCodeTwo) {
  const auto finished = run(GetParam().words);
  expect_one_error(finished, 2, GetParam().complaint);
  EXPECT_EQ(finished.out, "");
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, Misuses,
    testing::Values(
        Misuse{"NoSubcommand", {}, "no subcommand"}, Misuse{"UnknownSubcommand", {"nosuch"}, "nosuch"},
        Misuse{"UnknownOption", {"tune", "--nosuch", "gen:grid2d:3"}, "--nosuch"},
        Misuse{"AbbreviatedOption", {"tune", "--js", "gen:grid2d:3"}, "--js"},
        Misuse{"OptionOfAnotherSubcommand", {"devices", "--db", "file"}, "--db"},
        Misuse{"MissingValue", {"tune", "gen:grid2d:3", "--db"}, "--db"},
        Misuse{"RepeatedOption", {"tune", "--db", "a", "--db", "b", "gen:grid2d:3"}, "--db"},
        Misuse{"NoMatrix", {"tune"}, "MATRIX"}, Misuse{"OneWordTooMany", {"formats", "csr_scalar"}, "formats"},
        Misuse{"UnknownValueType", {"tune", "--value-type", "half", "gen:grid2d:3"}, "half"},
        Misuse{"UnknownValues", {"tune", "--values", "random:x", "gen:grid2d:3"}, "random:x"},
        Misuse{"UnknownBackend", {"tune", "--backend", "tpu", "gen:grid2d:3"}, "tpu"},
        Misuse{"UnknownEffort", {"tune", "--effort", "heroic", "gen:grid2d:3"}, "heroic"},
        Misuse{"CallsThatAreNoNumber", {"tune", "--expected-calls", "x", "gen:grid2d:3"}, "--expected-calls"},
        Misuse{"NegativeCalls", {"tune", "--expected-calls", "-1", "gen:grid2d:3"}, "--expected-calls"},
        Misuse{"OverflowingCalls",
               {"tune", "--expected-calls", "99999999999999999999", "gen:grid2d:3"},
               "--expected-calls"},
        Misuse{"MemoryFactorNan", {"tune", "--memory-factor", "nan", "gen:grid2d:3"}, "--memory-factor"},
        Misuse{"TimeLimitZero", {"tune", "--time-limit", "0", "gen:grid2d:3"}, "--time-limit"},
        Misuse{"UnknownFormat", {"bench", "--format", "nosuch", "gen:grid2d:3"}, "csr_scalar"},
        Misuse{"UnknownFormatAmongOthers",
               {"tune", "--only", "csr_vector T=2", "--only", "nosuch", "gen:grid2d:3"},
               "no format 'nosuch'; there are "},
        Misuse{"FormatWithoutAName", {"bench", "--format", "", "gen:grid2d:3"}, "csr_scalar"},
        Misuse{"ParametersOfNoFormat", {"bench", "--params", "T=2", "--format", "dia", "gen:grid2d:3"}, "--format"},
        Misuse{"ParametersThatAreNone", {"bench", "--format", "dia", "--params", "T", "gen:grid2d:3"}, "NAME=VALUE"},
        Misuse{"ParameterGivenTwice", {"tune", "--only", "csr_vector T=2 T=4", "gen:grid2d:3"}, "given twice"},
        Misuse{"ParametersOfAnotherSubcommand", {"tune", "--params", "T=2", "gen:grid2d:3"}, "--params"},
        Misuse{"UnknownParameter",
               {"bench", "--backend", "host", "--db", ":memory:", "--format", "csr_vector", "--params", "U=2",
                "gen:grid2d:3"},
               "format 'csr_vector': parameters: there is no 'U', but T"},
        Misuse{"UnknownParameterValue",
               {"bench", "--backend", "host", "--db", ":memory:", "--format", "hdia", "--params", "hack=32,33",
                "gen:grid2d:3"},
               "format 'hdia': parameters: hack=33 is not 32 to 1024 by 32"},
        Misuse{"UnknownParameterValueToTune",
               {"tune", "--backend", "host", "--db", ":memory:", "--only", "csr_vector T=3", "gen:grid2d:3"},
               "format 'csr_vector': parameters: T=3 is not 2, 4, 8, 16 or 32"},
        Misuse{"UnknownStudy", {"bench", "--study", "nosuch", "gen:grid2d:3"}, "ellr_t, three-formats"},
        Misuse{"StudyOfOneFormat", {"bench", "--study", "ellr_t", "--format", "dia", "gen:grid2d:3"}, "--format"},
        Misuse{"UnknownDatabaseAction", {"db", "drop"}, "db list"},
        Misuse{"ForgetNothingInParticular", {"db", "forget"}, "--matrix"},
        Misuse{"ForgetAllByAccident", {"db", "forget", "--all"}, "--yes"},
        Misuse{"ForgetAllAndSome", {"db", "forget", "--all", "--yes", "--device", "x"}, "--all"},
        Misuse{"ForgetAMatrixWithoutAName", {"db", "forget", "--matrix", ""}, "--matrix"},
        Misuse{"ListSuspects", {"db", "list", "--suspects"}, "db forget"},
        Misuse{"JsonBesideTheMatrix", {"generate", "--json", "gen:grid2d:3"}, "--output"}),
    [](const auto& chosen) { return chosen.param.name; });

TEST_F(BadInput, CandidatesThatAreNoneBeginNoDatabase) {
  expect_one_error(tune({"gen:grid2d:3", "--only", "csr_vector T=3"}), 2, "T=3 is not 2, 4, 8, 16 or 32");
  EXPECT_FALSE(std::filesystem::exists(path("trials.db")));
}

TEST_F(BadInput, OneBrokenMatrixDoesNotStopTheOthers) {
  const auto broken = write("broken.mtx", banner + "1 1 1\n1 2 1\n");
  const auto finished = tune({broken, "gen:grid2d:8"});
  expect_one_error(finished, 1, broken + ":3: ");
  const auto records = finished.json_lines();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0]["matrix"], "gen:grid2d:8");
  EXPECT_EQ(records[0]["rows"], 64);
  EXPECT_GT(records[0]["trials"], 0);
}

TEST_F(BadInput, DatabaseThatCannotBeWrittenIsAWarning) {
  const auto file = write("file", "");
  const auto finished = tune({"gen:grid2d:8", "--db", file + "/trials.db"});
  expect_one_error(finished, 0, "warning: database " + file + "/trials.db");
  EXPECT_EQ(finished.json_lines().size(), 1U);
}

TEST_F(BadInput, DatabaseThatIsNoneIsLeftAlone) {
  const std::string text = "These are my notes, and no database.\n";
  const auto file = write("notes.db", text);
  const std::vector<std::vector<std::string>> commands = {
      {"tune", "--backend", "host", "gen:grid2d:8"},
      {"bench", "--backend", "host", "gen:grid2d:8"},
      {"explain", "--backend", "host", "--effort", "cached", "gen:grid2d:8"},
      {"db", "list"},
      {"db", "show", "gen:grid2d:8"},
      {"db", "fit", "--backend", "host"},
      {"db", "forget", "--all", "--yes"}};
  for (auto words : commands) {
    words.insert(words.end(), {"--db", file});
    const auto finished = run(words);
    expect_one_error(finished, 2, "cannot use database " + file + ": it is no database");
    EXPECT_EQ(finished.out, "");
    EXPECT_EQ(read("notes.db"), text);
  }
}

TEST_F(BadInput, CudaWithoutADeviceIsAnError) {
  const auto devices = run({"devices", "--json"}).json_lines().at(0);
  const bool has_cuda =
      std::any_of(devices.begin(), devices.end(), [](const Json& d) { return d["backend"] == "cuda"; });
  if (has_cuda) GTEST_SKIP() << "there is a CUDA device";
  expect_one_error(run({"tune", "--backend", "cuda", "gen:grid2d:3", "--db", path("trials.db")}), 1, "CUDA");
}

}  // namespace

}  // namespace autospmv::test
