// What lies below a database is read where that says nothing, and never written.
#include <sys/stat.h>

#include <cmath>

#include "tests/db/opening.hpp"

namespace autospmv {
namespace {

using test::contains;
using test::key_of;
using test::matrix_record;
using test::no_warnings;
using test::record_one;
using test::TemporaryDirectory;
using test::trial_of;
using test::Warnings;
using Fit = std::vector<std::pair<std::string, double>>;

class Layers : public testing::Test {
 protected:
  std::shared_ptr<Database> begin(const std::string& name) { return Database::open(directory_ / name, no_warnings()); }

  /// A database above files, the uppermost first.
  std::shared_ptr<Database> above(const std::vector<std::string>& names, const Database::Warn& warn = no_warnings()) {
    auto top = Database::in_memory();
    std::vector<std::shared_ptr<Database>> layers;
    for (const auto& name : names) {
      if (auto layer = Database::layer(directory_ / name, warn)) layers.push_back(std::move(layer));
    }
    top->put_under(std::move(layers));
    return top;
  }

  TemporaryDirectory directory_;
};

TEST_F(Layers, AnswerWhatIsNotKnownAbove) {
  {
    const auto site = begin("site.db");
    record_one(*site, key_of(1), trial_of("csr", {}, 2e-3));
    record_one(*site, key_of(1), trial_of("ell", {}, 2e-3));
    site->mark_tuned(key_of(1), "measure", "csr:1 ell:1");
    site->record_coefficients("host", "a cpu", Fit{{"wave", 2}});
    site->record_copy_bandwidth("host", "a cpu", 2e11);
    const auto installed = begin("installed.db");
    record_one(*installed, key_of(1), trial_of("csr", {}, 3e-3));
    record_one(*installed, key_of(1), trial_of("hll", {}, 3e-3));
    record_one(*installed, key_of(2), trial_of("hll", {}, 3e-3));
    installed->record_coefficients("host", "a cpu", Fit{{"wave", 3}});
    installed->record_coefficients("host", "another", Fit{{"wave", 4}});
  }
  const auto top = above({"site.db", "installed.db"});
  record_one(*top, key_of(1), trial_of("csr", {}, 1e-3));

  for (const auto& trials : {top->trials(key_of(1)), top->passed(key_of(1))}) {
    ASSERT_EQ(trials.size(), 3U);
    for (const auto& trial : trials) {
      // csr is its own, ell the site's, hll what is installed.
      const auto layer = static_cast<std::size_t>(std::lround(trial.measurement.warm.median * 1e3)) - 1;
      EXPECT_EQ(trial.layer, layer) << trial.candidate.text();
    }
    EXPECT_EQ(trials.back().candidate.format, "csr");
  }
  EXPECT_EQ(top->file_of_layer(1), directory_ / "site.db");
  EXPECT_EQ(top->file_of_layer(2), directory_ / "installed.db");
  EXPECT_EQ(top->tunings(key_of(1), "csr:1 ell:1"), std::vector<std::string>{"measure"});
  EXPECT_EQ(top->coefficients("host", "a cpu"), (Fit{{"wave", 2}}));
  EXPECT_EQ(top->coefficients("host", "another"), (Fit{{"wave", 4}}));
  EXPECT_EQ(top->copy_bandwidth("host", "a cpu"), 2e11);
  EXPECT_EQ(top->matrices(), 4);
  const auto recorded = top->recorded("host", "double");
  ASSERT_EQ(recorded.size(), 2U);
  EXPECT_EQ(recorded[0].layer, 0U);
  EXPECT_EQ(recorded[1].layer, 2U);
  // What travels is its own.
  EXPECT_EQ(top->list().size(), 1U);
  EXPECT_EQ(top->statistics().trials, 1);
}

TEST_F(Layers, AreTheSameAsLongAsTheirStateIs) {
  record_one(*begin("site.db"), key_of(1), trial_of("csr", {}, 2e-3));
  record_one(*begin("installed.db"), key_of(1), trial_of("csr", {}, 3e-3));
  const auto state_of = [&](const std::vector<std::string>& names) { return above(names)->state_of_layers(); };
  const auto before = state_of({"site.db", "installed.db"});
  ASSERT_TRUE(before);
  EXPECT_EQ(state_of({"site.db", "installed.db"}), before);
  EXPECT_NE(state_of({"installed.db", "site.db"}), before);
  EXPECT_NE(state_of({"site.db"}), before);
  // While it is open, too.
  const auto top = above({"site.db", "installed.db"});
  record_one(*begin("installed.db"), key_of(2), trial_of("csr", {}, 3e-3));
  EXPECT_NE(top->state_of_layers(), before);
  const auto later = state_of({"site.db", "installed.db"});
  EXPECT_NE(later, before);
  // Another file in its place.
  std::filesystem::copy_file(directory_ / "site.db", directory_ / "copy.db");
  std::filesystem::rename(directory_ / "copy.db", directory_ / "site.db");
  EXPECT_NE(state_of({"site.db", "installed.db"}), later);
  record_one(*top, key_of(3), trial_of("csr", {}, 1e-3));
  EXPECT_FALSE(top->state_of_layers()) << "it knows something itself";
}

TEST_F(Layers, AnswerForEachOtherWhereNothingIsKnownAbove) {
  {
    const auto site = begin("site.db");
    record_one(*site, key_of(1), trial_of("csr", {}, 2e-3));
    const auto installed = begin("installed.db");
    record_one(*installed, key_of(1), trial_of("csr", {}, 3e-3));
    record_one(*installed, key_of(1), trial_of("hll", {}, 3e-3));
    record_one(*installed, key_of(2), trial_of("hll", {}, 3e-3));
  }
  const auto top = above({"site.db", "installed.db"});
  const auto known_to_both = top->passed(key_of(1));
  ASSERT_EQ(known_to_both.size(), 2U);
  EXPECT_EQ(known_to_both[0].candidate.format, "csr");
  EXPECT_EQ(known_to_both[0].layer, 1U);
  EXPECT_EQ(known_to_both[1].layer, 2U);
  const auto known_to_one = top->passed(key_of(2));
  ASSERT_EQ(known_to_one.size(), 1U);
  EXPECT_EQ(known_to_one[0].layer, 2U);
}

TEST_F(Layers, AreReadWhileOthersWriteThem) {
  const auto site = begin("site.db");
  const auto top = above({"site.db"});
  EXPECT_TRUE(top->trials(key_of(1)).empty());
  record_one(*site, key_of(1), trial_of("csr", {}, 1e-3));
  EXPECT_EQ(top->trials(key_of(1)).size(), 1U);
}

TEST_F(Layers, AreNeverWritten) {
  { record_one(*begin("site.db"), key_of(1), trial_of("csr", {}, 1e-3)); }
  const auto content = test::read_file(directory_ / "site.db");
  {
    const auto top = above({"site.db"});
    test::expect_works(*top);
    top->forget({});
    EXPECT_EQ(top->trials(key_of(1)).size(), 1U);
  }
  EXPECT_TRUE(test::read_file(directory_ / "site.db") == content);
}

TEST_F(Layers, OfAnOlderVersionAreRead) {
  { record_one(*begin("site.db"), key_of(1), trial_of("csr", {}, 1e-3)); }
  test::change_file(
      directory_ / "site.db",
      "ALTER TABLE matrix DROP COLUMN source; DROP TABLE points; DROP TABLE passed; PRAGMA user_version = 5");
  const auto content = test::read_file(directory_ / "site.db");
  EXPECT_EQ(above({"site.db"})->trials(key_of(1)).size(), 1U);
  EXPECT_TRUE(test::read_file(directory_ / "site.db") == content);
}

TEST_F(Layers, WhatCannotBeUsedIsPassedOver) {
  { record_one(*begin("good.db"), key_of(1), trial_of("csr", {}, 1e-3)); }
  test::write_file(directory_ / "notes.txt", std::string(200, 'a'));
  begin("newer.db");
  test::change_file(directory_ / "newer.db", "PRAGMA user_version = 1000");
  test::write_file(directory_ / "damaged.db", test::damaged_database());
  std::filesystem::create_directory(directory_ / "folder");
  Warnings warnings;
  const auto top = above({"none.db", "notes.txt", "newer.db", "damaged.db", "folder", "good.db"}, warnings.sink());
  EXPECT_EQ(warnings.count(), 5U);
  for (const auto& text : warnings.texts()) EXPECT_TRUE(contains(text, "it is passed over")) << text;
  EXPECT_EQ(top->trials(key_of(1)).size(), 1U);
  EXPECT_EQ(test::read_file(directory_ / "notes.txt"), std::string(200, 'a'));
}

TEST_F(Layers, DamageLaterIsAMiss) {
  {
    const auto site = begin("site.db");
    for (std::uint64_t i = 0; i < 300; ++i) record_one(*site, key_of(i), trial_of("csr", {}, 1e-3));
  }
  auto content = test::read_file(directory_ / "site.db");
  // All but the header and the schema.
  content.replace(8 * 4096, content.size() - 8 * 4096, content.size() - 8 * 4096, '\xff');
  test::write_file(directory_ / "site.db", content);
  Warnings warnings;
  const auto top = above({"site.db"}, warnings.sink());
  record_one(*top, key_of(1000), trial_of("csr", {}, 1e-3));
  for (std::uint64_t i = 0; i < 300; ++i) (void)top->trials(key_of(i));
  EXPECT_EQ(top->trials(key_of(1000)).size(), 1U);
  EXPECT_LE(warnings.count(), 1U);
}

TEST_F(Layers, WhereNothingCanBeWrittenBesideThem) {
  { record_one(*begin("site.db"), key_of(1), trial_of("csr", {}, 1e-3)); }
  chmod((directory_ / "site.db").c_str(), 0444);
  chmod(directory_.path().c_str(), 0555);
  const auto read = [&] {
    test::give_up_root();
    return above({"site.db"}, {})->trials(key_of(1)).size() == 1 ? 0 : 1;
  };
  EXPECT_EQ(test::ChildProcess(read).wait(), 0);
  chmod(directory_.path().c_str(), 0755);
}

}  // namespace
}  // namespace autospmv
