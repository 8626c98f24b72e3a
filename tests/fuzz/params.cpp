// The bytes are two choices of parameters as text, a line each.
#include <algorithm>
#include <string>
#include <string_view>

#include "core/params.hpp"
#include "tests/fuzz/support.hpp"
#include "tuner/predict/history.hpp"

namespace autospmv::fuzzing {
namespace {

std::optional<Params> read(std::string_view text) {
  auto params = Params::parse(text);
  if (!params) return params;
  const auto written = params->text();
  require(Params::parse(written) == params, "what is written reads back the same");
  Params set;
  for (const auto& [name, value] : params->values()) {
    require(!name.empty() && name.find_first_of(" =") == std::string_view::npos, "a name is one word");
    require(params->find(name) == value && (*params)[name] == value, "a value is found by its name");
    require(text.find(std::string(name) + '=') != std::string_view::npos, "names are those of the text");
    set.set(name, value);
  }
  require(set == *params && (set <=> *params) == std::strong_ordering::equal, "set or read, it is the same");
  require(std::count(text.begin(), text.end(), '=') == std::ssize(params->values()), "nothing is left out");
  return params;
}

void check(std::string_view text) {
  const auto line = std::min(text.find('\n'), text.size());
  const auto a = read(text.substr(0, line));
  const auto b = read(text.substr(std::min(text.size(), line + 1)));
  if (!a || !b) return;
  require((*a == *b) == (a->text() == b->text()), "equal choices have equal text");
  require((*a <=> *b) == (0 <=> (*b <=> *a)), "there is one order");
  require((*a == *b) == ((*a <=> *b) == std::strong_ordering::equal), "what is equal is in no order");
  const double apart = distance(*a, *b);
  require(apart >= 0 && apart < 1e3 && std::abs(distance(*b, *a) - apart) < 1e-9, "a distance is one");
  require((apart == 0) == (*a == *b), "only the same choice is at no distance");
}

}  // namespace
}  // namespace autospmv::fuzzing

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  autospmv::fuzzing::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
