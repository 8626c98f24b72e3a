#include "product.hpp"

// PetscObjectStateGet, which PETSc documents and declares there alone.
#include <petsc/private/petscimpl.h>

#include <cstddef>
#include <span>
#include <type_traits>

#include "contexts.hpp"
#include "errors.hpp"
#include "sharing.hpp"

#if defined(PETSC_HAVE_CUDA)
#include <petscdevice_cuda.h>
#endif

namespace autospmv::petsc {

namespace {

using Index = std::conditional_t<sizeof(PetscInt) == sizeof(std::int64_t), std::int64_t, std::int32_t>;
static_assert(sizeof(PetscInt) == sizeof(Index));

// A product of fewer nonzeros takes microseconds: none of its formats gains what finding it takes.
constexpr std::int64_t least_nonzeros = 20000;
// From this share on PETSc leaves empty rows out of what it multiplies, as most of the blocks that couple ranks are. On
// a device it has no offsets of all rows then.
constexpr PetscReal most_empty_rows = 0.6;
// The arrays of the transposed matrix are made for those who multiply by it again and again.
constexpr std::int64_t first_transposed_products = 20;

PetscLogEvent plan_event = 0;
PetscLogEvent update_event = 0;

std::span<const Index> indices(const PetscInt* begin, std::int64_t count) {
  return {reinterpret_cast<const Index*>(begin), static_cast<std::size_t>(count)};
}

std::span<const PetscScalar> values_of(const Arrays& arrays) {
  return {arrays.values, static_cast<std::size_t>(arrays.nnz)};
}

PetscErrorCode arrays_of(Mat A, Arrays* arrays) {
  PetscFunctionBegin;
  PetscInt rows = 0;
  PetscInt cols = 0;
  PetscScalar* values = nullptr;
  MatInfo info;
  PetscCall(MatGetLocalSize(A, &rows, &cols));
  PetscCall(MatGetInfo(A, MAT_LOCAL, &info));
  arrays->rows = rows;
  arrays->cols = cols;
  arrays->nnz = static_cast<std::int64_t>(info.nz_used);
  // Of no nonzeros PETSc itself asks for nothing on a device.
  if (arrays->nnz == 0) PetscFunctionReturn(success);
  PetscCall(MatSeqAIJGetCSRAndMemType(A, &arrays->row_ptr, &arrays->col_idx, &values, &arrays->memory));
  arrays->values = values;
  PetscFunctionReturn(success);
}

// By the offsets that PETSc keeps on the host, wherever the matrix is.
PetscErrorCode count_nonempty_rows(Mat A, std::int64_t* count) {
  PetscFunctionBegin;
  PetscInt rows = 0;
  const PetscInt* row_ptr = nullptr;
  const PetscInt* col_idx = nullptr;
  PetscBool done = PETSC_FALSE;
  PetscCall(MatGetRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &col_idx, &done));
  PetscCheck(done == PETSC_TRUE, PETSC_COMM_SELF, PETSC_ERR_SUP, "autospmv: the matrix has no CSR arrays");
  for (PetscInt row = 0; row < rows; ++row) *count += row_ptr[row] != row_ptr[row + 1] ? 1 : 0;
  PetscCall(MatRestoreRowIJ(A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &row_ptr, &col_idx, &done));
  PetscFunctionReturn(success);
}

// PETSc's arrays and vectors on a device are work of this stream, which is that of its current device context.
Stream stream_of(PetscMemType memory) {
#if defined(PETSC_HAVE_CUDA)
  if (PetscMemTypeDevice(memory)) return {PetscDefaultCudaStream};
#else
  (void)memory;
#endif
  return {};
}

bool tunes_at_once(Effort effort) { return effort == Effort::measure || effort == Effort::exhaustive; }

}  // namespace

PetscErrorCode register_events() {
  PetscFunctionBegin;
  PetscCall(PetscLogEventRegister("AutospmvPlan", MAT_CLASSID, &plan_event));
  PetscCall(PetscLogEventRegister("AutospmvUpdate", MAT_CLASSID, &update_event));
  PetscFunctionReturn(success);
}

