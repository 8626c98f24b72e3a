// A library whose products are set beside ours.
#pragma once

#include <omp.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <autospmv/autospmv.hpp>

#include "io/host_csr.hpp"

namespace autospmv::benchmark {

/// What those are told who ask how many products there will be.
inline constexpr int expected_calls = 1000000;

/// y = A x by such a library, after all the preparation that it offers.
template <class T>
class PeerProduct {
 public:
  PeerProduct() = default;
  PeerProduct(const PeerProduct&) = delete;
  PeerProduct& operator=(const PeerProduct&) = delete;
  virtual ~PeerProduct() = default;

  virtual void multiply(const T* x, T* y) = 0;
  /// That multiply: as many as there are, unless the library's own tuning says that fewer are faster.
  [[nodiscard]] virtual int threads() const { return omp_get_max_threads(); }
};

/// Of a matrix that may be gone afterwards. One product of a library lives at a time.
template <class T>
using MakeProduct = std::function<std::unique_ptr<PeerProduct<T>>(const HostCsr<T>&)>;

struct Peer {
  std::string name;
  std::string version;
  std::string missing;  ///< why it is left out; empty: it is there
  MakeProduct<float> in_float;
  MakeProduct<double> in_double;

  template <class T>
  [[nodiscard]] const MakeProduct<T>& make() const {
    if constexpr (sizeof(T) == sizeof(float)) {
      return in_float;
    } else {
      return in_double;
    }
  }
};

template <template <class> class Product>
Peer make_peer(const std::string& name, const std::string& version) {
  return {.name = name,
          .version = version,
          .missing = {},
          .in_float = [](const HostCsr<float>& matrix) { return std::make_unique<Product<float>>(matrix); },
          .in_double = [](const HostCsr<double>& matrix) { return std::make_unique<Product<double>>(matrix); }};
}

/// Offsets as the peers want them: with 32-bit ones they read less than with 64-bit ones.
template <class T>
std::vector<int> short_row_ptr(const HostCsr<T>& matrix) {
  if (matrix.nnz() > std::numeric_limits<int>::max()) throw Error("more nonzeros than an int counts");
  return {matrix.row_ptr.begin(), matrix.row_ptr.end()};
}

// Each in a file of its own, which is compiled where the library is. To be called when the number of threads is set.
Peer eigen();
Peer librsb();
Peer mkl();

}  // namespace autospmv::benchmark
