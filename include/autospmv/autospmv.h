/* autospmv: sparse matrix-vector products that tune themselves. The C interface, in C99.
 *
 *     autospmv_matrix *A;
 *     autospmv_matrix_from_csr(rows, cols, nnz, AUTOSPMV_I32, row_ptr, AUTOSPMV_I32, col_idx, AUTOSPMV_F64, values,
 *                              0, NULL, &A);
 *     autospmv_spmv(NULL, A, AUTOSPMV_PLAIN, NULL, x, NULL, y, NULL);     y = A x
 *     autospmv_matrix_destroy(A);
 *
 * Every function that can fail returns a status and says why in autospmv_last_error(). A handle may be used from many
 * threads at once, but destroyed only where no call uses it any more. Contexts and matrices may be destroyed in any
 * order. Arrays and vectors lie in host memory or on a CUDA device, which is found out. One without elements may be
 * NULL; any other NULL is AUTOSPMV_INVALID where it is not said to mean something. Where a call fails, the handle that
 * it was to create is NULL.
 *
 * A stream is a cudaStream_t; NULL is CUDA's legacy default stream. The host ignores it: the work is done when the call
 * returns. */
#ifndef AUTOSPMV_AUTOSPMV_H
#define AUTOSPMV_AUTOSPMV_H

#include <stddef.h>
#include <stdint.h>

#include "autospmv/export.h"
#include "autospmv/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where products run and how hard to look for the fastest format. NULL where one is wanted: the default one, which is
 * made on its first use. */
typedef struct autospmv_context autospmv_context;

/* A sparse matrix with a fixed pattern, and the plans that its products have run by. */
typedef struct autospmv_matrix autospmv_matrix;

typedef enum {
  AUTOSPMV_OK,
  AUTOSPMV_INVALID,     /* an argument that cannot be: sizes, pointers, types, options, a device that is not there */
  AUTOSPMV_MEMORY,      /* not enough memory on the host or the device */
  AUTOSPMV_DEVICE,      /* a CUDA or cuSPARSE call failed */
  AUTOSPMV_UNSUPPORTED, /* sensible, but this version or build cannot do it */
  AUTOSPMV_ERROR        /* anything else, such as a database of a newer version */
} autospmv_status;

/* Of numbers in arrays. */
typedef enum {
  AUTOSPMV_F32, /* float */
  AUTOSPMV_F64, /* double */
  AUTOSPMV_I32, /* int32_t */
  AUTOSPMV_I64  /* int64_t */
} autospmv_type;

typedef enum {
  AUTOSPMV_PLAIN,     /* y = alpha A x + beta y */
  AUTOSPMV_TRANSPOSED /* the same with A transposed: by a plan of its own, on the arrays of the transposed matrix */
} autospmv_op;

/* Of the library in use; AUTOSPMV_VERSION is that of the headers. */
AUTOSPMV_API const char* autospmv_version(void);

/* Why the last call of this thread that returned a status failed: one line, empty if it succeeded. Valid until the
 * thread's next call. */
AUTOSPMV_API const char* autospmv_last_error(void);

/* options: NAME=VALUE, any of these in any order, each at most once, with white space between them; "" or NULL: the
 * defaults.
 *
 *     effort=HOW           cached, estimate, measure, exhaustive or online (online)
 *     expected-calls=N     products over which the setup must pay off (1000)
 *     time-limit=SECONDS   for all trials of one matrix (none)
 *     memory-factor=X      most bytes of a winner, over those of the CSR arrays (none)
 *     deterministic        or deterministic=true: only what gives the same bits from run to run (false)
 *     capture=false        also what no CUDA graph can capture: such products fail with AUTOSPMV_UNSUPPORTED where they
 *                          are to be captured (true)
 *     device=NAME          host, cuda, or cuda:N, the device of that ordinal (the first CUDA device, else the host)
 *     database=FILE        where trials are kept, or memory: nowhere ($AUTOSPMV_DB, else in the user's cache)
 *     system-database=FILE what is read where that says nothing, above what is installed with the library; or none
 *     background=false     no thread beside the caller's, and thus no tuning online on a GPU (true)
 *
 * AUTOSPMV_INVALID for anything else and for a device that is not there; AUTOSPMV_ERROR for a database of another
 * program or of a newer version. */
