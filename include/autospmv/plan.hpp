// A winner, ready to multiply: auto plan = make_plan(A); plan(x, y);
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "autospmv/context.hpp"
#include "autospmv/export.h"
#include "autospmv/matrix.hpp"
#include "autospmv/options.hpp"
#include "autospmv/stream.hpp"
#include "autospmv/types.hpp"

namespace autospmv {

namespace detail {
template <class T>
class PlanState;
}  // namespace detail

/// y = alpha A x + beta y; here and below, A is the matrix transposed in plans for that.
template <Scalar T>
struct ApplyOptions {
  T alpha = 1;
  T beta = 0;          ///< 0: y is not read and may hold anything
  Stream stream = {};  ///< ignored by the host backend
  /// Where x and y lie, which is otherwise found out: a question to the driver, and none at all on a machine without a
  /// GPU.
  std::optional<Memory> memory = {};
};

/// A format with its parameters, and what is known of it on this matrix and device.
struct ExplainedCandidate {
  std::string format;        ///< "sell_p"
  std::string parameters;    ///< "C=32 T=1 sigma=1"
  std::string outcome;       ///< "passed", "disturbed", "refused", "wrong answer", "failed"; empty: not tried
  std::string reason;        ///< of a refusal or failure
  double seconds = 0;        ///< of one product, warm; 0 where it was not measured
  double setup_seconds = 0;  ///< conversion from CSR
  std::int64_t bytes = 0;    ///< allocated beside the CSR arrays
};

/// Why a plan is what it is.
struct Explanation {
  std::string device;
  Operation op = Operation::plain;
  std::int64_t rows = 0;  ///< of what is multiplied by: the columns of the matrix where that is transposed
  std::int64_t cols = 0;
  std::int64_t nnz = 0;
  std::string source;  ///< "measured", "database", "estimated", "untried"
  std::string layer;   ///< the system database that knows the choice; empty: the user's own, or none
  /// Of an estimated choice, what it was expected from: "neighbour", trials of near matrices on this device; "sibling",
  /// of near matrices on another device of its kind; "model", the cost model alone. Else empty.
  std::string tier;
  double expected_seconds = 0;        ///< of an estimated choice, of one product
  double uncertainty = 0;             ///< of that: 0.2 where a fifth more or less is usual
  std::vector<std::string> known_on;  ///< the devices that the nearest known matrices were measured on
  /// Why what the database knows of the matrix was passed over; else empty. Trials of some candidates decide nothing as
  /// long as plain CSR was not tried beside them.
  std::string passed_over;
  bool settled = true;  ///< false while it is tuned online
  ExplainedCandidate choice;
  std::optional<ExplainedCandidate> runner_up;  ///< the next best that passed
  std::optional<ExplainedCandidate> baseline;   ///< the fastest of plain CSR and the vendor's
  double margin = 0;             ///< the runner-up's total over the choice's, less 1; 0 where there is none
  double bytes_per_nonzero = 0;  ///< that the choice stores; plain CSR's own where it stores nothing
  double copy_share = 0;         ///< plain CSR's bytes over the choice's time, over the copy bandwidth; 0: unknown
  double break_even_calls = 0;   ///< after which the conversion has paid against plain CSR; 0: unknown or at once
  double tuning_seconds = 0;     ///< that finding it has taken: of the caller, online on a device of the background
  std::vector<ExplainedCandidate> candidates;  ///< every trial, cheapest first, those that did not pass last

  /// A few lines for a person.
  [[nodiscard]] AUTOSPMV_API std::string text() const;
  /// One object, on one line.
  [[nodiscard]] AUTOSPMV_API std::string json() const;
};

/// A handle: copies share one plan, which may be used from many threads and streams at once, and outlive its Matrix and
/// its Context. The last copy waits, as it goes, for the device's products and for the candidate in hand where it is
/// tuned online.
template <Scalar T>
class AUTOSPMV_API Plan {
 public:
  /// y = alpha A x + beta y; x has as many elements as A has columns, y as it has rows, and they do not overlap.
  ///
  /// With vectors in the memory of the plan's device it allocates nothing, waits for nothing, takes no lock and may be
  /// captured into a CUDA graph, which is then replayed only as long as the plan lives. (While it is tuned online it
  /// takes a lock that is held for moments only.) Vectors in host memory are accepted on a CUDA device too; they are
  /// copied there and back, and the call returns when y is complete.
  ///
  /// Throws InvalidArgument for lengths that do not fit, and DeviceError.
  void operator()(std::span<const T> x, std::span<T> y, const ApplyOptions<T>& options = {}) const;

  /// Where its products run.
  [[nodiscard]] Place device() const;
  /// The format and its parameters: "sell_p C=32 T=1 sigma=1". The best so far until settled.
  [[nodiscard]] std::string choice() const;
  /// Bytes allocated beside the CSR arrays.
  [[nodiscard]] std::int64_t bytes() const;
  /// Whether the choice is final: false while it is tuned online.
  [[nodiscard]] bool settled() const;
  /// What it was chosen for. Of a context that is gone, only the choice itself is known.
  [[nodiscard]] Explanation explain() const;

 private:
  friend detail::Access;
  explicit Plan(std::shared_ptr<detail::PlanState<T>> state) : state_(std::move(state)) {}

  std::shared_ptr<detail::PlanState<T>> state_;
};

extern template class AUTOSPMV_API Plan<float>;
extern template class AUTOSPMV_API Plan<double>;

/// Makes a plan: from the database, or by trials, as the effort says. Throws DeviceError where the device fails,
/// OutOfMemory, and Unsupported for a transposed one of 2^32 nonzeros and more.
template <Scalar T>
AUTOSPMV_API Plan<T> make_plan(const Matrix<T>& matrix, const Context& context, const PlanOptions& options = {});

/// The same in Context::instance().
template <Scalar T>
Plan<T> make_plan(const Matrix<T>& matrix, const PlanOptions& options = {}) {
  return make_plan(matrix, Context::instance(), options);
}

}  // namespace autospmv
