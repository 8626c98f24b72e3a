// Nothing that is shown may steer a terminal.

#include "core/printable.hpp"

#include <gtest/gtest.h>

namespace autospmv {
namespace {

TEST(Printable, LeavesTextAsItIs) {
  for (const auto* text : {"", "cant: 3 x 4", "a\\b", "\u00e4\u20ac\U0001d11e", "\u00a0"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ShowsControlCharacters) {
  EXPECT_EQ(printable("a\x1b[2Jb\n\x7f"), "a\\x1b[2Jb\\x0a\\x7f");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\u009b31m"), "\\xc2\\x9b31m") << "a control sequence begins so as well";
}

TEST(Printable, ShowsWhatIsNoText) {
  EXPECT_EQ(printable("\x9b"), "\\x9b");
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xe2\x82x\xc0\x80"), "\\xe2\\x82x\\xc0\\x80");
}

}  // namespace
}  // namespace autospmv
