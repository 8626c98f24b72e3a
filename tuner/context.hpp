// Where products run and how hard to look for the best: the only state there is beside the matrices themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

#include <spdlog/logger.h>

#include "core/device.hpp"
#include "core/trial.hpp"
#include "db/database.hpp"

namespace autospmv {

/// How hard to look, after FFTW's planner.
enum class Effort : std::uint8_t {
  cached,      ///< never a trial: what the database knows, else plain CSR
  measure,     ///< trials of a short list
  exhaustive,  ///< trials of every admitted candidate
};

std::string_view name_of(Effort effort);
std::optional<Effort> parse_effort(std::string_view name);

struct ContextOptions {
  std::optional<Device> device = {};                   ///< none: default_device()
  std::optional<std::filesystem::path> database = {};  ///< none: Database::default_path(); empty: memory only
  Effort effort = Effort::measure;
  Limits limits = {};
  std::shared_ptr<spdlog::logger> logger = {};  ///< none: spdlog's default one
};

/// Immutable once made, and safe from many threads. It outlives the plans made with it.
class Context {
 public:
  /// Throws Error where the database belongs to a newer version of this library.
  explicit Context(const ContextOptions& options = {});

  /// The one that auto_spmv(A, x, y) uses: made on its first use, from ContextOptions{}.
  static Context& instance();

  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] Database& database() const { return *database_; }
  [[nodiscard]] Effort effort() const { return effort_; }
  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] spdlog::logger& logger() const { return *logger_; }

  /// Different for every Context of this process: the key under which its plans are attached to matrices.
  [[nodiscard]] std::uint64_t id() const { return id_; }

  /// Held while a matrix is tuned: two measurements at once would both be wrong.
  [[nodiscard]] std::mutex& tuning() const { return tuning_; }

  /// Bytes a second of a device-to-device copy, read and written, measured on the first call.
  [[nodiscard]] double copy_bandwidth() const;

 private:
  std::uint64_t id_;
  mutable std::mutex tuning_;
  mutable std::once_flag copy_measured_;
  mutable double copy_bandwidth_ = 0;
  Device device_;
  Effort effort_;
  Limits limits_;
  std::shared_ptr<spdlog::logger> logger_;
  std::shared_ptr<Database> database_;
};

}  // namespace autospmv
