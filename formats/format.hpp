// What a format is to the rest of the library: one object that says what it is, which parameters it has, whether it
// takes a matrix, and builds operators. Adding a format is adding its folder; see formats/README.md.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "autospmv/stream.hpp"
#include "core/error.hpp"
#include "core/machine/device.hpp"
#include "core/matrix/csr.hpp"
#include "core/params.hpp"
#include "core/uncopied.hpp"
#include "features/features.hpp"
#include "formats/common/predict/rules.hpp"

namespace autospmv {

struct FormatInfo {
  std::string name;  ///< that of its folder
  int version = 1;   ///< raised with every change that makes old measurements meaningless
  std::string summary;
  std::string paper;  ///< authors, title, year, section
  std::vector<Backend> backends{Backend::host, Backend::cuda};
  /// Where it is tried unasked, the others only where everything is: there it beats all others on some matrix by more
  /// than 1 %, or all those that store as little or convert as fast.
  std::vector<Backend> offered{Backend::host, Backend::cuda};
  bool deterministic = true;  ///< bitwise equal results from run to run, whatever the backend and the parameters
  bool baseline = false;      ///< what callers would use without this library: plain CSR and the vendor's
  bool vendor = false;        ///< another library's product: a rival, not one of ours

  [[nodiscard]] bool runs_on(Backend backend) const { return has(backends, backend); }
  [[nodiscard]] bool is_offered_on(Backend backend) const { return has(offered, backend); }

 private:
  static bool has(const std::vector<Backend>& some, Backend backend) {
    return std::find(some.begin(), some.end(), backend) != some.end();
  }
};

/// What the threads of a product do on a GPU, apart from moving bytes. A step reads one entry and its element of x.
struct Walk {
  double threads = 0;  ///< of all kernels together; 0: nothing is known of them
  double steps = 0;    ///< of a thread on average, one after another, those included for which it waits for its warp
  double longest = 0;  ///< steps of the thread that has most
};

/// What a candidate will cost, from the features alone.
struct Cost {
  double bytes = 0;          ///< moved by one product: matrix, x and y each read or written once
  double storage_bytes = 0;  ///< allocated beside the CSR arrays
  double imbalance = 1;      ///< how much longer moving them takes than if all moved at full speed till the end
  Walk walk = {};            ///< GPU
  double work = 0;           ///< host: what its threads compute together, ns; see formats/common/predict/host_work.hpp
  int launches = 1;          ///< kernels of one product
  double conversion = 1;     ///< host: how much longer than most it converts for what it stores
};

/// A built candidate: owns its storage, or refers to the CSR arrays it was built from, which outlive it.
template <class T>
class Operator : Uncopied {
 public:
  virtual ~Operator() = default;

  /// y = alpha A x + beta y. x has cols elements, y rows, both in the memory of the operator's backend and apart from
  /// each other. y is not read where beta is 0. Allocates nothing, waits for nothing; safe from many threads at once.
  /// Only to a stream that is being captured it may first give scratch memory of its own, for graphs run in any order.
  virtual void apply(T alpha, const T* x, T beta, T* y, Stream stream) const = 0;

  /// Takes the values of a matrix of the same pattern, in the order of the stream. In place: what a product reads keeps
  /// its address for as long as the operator lives, so that a captured product sees the new values. False where they do
  /// not fit how they are stored (in fewer bits, one of two symmetric halves); what was stored may then be partly old,
  /// partly new until an update that fits.
  [[nodiscard]] virtual bool update_values(const CsrView<T>& matrix, Stream stream) = 0;

  /// Whether update_values() takes whatever values there are; then it never waits for the stream and may be captured
  /// itself. Those it does not take for certain: values in fewer bits, symmetric halves.
  [[nodiscard]] virtual bool takes_any_values() const { return true; }

  /// What it allocated.
  [[nodiscard]] virtual std::int64_t bytes() const = 0;
};

/// The operator of what was built, or why nothing was.
template <class T>
using Built = Result<std::unique_ptr<Operator<T>>>;

template <class T>
class Format : Uncopied {
 public:
  virtual ~Format() = default;

  [[nodiscard]] virtual const FormatInfo& info() const = 0;

