// How ranks share a machine: no product starts more threads than its rank's share of the processors, and no rank
// measures while another one does.
#pragma once

#include <petscsys.h>

#include <autospmv/types.hpp>

namespace autospmv::petsc {

/// Finds out how many threads a product of this rank may take: OMP_NUM_THREADS where that is set, else its share of the
/// processors that it may run on, at least one. Collective over PETSC_COMM_WORLD.
PetscErrorCode share_processors();

/// While it lives, OpenMP gives this thread as many threads as the share has.
class ThreadShare {
 public:
  ThreadShare();
  ~ThreadShare();
  ThreadShare(const ThreadShare&) = delete;
  ThreadShare& operator=(const ThreadShare&) = delete;

 private:
  int before_;
};

/// While it lives, no other process of this user on this machine has one for the same device. Nothing that waits for
/// other ranks may be done meanwhile. Where no such lock can be had, it is none.
class DeviceLock {
 public:
  explicit DeviceLock(Place device);
  ~DeviceLock();
  DeviceLock(const DeviceLock&) = delete;
  DeviceLock& operator=(const DeviceLock&) = delete;

 private:
  int file_;
};

}  // namespace autospmv::petsc