bool Arrays::same_pattern(const Arrays& other) const {
  return row_ptr == other.row_ptr && col_idx == other.col_idx && memory == other.memory && rows == other.rows &&
         cols == other.cols && nnz == other.nnz;
}

PetscErrorCode Product::prepare(Mat A) {
  PetscFunctionBegin;
  Seen now{.matrix = A};
  PetscCall(PetscObjectStateGet(reinterpret_cast<PetscObject>(A), &now.state));
  if (now.matrix == seen_.matrix && now.state == seen_.state) PetscFunctionReturn(success);
  PetscCall(MatGetNonzeroState(A, &now.pattern));
  PetscCall(arrays_of(A, &now.arrays));
  // On a device only the array that is borrowed may get new values.
  const bool takes_values = PetscMemTypeHost(now.arrays.memory) || now.arrays.values == seen_.arrays.values;
  const bool same = now.matrix == seen_.matrix && now.pattern == seen_.pattern &&
                    now.arrays.same_pattern(seen_.arrays) && takes_values;
  seen_ = {};
  if (!same) {
    if (!settings_) {
      Settings settings;
      PetscCall(read_settings(A, &settings));
      settings_ = settings;
    }
    PetscCall(begin(A, now.arrays));
  } else if (matrix_) {
    PetscCall(PetscLogEventBegin(update_event, A, nullptr, nullptr, nullptr));
    PetscCall(guarded([&] {
      const ThreadShare threads;
      matrix_->update_values(values_of(now.arrays), stream_of(now.arrays.memory));
    }));
    PetscCall(PetscLogEventEnd(update_event, A, nullptr, nullptr, nullptr));
  }
  seen_ = now;
  PetscFunctionReturn(success);
}

PetscErrorCode Product::begin(Mat A, const Arrays& arrays) {
  PetscFunctionBegin;
  matrix_.reset();
  context_.reset();
  transposed_products_ = 0;
  multiplied_ = transposed_ = false;
  if (arrays.nnz < least_nonzeros) PetscFunctionReturn(success);
  std::int64_t rows = 0;
  PetscCall(count_nonempty_rows(A, &rows));
  if (static_cast<PetscReal>(arrays.rows - rows) >= most_empty_rows * static_cast<PetscReal>(arrays.rows)) {
    PetscFunctionReturn(success);
  }
  flops_ = static_cast<PetscLogDouble>(2 * arrays.nnz - rows);
  PetscCall(PetscLogEventBegin(plan_event, A, nullptr, nullptr, nullptr));
  PetscCall(guarded([&] {
    const ThreadShare threads;
    matrix_ = Matrix<PetscScalar>::from_csr(arrays.rows, arrays.cols, indices(arrays.row_ptr, arrays.rows + 1),
                                            indices(arrays.col_idx, arrays.nnz), values_of(arrays), Ownership::borrow,
                                            stream_of(arrays.memory));
    context_ = context_for(*settings_, matrix_->home());
  }));
  PetscCall(PetscLogEventEnd(plan_event, A, nullptr, nullptr, nullptr));
  PetscFunctionReturn(success);
}

bool Product::leave_to_petsc(Operation op) {
  if (!matrix_) return true;
  return op == Operation::transposed && !tunes_at_once(settings_->effort) &&
         transposed_products_++ < first_transposed_products;
}

