#include "io/recording.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <map>
#include <optional>
#include <ostream>
#include <string_view>
#include <utility>

#include "core/error.hpp"
#include "io/archive.hpp"

namespace autospmv {

namespace {

constexpr double microsecond = 1e-6;

// What is left of a line.
class Fields {
 public:
  explicit Fields(std::string_view rest) : rest_(rest) {}

  [[nodiscard]] bool empty() const { return rest_.empty(); }
  std::string_view next(char end) {
    const auto at = rest_.find(end);
    const auto field = rest_.substr(0, at);
    rest_ = at == std::string_view::npos ? std::string_view() : rest_.substr(at + 1);
    return field;
  }

 private:
  std::string_view rest_;
};

template <class T>
T number(std::string_view text) {
  T value{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || end != text.data() + text.size()) {
    throw Error("'" + std::string(text) + "' is no number");
  }
  return value;
}

// FNV-1a (Fowler, Noll, Vo), from two beginnings.
std::uint64_t hash(std::string_view text, std::uint64_t from) {
  constexpr std::uint64_t prime = 0x100000001b3;
  for (const char c : text) from = (from ^ static_cast<unsigned char>(c)) * prime;
  return from;
}

Fingerprint pattern_of(std::string_view line) {
  return {hash(line, 0xcbf29ce484222325), hash(line, 0x6c62272e07bb0142)};
}

std::map<std::string, int, std::less<>> versions_in(Fields formats) {
  std::map<std::string, int, std::less<>> versions;
  while (!formats.empty()) {
    Fields format(formats.next(' '));
    const auto name = format.next(':');
    versions.emplace(name, number<int>(format.next(' ')));
  }
  return versions;
}

class RecordingReader {
 public:
  void take(std::string_view line) {
    Fields fields(line);
    const auto kind = fields.next('\t');
    if (kind == "device") {
      key_.operation = std::string("n");
      key_.backend = fields.next('\t');
      key_.device = fields.next('\t');
    } else if (kind == "formats") {
      versions_ = versions_in(fields);
    } else if (kind == "matrix") {
      add_matrix(line, fields);
    } else if (kind == "trial") {
      add_trial(fields);
    } else {
      throw Error("'" + std::string(kind) + "' is neither device, formats, matrix nor trial");
    }
  }

  std::vector<MatrixTrials> matrices() { return std::move(matrices_); }

 private:
  void add_matrix(std::string_view line, Fields fields) {
    if (key_.device.empty()) throw Error("a matrix of no device");
    auto& [key, matrix, trials] = matrices_.emplace_back();
    key = key_;
    key.pattern = pattern_of(line);
    matrix.label = fields.next('\t');
    matrix.source = matrix.label;
    key.value_type = fields.next('\t');
    while (!fields.empty()) {
      Fields feature(fields.next(' '));
      const auto name = feature.next('=');
      const auto value = number<double>(feature.next(' '));
      matrix.features.emplace_back(name, value);
      if (name == "rows") matrix.rows = static_cast<std::int64_t>(value);
      if (name == "cols") matrix.cols = static_cast<std::int64_t>(value);
      if (name == "nnz") matrix.nnz = static_cast<std::int64_t>(value);
    }
  }

  void add_trial(Fields fields) {
    if (matrices_.empty()) throw Error("a trial of no matrix");
    auto& trial = matrices_.back().trials.emplace_back();
    trial.candidate.format = fields.next('\t');
    const auto version = versions_.find(trial.candidate.format);
    if (version == versions_.end()) throw Error("'" + trial.candidate.format + "' is not among the formats");
    trial.format_version = version->second;
    const auto params = Params::parse(std::string(fields.next('\t')));
    if (!params) throw Error("parameters that are none");
    trial.candidate.params = *params;
    auto& m = trial.measurement;
    m.outcome = Outcome::passed;
    m.warm.median = microsecond * number<double>(fields.next(' '));
    m.warm.low_quartile = m.warm.high_quartile = m.warm.median;
    m.warm.samples = 1;
    m.setup_seconds = microsecond * number<double>(fields.next(' '));
    m.bytes = number<std::int64_t>(fields.next(' '));
  }

  TrialKey key_;
  std::map<std::string, int, std::less<>> versions_;
  std::vector<MatrixTrials> matrices_;
};

std::string text_of(const char* format, double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

void write(std::ostream& out, const MatrixTrials& one) {
  out << "matrix\t" << one.matrix.label << '\t' << one.key.value_type << '\t';
  const char* apart = "";
  for (const auto& [name, value] : one.matrix.features) {
    out << std::exchange(apart, " ") << name << '=' << text_of("%.17g", value);
  }
  out << '\n';
  for (const auto& trial : one.trials) {
    const auto& m = trial.measurement;
    out << "trial\t" << trial.candidate.format << '\t' << trial.candidate.params.text() << '\t'
        << text_of("%.2f", m.warm.median / microsecond) << ' ' << text_of("%.1f", m.setup_seconds / microsecond) << ' '
        << m.bytes << '\n';
  }
}

}  // namespace

std::vector<MatrixTrials> read_recording(const std::string& file) {
  const auto text = read_text(file);
  Fields lines(std::string_view(text.data(), text.size()));
  RecordingReader reader;
  for (int at = 1; !lines.empty(); ++at) {
    try {
      reader.take(lines.next('\n'));
    } catch (const Error& error) {
      throw Error(display_name(file) + ":" + std::to_string(at) + ": " + error.what());
    }
  }
  return reader.matrices();
}

void write_recording(std::ostream& out, std::span<const MatrixTrials> matrices) {
  if (matrices.empty()) return;
  std::map<std::string, int> versions;
  for (const auto& one : matrices) {
    for (const auto& trial : one.trials) versions[trial.candidate.format] = trial.format_version;
  }
  const auto& key = matrices.front().key;
  out << "device\t" << key.backend << '\t' << key.device << "\nformats";
  char apart = '\t';
  for (const auto& [format, version] : versions) out << std::exchange(apart, ' ') << format << ':' << version;
  out << '\n';
  for (const auto& one : matrices) write(out, one);
}

}  // namespace autospmv
