#include "formats/vendor/cusparse.hpp"

#include <algorithm>
#include <limits>
#include <mutex>
#include <string>
#include <vector>

namespace autospmv::formats::cusparse {

void check(cusparseStatus_t status, std::source_location where) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  const std::string file = where.file_name();
  const auto text = std::string("cuSPARSE: ") + loaded::cusparseGetErrorString(status) + " (" +
                    file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(where.line()) + ")";
  if (status == CUSPARSE_STATUS_ALLOC_FAILED || status == CUSPARSE_STATUS_INSUFFICIENT_RESOURCES) {
    cuda::ignore(cudaPeekAtLastError());  // what it met on the way
    throw OutOfMemory(text);
  }
  throw DeviceError(text);
}

namespace {

// Those that nobody uses, by device. Never destroyed: at the end of a program the driver may be gone before it.
struct IdleHandles {
  std::mutex mutex;
  std::vector<std::pair<int, cusparseHandle_t>> handles;

  static IdleHandles& instance() {
    static auto* const idle = new IdleHandles;
    return *idle;
  }
};

constexpr std::size_t most_idle = 8;

}  // namespace

Library::Library(int ordinal) : ordinal_(ordinal) {
  auto& idle = IdleHandles::instance();
  {
    const std::scoped_lock lock(idle.mutex);
    const auto found = std::find_if(idle.handles.begin(), idle.handles.end(),
                                    [&](const auto& handle) { return handle.first == ordinal; });
    if (found != idle.handles.end()) {
      handle_ = found->second;
      idle.handles.erase(found);
      return;
    }
    idle.handles.reserve(most_idle);
  }
  check(loaded::cusparseCreate(&handle_));
}

Library::~Library() {
  if (handle_ == nullptr) return;
  auto& idle = IdleHandles::instance();
  {
    const std::scoped_lock lock(idle.mutex);
    if (idle.handles.size() < most_idle) {
      idle.handles.emplace_back(ordinal_, handle_);  // there is room
      return;
    }
  }
  static_cast<void>(loaded::cusparseDestroy(handle_));
}

Library open_library(const Device& device) {
  Library library(device.ordinal);
  check(loaded::cusparseSetStream(library.get(), setup_stream(device).handle));
  return library;
}

std::optional<Refusal> refuse_size(bool is_there, std::int64_t rows, std::int64_t cols, std::int64_t nnz) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  if (!is_there) return Refusal{"library: there is no cuSPARSE on this machine"};
  if (nnz > max_narrow_nnz) return Refusal{"size: 64-bit row offsets would need 64-bit columns too"};
  if (rows > most || cols > most) return Refusal{"size: 2^31 rows or columns do not fit 32-bit indices"};
  if (rows == 0 || cols == 0 || nnz == 0) return Refusal{"size: cuSPARSE takes no empty matrix"};
  if (nnz > rows * cols) return Refusal{"duplicates: cuSPARSE takes no more nonzeros than rows x columns"};
  return std::nullopt;
}

template <class T>
Product<T>::Product(Library library, std::function<MatrixDescriptor()> describe, const CsrView<T>& matrix,
                    cusparseSpMVAlg_t algorithm, const Device& device)
    : library_(std::move(library)),
      describe_(std::move(describe)),
      matrix_(matrix),
      algorithm_(algorithm),
      place_(device),
      analysed_(device, [this] { return analyse(); }) {
  synchronize(place_, setup_stream(place_));
}

template <class T>
Analysed Product<T>::analyse() const {
  Analysed analysed;
  analysed.matrix = describe_();
  // Any pointers do until the first product: the analysis reads the matrix only.
  auto* anywhere = const_cast<T*>(matrix_.values);
  check(loaded::cusparseCreateDnVec(analysed.x.put(), matrix_.cols, anywhere, data_type<T>));
  check(loaded::cusparseCreateDnVec(analysed.y.put(), matrix_.rows, anywhere, data_type<T>));
  check(loaded::cusparseSetStream(library_.get(), setup_stream(place_).handle));
  const T one = 1;
  const T zero = 0;
  std::size_t bytes = 0;
  check(loaded::cusparseSpMV_bufferSize(library_.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one, analysed.matrix.get(),
                                        analysed.x.get(), &zero, analysed.y.get(), data_type<T>, algorithm_, &bytes));
  analysed.buffer = Array<std::uint8_t>(bytes, place_);
  const auto status = loaded::cusparseSpMV_preprocess(library_.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &one,
                                                      analysed.matrix.get(), analysed.x.get(), &zero, analysed.y.get(),
                                                      data_type<T>, algorithm_, analysed.buffer.data());
  // The analysis is an offer: products run without it too.
  if (status != CUSPARSE_STATUS_NOT_SUPPORTED) check(status);
  return analysed;
}

template <class T>
void Product<T>::operator()(T alpha, const T* x, T beta, T* y, Stream stream) const {
  // The library handle and the vector descriptors serve one call at a time, and the external buffer one product.
  analysed_.use(stream, [&](Analysed& analysed) {
    check(loaded::cusparseSetStream(library_.get(), stream.handle));
    check(loaded::cusparseDnVecSetValues(analysed.x.get(), const_cast<T*>(x)));
    check(loaded::cusparseDnVecSetValues(analysed.y.get(), y));
    check(loaded::cusparseSpMV(library_.get(), CUSPARSE_OPERATION_NON_TRANSPOSE, &alpha, analysed.matrix.get(),
                               analysed.x.get(), &beta, analysed.y.get(), data_type<T>, algorithm_,
                               analysed.buffer.data()));
  });
}

template class Product<float>;
template class Product<double>;

}  // namespace autospmv::formats::cusparse
