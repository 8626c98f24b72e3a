// The order in which device work runs.
#pragma once

struct CUstream_st;

namespace autospmv {

/// A CUDA stream that somebody else owns; the default one is CUDA's legacy default stream. The host backend works
/// at once, in the calling thread, and ignores it.
struct Stream {
  CUstream_st* handle = nullptr;  ///< a cudaStream_t

  friend bool operator==(Stream, Stream) = default;
};

}  // namespace autospmv
