// The vendor's library is found at run time, not when this one is loaded: where it is missing, its formats refuse every
// matrix, and all others work. Its functions are called by their own names in the namespace below. CUDA builds only.
#pragma once

#define CUSPARSE_ENABLE_EXPERIMENTAL_API
#include <cusparse.h>

#include <atomic>
#include <string>

#include "core/error.hpp"

namespace autospmv::formats::cusparse {

/// Whether there is a library; looked for once, which takes as long as hundreds of products. Taken is one that the
/// process has loaded, else one that the system's loader finds, else that of the toolkit which compiled this.
bool is_there();

/// Whether nothing is known against it: a prediction does not look for the library, and what is built from it does.
bool may_be_there();

namespace loaded {

/// Null where the library, or the one there is, does not have it.
void* find(const char* name);
bool may_have(const char* name);  ///< as may_be_there()

template <class Signature>
class Function;

/// Finds itself when it is first called. Throws Unsupported where there is none.
template <class R, class... A>
class Function<R(A...)> {
 public:
  constexpr explicit Function(const char* name) : name_(name) {}
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  [[nodiscard]] bool is_there() const { return address() != nullptr; }
  [[nodiscard]] bool may_be_there() const { return may_have(name_); }

  R operator()(A... arguments) const {
    auto* const found = address();
    if (found == nullptr) throw Unsupported(std::string("the cuSPARSE that was found has no ") + name_);
    return reinterpret_cast<R (*)(A...)>(found)(arguments...);
  }

 private:
  [[nodiscard]] void* address() const {
    auto* known = address_.load(std::memory_order_acquire);
    if (known == nullptr) address_.store(known = find(name_), std::memory_order_release);
    return known;
  }

  const char* name_;
  mutable std::atomic<void*> address_ = nullptr;
};

#define AUTOSPMV_CUSPARSE(name) inline const Function<decltype(::name)> name(#name)
AUTOSPMV_CUSPARSE(cusparseCreate);
AUTOSPMV_CUSPARSE(cusparseCreateConstBsr);
AUTOSPMV_CUSPARSE(cusparseCreateConstCoo);
AUTOSPMV_CUSPARSE(cusparseCreateConstCsc);
AUTOSPMV_CUSPARSE(cusparseCreateConstCsr);
AUTOSPMV_CUSPARSE(cusparseCreateConstSlicedEll);
AUTOSPMV_CUSPARSE(cusparseCreateDnVec);
AUTOSPMV_CUSPARSE(cusparseDestroy);
AUTOSPMV_CUSPARSE(cusparseDestroyDnVec);
AUTOSPMV_CUSPARSE(cusparseDestroySpMat);
AUTOSPMV_CUSPARSE(cusparseDnVecSetValues);
AUTOSPMV_CUSPARSE(cusparseGetErrorString);
AUTOSPMV_CUSPARSE(cusparseSetStream);
AUTOSPMV_CUSPARSE(cusparseSpMV);
AUTOSPMV_CUSPARSE(cusparseSpMV_bufferSize);
AUTOSPMV_CUSPARSE(cusparseSpMV_preprocess);
AUTOSPMV_CUSPARSE(cusparseXcoo2csr);
AUTOSPMV_CUSPARSE(cusparseXcsr2coo);
#ifdef AUTOSPMV_HAS_SPMVOP
AUTOSPMV_CUSPARSE(cusparseSpMVOp);
AUTOSPMV_CUSPARSE(cusparseSpMVOp_bufferSize);
AUTOSPMV_CUSPARSE(cusparseSpMVOp_createDescr);
AUTOSPMV_CUSPARSE(cusparseSpMVOp_createPlan);
AUTOSPMV_CUSPARSE(cusparseSpMVOp_destroyDescr);
AUTOSPMV_CUSPARSE(cusparseSpMVOp_destroyPlan);
#endif
#undef AUTOSPMV_CUSPARSE

}  // namespace loaded

}  // namespace autospmv::formats::cusparse
