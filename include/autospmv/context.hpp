// Where products run and how hard to look for the best: the only state there is beside matrices and plans.
#pragma once

#include <memory>
#include <string>

#include "autospmv/export.h"
#include "autospmv/options.hpp"

namespace autospmv {

namespace detail {
struct ContextState;
struct Access;
}  // namespace detail

/// A handle: copies share one context, which may be used from many threads. When the last copy goes, whatever the
/// context does in the background ends, at the latest with the candidate in hand, and matrices forget the plans that
/// they kept for it. Plans that the caller holds stay usable, and so do matrices.
class AUTOSPMV_API Context {
 public:
  /// Throws InvalidArgument for a device that is not there and for a database file that is not one of this library, and
  /// Error where it is one of a newer version.
  explicit Context(const ContextOptions& options = {});

  /// The one that products use which name none: made on its first use.
  static const Context& instance();
  /// What instance() is made with. Throws InvalidArgument once it exists.
  static void set_instance_options(const ContextOptions& options);

  [[nodiscard]] Place device() const;
  /// "NVIDIA H200", or the processor's own name and its number of threads.
  [[nodiscard]] const std::string& device_name() const;
  [[nodiscard]] Effort effort() const;
  [[nodiscard]] const Limits& limits() const;

 private:
  friend detail::Access;
  std::shared_ptr<detail::ContextState> state_;
};

}  // namespace autospmv
