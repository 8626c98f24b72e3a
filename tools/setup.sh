# Shared by tools/quickstart and tools/test, which source it: installs what is missing, finds CUDA, configures.
# shellcheck shell=bash

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

# What CMakeLists.txt asks for, under the names that Debian and Ubuntu share.
build_packages=(
  g++ cmake ninja-build
  libarchive-dev libboost-program-options-dev libgtest-dev libspdlog-dev libsqlite3-dev nlohmann-json3-dev
)
# The Python package is built and tested with these.
python_packages=(python3-dev python3-venv)
# The matrix types for PETSc are built with the first, which brings an MPI; petsc4py runs an example.
petsc_packages=(libpetsc-real-dev mpi-default-bin python3-petsc4py)
# clang-tidy reads omp.h from clang's own OpenMP; clang builds the fuzz targets, with it and the runtimes of sanitizers.
check_packages=(ccache clang clang-format clang-tidy groff-base libclang-rt-dev libomp-dev pkgconf)

fail() {
  echo "${0##*/}: $*" >&2
  exit 1
}

as_root() {
  if [[ $(id -u) == 0 ]]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    fail "packages are missing, and installing them needs root or sudo: $*"
  fi
}

# install PACKAGE...: those that are missing; the package index is not touched where none is.
install() {
  local package missing=()
  if ! command -v apt-get >/dev/null; then
    echo "no apt-get here: make sure that the equivalents of these are installed: $*" >&2
    return
  fi
  for package in "$@"; do
    [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) == installed ]] ||
      missing+=("$package")
  done
  [[ ${#missing[@]} -gt 0 ]] || return 0
  echo "installing ${missing[*]}"
  as_root apt-get update -qq
  as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" </dev/null
}

# CUDA is used where it is, never installed.
find_cuda() {
  if ! command -v nvcc >/dev/null && [[ -x /usr/local/cuda/bin/nvcc ]]; then
    export PATH=/usr/local/cuda/bin:$PATH
  fi
}

# ccache makes builds after the first one quick, those of another clone too.
use_ccache() {
  if command -v ccache >/dev/null; then
    export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
    export CMAKE_CXX_COMPILER_LAUNCHER=ccache CMAKE_CUDA_COMPILER_LAUNCHER=ccache
  fi
}

# configure PRESET [CMAKE_OPTION...]; $CUDAARCHS chooses the GPU architectures, as it does for CMake itself.
configure() {
  local preset=$1 options=("${@:2}")
  if [[ -n ${CUDAARCHS:-} ]]; then options+=("-DCMAKE_CUDA_ARCHITECTURES=$CUDAARCHS"); fi
  # A build that began before there was a CUDA compiler remembers that there is none.
  if command -v nvcc >/dev/null && grep -qs '^CMAKE_CUDA_COMPILER:.*NOTFOUND' "$root/build/$preset/CMakeCache.txt"; then
    options+=(-U CMAKE_CUDA_COMPILER)
  fi
  (cd "$root" && cmake --preset "$preset" "${options[@]}")
}

# build DIRECTORY [TARGET...]
build() {
  local directory=$1
  shift
  cmake --build "$directory" --parallel "$jobs" ${1:+--target "$@"}
}

# What every build needs.
prepare() {
  install "${build_packages[@]}"
  find_cuda
  use_ccache
}