  /// The parameters worth trying on this matrix, best guess first. Others are what is there to be measured and seldom
  /// wins: values far from the best guess, an algorithm as its paper has it.
  [[nodiscard]] virtual ParamSpace params(const Features& /*features*/, const Device& /*device*/) const { return {}; }

  /// What the candidate will cost, or why it is refused, before any work.
  [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params, const Device& device) const {
    return Costs(*this, device).predict(features, params);
  }

  /// The same for one candidate after the other: what parameters may be, it asks only once. Format and device outlive
  /// it.
  class Costs {
   public:
    Costs(const Format& format, const Device& device) : format_(format), device_(device) {}

    [[nodiscard]] Result<Cost> predict(const Features& features, const Params& params) {
      if (auto refusal = format_.refuse_backend(device_)) return *std::move(refusal);
      if (!allowed_) allowed_ = format_.allowed(device_);
      if (auto refusal = formats::refuse_params(params, *allowed_)) return *std::move(refusal);
      return format_.cost(features, params, device_);
    }

    /// Of parameters that the format itself offers on this device, for which it is.
    [[nodiscard]] Result<Cost> predict_offered(const Features& features, const Params& params) const {
      return format_.cost(features, params, device_);
    }

   private:
    const Format& format_;
    const Device& device_;
    std::optional<std::vector<formats::Allowed>> allowed_;
  };

  /// Whether this candidate's results are bitwise equal from run to run.
  [[nodiscard]] virtual bool deterministic(const Params& /*params*/, const Device& /*device*/) const {
    return info().deterministic;
  }

  /// Whether products by this candidate may be captured into a CUDA graph. Where they may not, they throw Unsupported
  /// on a stream that is being captured, are timed by a loop of launches, and win only where Limits::capture is false.
  [[nodiscard]] virtual bool capturable(const Params& /*params*/, const Device& /*device*/) const { return true; }

  /// The same choice of parameters for values of any kind: what a plan moves to where new values do not fit. build()
  /// may refuse it, where the storage was small enough in fewer bits only.
  [[nodiscard]] virtual Params for_any_values(const Params& params) const;

  /// Converts a matrix that lies in the memory of the device, on its setup stream, complete when this returns. Trusts
  /// no parameter: refuses what it cannot be built with. Throws DeviceError where the device fails.
  [[nodiscard]] Built<T> build(const CsrView<T>& matrix, const Params& params, const Device& device) const {
    if (auto refusal = refuse_backend(device)) return *std::move(refusal);
    if (auto refusal = formats::refuse_params(params, allowed(device))) return *refusal;
    return convert(matrix, params, device);
  }

 protected:
  /// All parameters there are here, and what each may be.
  [[nodiscard]] virtual std::vector<formats::Allowed> allowed(const Device& /*device*/) const { return {}; }

 private:
  [[nodiscard]] std::optional<Refusal> refuse_backend(const Device& device) const {
    if (info().runs_on(device.backend)) return std::nullopt;
    return Refusal{"backend: it does not run on the " + std::string(name_of(device.backend)) + " backend"};
  }

  /// predict() and build(), on a backend that it is for, of parameters that are all there and allowed.
  [[nodiscard]] virtual Result<Cost> cost(const Features& features, const Params& params,
                                          const Device& device) const = 0;
  [[nodiscard]] virtual Built<T> convert(const CsrView<T>& matrix, const Params& params,
                                         const Device& device) const = 0;
};

/// Every format of this build, in the order of their names. Made by the build from the folders of formats/.
template <class T>
std::span<const Format<T>* const> all_formats();

/// The format of that name, or nullptr.
template <class T>
const Format<T>* find_format(std::string_view name);

/// What the last line of a format's file makes of its class, in the namespace that is called like its folder: its one
/// object for each type of values, by which the build and other formats know it.
#define AUTOSPMV_FORMAT(Class)            \
  template <class T>                      \
  const Format<T>& format() {             \
    static const Class<T> instance;       \
    return instance;                      \
  }                                       \
  template const Format<float>& format(); \
  template const Format<double>& format()

/// Name and version of every format of this build, "csr_scalar:1 csr_vector:1 ...": a database that was filled by
/// the same formats has nothing new to try.
std::string format_catalogue();

}  // namespace autospmv
