#include "sharing.hpp"

#include <fcntl.h>
#include <omp.h>
#include <sched.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "errors.hpp"

namespace autospmv::petsc {

namespace {

// 0: what OpenMP gives by itself.
int threads_of_rank = 0;

}  // namespace

PetscErrorCode share_processors() {
  PetscFunctionBegin;
  cpu_set_t own;
  CPU_ZERO(&own);
  // A rank that does not know its processors claims none, and takes one.
  (void)sched_getaffinity(0, sizeof(own), &own);
  MPI_Comm machine = MPI_COMM_NULL;
  PetscCallMPI(MPI_Comm_split_type(PETSC_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine));
  PetscMPIInt ranks = 0;
  PetscCallMPI(MPI_Comm_size(machine, &ranks));
  std::vector<cpu_set_t> all(static_cast<std::size_t>(ranks));
  PetscCallMPI(MPI_Allgather(&own, sizeof(own), MPI_BYTE, all.data(), sizeof(own), MPI_BYTE, machine));
  PetscCallMPI(MPI_Comm_free(&machine));

  // A processor that several ranks may run on belongs to each of them in part.
  double share = 0;
  for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (!CPU_ISSET(processor, &own)) continue;
    const auto sharers =
        std::count_if(all.begin(), all.end(), [&](const cpu_set_t& set) { return CPU_ISSET(processor, &set); });
    share += 1.0 / static_cast<double>(sharers);
  }
  constexpr double rounding = 1e-6;
  threads_of_rank = std::getenv("OMP_NUM_THREADS") != nullptr ? 0 : std::max(1, static_cast<int>(share + rounding));
  PetscFunctionReturn(success);
}

ThreadShare::ThreadShare() : before_(omp_get_max_threads()) {
  if (threads_of_rank > 0) omp_set_num_threads(threads_of_rank);
}

ThreadShare::~ThreadShare() {
  if (threads_of_rank > 0) omp_set_num_threads(before_);
}

DeviceLock::DeviceLock(Place device) : file_(-1) {
  std::error_code none;
  const auto folder = std::filesystem::temp_directory_path(none);
  if (none) return;
  auto name = "autospmv-" + std::to_string(getuid()) + "-" + std::string(name_of(device.backend));
  if (device.backend == Backend::cuda) name += std::to_string(device.ordinal);
  file_ = open((folder / (name + ".lock")).c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file_ < 0) return;
  while (flock(file_, LOCK_EX) != 0 && errno == EINTR) {
  }
}

DeviceLock::~DeviceLock() {
  if (file_ >= 0) close(file_);  // which gives it back, as the end of the process does
}

}  // namespace autospmv::petsc