AUTOSPMV_API autospmv_status autospmv_context_create(const char* options, autospmv_context** context);

/* Waits for the trial in hand where one runs in the background. NULL is fine. */
AUTOSPMV_API void autospmv_context_destroy(autospmv_context* context);

/* A matrix of rows x cols with nnz entries: rows + 1 offsets, nnz columns that count from 0 and nnz values, all in host
 * memory or all on one CUDA device, where they are read in the order of the stream. Columns may come in any order and
 * more than once; repeated ones add up. rows and cols are at most 2^31 - 1, nnz may be more. offsets and columns are
 * AUTOSPMV_I32 or AUTOSPMV_I64, values_type is AUTOSPMV_F32 or AUTOSPMV_F64.
 *
 * The arrays are copied unless borrow is other than 0: they are then needed until the matrix is destroyed, and the
 * values may change by autospmv_update_values only. 64-bit integers that fit 32 bits are copied even so.
 *
 * AUTOSPMV_INVALID where the arrays are no such matrix, AUTOSPMV_MEMORY, AUTOSPMV_DEVICE. */
AUTOSPMV_API autospmv_status autospmv_matrix_from_csr(int64_t rows, int64_t cols, int64_t nnz, autospmv_type offsets,
                                                      const void* row_ptr, autospmv_type columns, const void* col_idx,
                                                      autospmv_type values_type, const void* values, int borrow,
                                                      void* stream, autospmv_matrix** matrix);

/* New values for the same pattern: nnz of the matrix's type, in the order of the arrays that it was made of, in host or
 * device memory. Its plans have them without tuning again. A matrix that borrows refers to this array from now on; on a
 * device it must be the one that it borrows already.
 *
 * On the host, products on other threads see the old values or the new ones, whole. On a device the update is work in
 * the order of the stream. A call that fails leaves the old values. AUTOSPMV_INVALID, AUTOSPMV_MEMORY, AUTOSPMV_DEVICE.
 */
AUTOSPMV_API autospmv_status autospmv_update_values(autospmv_matrix* matrix, const void* values, void* stream);

/* NULL is fine. */
AUTOSPMV_API void autospmv_matrix_destroy(autospmv_matrix* matrix);

/* Makes the plan by which this context does such products with the matrix now, not at the first product: from the
 * database or by trials, as the context's effort says. Does nothing where there is one. AUTOSPMV_MEMORY,
 * AUTOSPMV_DEVICE, AUTOSPMV_UNSUPPORTED for transposed products of 2^32 nonzeros and more. */
AUTOSPMV_API autospmv_status autospmv_plan(autospmv_context* context, autospmv_matrix* matrix, autospmv_op op);

/* y = alpha A x + beta y, by that plan, which the first call makes if need be. x has cols elements and y rows, of the
 * matrix's type, transposed the other way round, and they do not overlap. alpha and beta point to one number of that
 * type in host memory; NULL: 1 and 0. Where beta is 0, y is not read and may hold anything.
 *
 * With a plan, and with vectors in the memory of its device, a product allocates nothing, waits for nothing and may be
 * captured into a CUDA graph, which is replayed only as long as matrix and context live. Vectors in host memory are
 * taken on a CUDA device too: the call returns when y is complete. AUTOSPMV_MEMORY, AUTOSPMV_DEVICE,
 * AUTOSPMV_UNSUPPORTED. */
AUTOSPMV_API autospmv_status autospmv_spmv(autospmv_context* context, autospmv_matrix* matrix, autospmv_op op,
                                           const void* alpha, const void* x, const void* beta, void* y, void* stream);

/* Why products with this matrix run as they do: a JSON object on one line, which ends with a 0. *size is the room in
 * json before the call and what the text takes after it, its 0 included. Where json is NULL, only that is told; too
 * little room is AUTOSPMV_INVALID and leaves json alone. Makes the plan if need be, and fails as autospmv_plan does.
 * What is tuned online may take more room the next time. */
AUTOSPMV_API autospmv_status autospmv_explain(autospmv_context* context, autospmv_matrix* matrix, autospmv_op op,
                                              char* json, size_t* size);

#ifdef __cplusplus
}
#endif

#endif