PetscErrorCode Product::multiply(Operation op, Vec x, Vec added, Vec y) {
  PetscFunctionBegin;
  const auto memory = seen_.arrays.memory;
  const bool on_host = PetscMemTypeHost(memory);
  bool& planned = op == Operation::plain ? multiplied_ : transposed_;
  if (!planned) {
    PetscCall(PetscLogEventBegin(plan_event, seen_.matrix, nullptr, nullptr, nullptr));
    PetscCall(guarded([&] {
      const ThreadShare threads;
      std::optional<DeviceLock> alone;
      if (tunes_at_once(settings_->effort)) alone.emplace(context_->device());
      (void)kept_plan(*matrix_, *context_, op);
    }));
    PetscCall(PetscLogEventEnd(plan_event, seen_.matrix, nullptr, nullptr, nullptr));
    planned = true;
  }
  if (added != nullptr && added != y) PetscCall(VecCopy(added, y));
  const PetscScalar* from = nullptr;
  PetscScalar* to = nullptr;
  PetscMemType from_memory = PETSC_MEMTYPE_HOST;
  PetscMemType to_memory = PETSC_MEMTYPE_HOST;
  if (on_host) {
    PetscCall(VecGetArrayRead(x, &from));
    PetscCall(added != nullptr ? VecGetArray(y, &to) : VecGetArrayWrite(y, &to));
  } else {
    PetscCall(VecGetArrayReadAndMemType(x, &from, &from_memory));
    PetscCall(added != nullptr ? VecGetArrayAndMemType(y, &to, &to_memory)
                               : VecGetArrayWriteAndMemType(y, &to, &to_memory));
    PetscCall(PetscLogGpuTimeBegin());
  }
  const auto rows = static_cast<std::size_t>(op == Operation::plain ? seen_.arrays.rows : seen_.arrays.cols);
  const auto cols = static_cast<std::size_t>(op == Operation::plain ? seen_.arrays.cols : seen_.arrays.rows);
  PetscCall(guarded([&] {
    const ThreadShare threads;
    SpmvOptions<PetscScalar> options{.beta = static_cast<PetscScalar>(added != nullptr ? 1 : 0),
                                     .stream = stream_of(memory),
                                     .context = &*context_,
                                     .op = op};
    if (from_memory == to_memory) options.memory = PetscMemTypeHost(to_memory) ? Memory::host : Memory::device;
    auto_spmv(*matrix_, {from, cols}, {to, rows}, options);
  }));
  if (on_host) {
    PetscCall(VecRestoreArrayRead(x, &from));
    PetscCall(added != nullptr ? VecRestoreArray(y, &to) : VecRestoreArrayWrite(y, &to));
    PetscCall(PetscLogFlops(flops_));
  } else {
    PetscCall(PetscLogGpuTimeEnd());
    PetscCall(VecRestoreArrayReadAndMemType(x, &from));
    PetscCall(added != nullptr ? VecRestoreArrayAndMemType(y, &to) : VecRestoreArrayWriteAndMemType(y, &to));
    PetscCall(PetscLogGpuFlops(flops_));
  }
  PetscFunctionReturn(success);
}

PetscErrorCode Product::describe(std::string* text) const {
  PetscFunctionBegin;
  PetscCall(guarded([&] {
    if (seen_.matrix == nullptr) {
      *text = "no product yet";
    } else if (!matrix_) {
      *text = "PETSc's own product";
    } else if (!multiplied_) {
      *text = "no product by autospmv yet";
    } else {
      const ThreadShare threads;
      const auto plan = kept_plan(*matrix_, *context_);
      *text = plan.choice() + (plan.settled() ? "" : ", still tuning");
    }
  }));
  PetscFunctionReturn(success);
}

PetscErrorCode Product::explain(Mat A) const {
  PetscFunctionBegin;
  if (!settings_ || !settings_->explain || !matrix_ || !(multiplied_ || transposed_)) PetscFunctionReturn(success);
  std::string text;
  PetscCall(guarded([&] {
    const ThreadShare threads;
    if (multiplied_) text += kept_plan(*matrix_, *context_).explain().text();
    if (transposed_) text += kept_plan(*matrix_, *context_, Operation::transposed).explain().text();
  }));
  PetscMPIInt rank = 0;
  const char* name = nullptr;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscObjectGetName(reinterpret_cast<PetscObject>(A), &name));
  PetscCall(PetscFPrintf(PETSC_COMM_SELF, PETSC_STDOUT, "[%d] autospmv: %s\n%s\n", static_cast<int>(rank), name,
                         text.c_str()));
  PetscFunctionReturn(success);
}

}  // namespace autospmv::petsc
