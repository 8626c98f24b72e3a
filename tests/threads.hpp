// How many threads OpenMP has.
#pragma once

#include <omp.h>

namespace autospmv::testing {

/// So many while it lives, then as many as before.
class Threads {
 public:
  explicit Threads(int threads) : before_(omp_get_max_threads()) { omp_set_num_threads(threads); }
  ~Threads() { omp_set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

}  // namespace autospmv::testing
