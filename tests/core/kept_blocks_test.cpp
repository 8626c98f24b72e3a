#include "core/machine/kept_blocks.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>

namespace autospmv {
namespace {

// Never read: only where they lie counts.
std::array<std::byte, KeptBlocks::most + 8> memory{};
void* block(std::size_t which) { return &memory[which]; }

TEST(KeptBlocks, GivesOnlyBlocksOfTheSameSize) {
  KeptBlocks kept;
  EXPECT_EQ(kept.keep(block(0), 100), nullptr);
  EXPECT_EQ(kept.keep(block(1), 200), nullptr);
  EXPECT_EQ(kept.bytes(), 300);
  EXPECT_EQ(kept.take(99), nullptr);
  EXPECT_EQ(kept.take(101), nullptr);
  EXPECT_EQ(kept.take(100), block(0));
  EXPECT_EQ(kept.take(100), nullptr);
  EXPECT_EQ(kept.bytes(), 200);
  EXPECT_EQ(kept.take(200), block(1));
  EXPECT_EQ(kept.bytes(), 0);
}

TEST(KeptBlocks, GivesTheLastFirst) {
  KeptBlocks kept;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(kept.keep(block(i), 64), nullptr);
  for (std::size_t i = 3; i-- > 0;) EXPECT_EQ(kept.take(64), block(i));
}

TEST(KeptBlocks, LetsTheOldestGoForTheNewest) {
  KeptBlocks kept;
  for (std::size_t i = 0; i < KeptBlocks::most; ++i) EXPECT_EQ(kept.keep(block(i), i + 1), nullptr);
  EXPECT_EQ(kept.keep(block(KeptBlocks::most), 1 << 10), block(0));
  // The second is taken, so that there is room for one more.
  EXPECT_EQ(kept.take(2), block(1));
  EXPECT_EQ(kept.keep(block(KeptBlocks::most + 1), 1 << 11), nullptr);
  EXPECT_EQ(kept.keep(block(KeptBlocks::most + 2), 1 << 12), block(2));
  EXPECT_EQ(kept.take(1 << 10), block(KeptBlocks::most));
}

TEST(KeptBlocks, KeepsNoneThatAreTooLong) {
  KeptBlocks kept;
  EXPECT_EQ(kept.keep(block(0), KeptBlocks::longest), nullptr);
  EXPECT_EQ(kept.keep(block(1), KeptBlocks::longest + 1), block(1));
  EXPECT_EQ(kept.take(KeptBlocks::longest + 1), nullptr);
  KeptBlocks none(0);
  EXPECT_EQ(none.keep(block(2), 1), block(2));
  EXPECT_EQ(none.bytes(), 0);
}

TEST(KeptBlocks, LetsAllGoOneAfterAnother) {
  KeptBlocks kept;
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(kept.keep(block(i), 10 * i + 1), nullptr);
  std::size_t let_go = 0;
  while (kept.take_any() != nullptr) ++let_go;
  EXPECT_EQ(let_go, 3);
  EXPECT_EQ(kept.bytes(), 0);
}

}  // namespace
}  // namespace autospmv
