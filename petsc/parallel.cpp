// The parallel types: PETSc's own, whose blocks are matrices of our sequential type.
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "errors.hpp"
#include "types.hpp"

namespace autospmv::petsc {

namespace {

using AssemblyEnd = PetscErrorCode(Mat, MatAssemblyType);
using View = PetscErrorCode(Mat, PetscViewer);
using Destroy = PetscErrorCode(Mat);
using Preallocate = PetscErrorCode(Mat, PetscInt, const PetscInt*, PetscInt, const PetscInt*);

constexpr const char* preallocate_key = "MatMPIAIJSetPreallocation_C";

// As the type below has them, which are the same for all of its matrices.
struct Operations {
  AssemblyEnd* assembly_end = nullptr;
  Convert* convert = nullptr;
  View* view = nullptr;
  Destroy* destroy = nullptr;
  Preallocate* preallocate = nullptr;
};

PetscErrorCode set_operations(Mat A, const Operations& operations) {
  PetscFunctionBegin;
  PetscCall(set_operation(A, MATOP_ASSEMBLY_END, operations.assembly_end));
  PetscCall(set_operation(A, MATOP_CONVERT, operations.convert));
  PetscCall(set_operation(A, MATOP_VIEW, operations.view));
  PetscCall(set_operation(A, MATOP_DESTROY, operations.destroy));
  PetscCall(PetscObjectComposeFunction(reinterpret_cast<PetscObject>(A), preallocate_key, operations.preallocate));
  PetscFunctionReturn(success);
}

// "sell_p C=32 T=1 sigma=1 on 3 ranks, PETSc's own product on 1", of one block of every rank; on the first rank.
PetscErrorCode describe_blocks(MPI_Comm comm, const std::string& own, std::string* all) {
  PetscFunctionBegin;
  constexpr std::size_t longest = 128;
  std::array<char, longest> text{};
  own.copy(text.data(), longest - 1);
  PetscMPIInt ranks = 0;
  PetscMPIInt rank = 0;
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  std::vector<char> texts(rank == 0 ? longest * static_cast<std::size_t>(ranks) : 0);
  PetscCallMPI(MPI_Gather(text.data(), longest, MPI_CHAR, texts.data(), longest, MPI_CHAR, 0, comm));
  std::map<std::string, int> counts;
  for (std::size_t i = 0; i < texts.size(); i += longest) ++counts[texts.data() + i];
  for (const auto& [description, count] : counts) {
    *all += (all->empty() ? "" : "; ") + description + " (" + std::to_string(count) +
            (count == 1 ? " rank" : " ranks") + ")";
  }
  PetscFunctionReturn(success);
}

template <const Family& family>
struct Own {
  static inline Operations base{};

  // Wherever PETSc may have made the blocks anew. They have no prefix: theirs are the options of the whole.
  static PetscErrorCode attach_blocks(Mat A) {
    PetscFunctionBegin;
    std::array<Mat, 2> blocks{};
    std::optional<Settings> settings;
    PetscCall(MatMPIAIJGetSeqAIJ(A, blocks.data(), &blocks[1], nullptr));
    for (Mat block : blocks) {
      if (block == nullptr) continue;
      Product* product = nullptr;
      PetscCall(Sequential<family>::attach(block));
      PetscCall(product_of(block, &product));
      if (product->settings()) continue;
      if (!settings) PetscCall(read_settings(A, &settings.emplace()));
      PetscCall(guarded([&] { product->set_settings(settings); }));
    }
    PetscFunctionReturn(success);
  }

  static PetscErrorCode preallocate(Mat A, PetscInt d_nz, const PetscInt* d_nnz, PetscInt o_nz, const PetscInt* o_nnz) {
    PetscFunctionBegin;
    PetscCall((*base.preallocate)(A, d_nz, d_nnz, o_nz, o_nnz));
    PetscCall(attach_blocks(A));
    PetscFunctionReturn(success);
  }

  static PetscErrorCode assembly_end(Mat A, MatAssemblyType type) {
    PetscFunctionBegin;
    PetscCall((*base.assembly_end)(A, type));
    PetscCall(attach_blocks(A));
    PetscFunctionReturn(success);
  }

  static PetscErrorCode view(Mat A, PetscViewer viewer) {
    PetscFunctionBegin;
    bool info = false;
    std::array<Mat, 2> blocks{};
    PetscCall((*base.view)(A, viewer));
    PetscCall(asks_for_info(viewer, &info));
    if (!info) PetscFunctionReturn(success);
    PetscCall(MatMPIAIJGetSeqAIJ(A, blocks.data(), &blocks[1], nullptr));
    constexpr std::array names = {"diagonal", "off-diagonal"};
    for (std::size_t i = 0; i < blocks.size(); ++i) {
      std::string own;
      std::string all;
      Product* product = nullptr;
      if (blocks[i] != nullptr) PetscCall(product_of(blocks[i], &product));
      if (product != nullptr) PetscCall(product->describe(&own));
      PetscCall(describe_blocks(PetscObjectComm(reinterpret_cast<PetscObject>(A)), own, &all));
      PetscCall(PetscViewerASCIIPrintf(viewer, "autospmv, %s blocks: %s\n", names[i], all.c_str()));
    }
    PetscFunctionReturn(success);
  }

  // To types that know the type below.
  static PetscErrorCode convert(Mat A, MatType type, MatReuse reuse, Mat* result) {
    return convert_as(family.base_parallel, base.convert, detach, A, type, reuse, result);
  }

  static PetscErrorCode convert_to_base(Mat A, MatType, MatReuse reuse, Mat* result) {
    return convert_by(detach, A, reuse, result);
  }

  static PetscErrorCode convert_from_base(Mat A, MatType, MatReuse reuse, Mat* result) {
    const auto change = [](Mat B) {
      PetscFunctionBegin;
      PetscCall(attach(B));
      PetscCall(attach_blocks(B));
      PetscFunctionReturn(success);
    };
    return convert_by(change, A, reuse, result);
  }

  static PetscErrorCode attach(Mat A) {
    PetscFunctionBegin;
    PetscBool is_own = PETSC_FALSE;
    auto* const object = reinterpret_cast<PetscObject>(A);
    PetscCall(PetscObjectTypeCompare(object, family.parallel, &is_own));
    if (is_own == PETSC_TRUE) PetscFunctionReturn(success);
    PetscCall(get_operation(A, MATOP_ASSEMBLY_END, &base.assembly_end));
    PetscCall(get_operation(A, MATOP_CONVERT, &base.convert));
    PetscCall(get_operation(A, MATOP_VIEW, &base.view));
    PetscCall(get_operation(A, MATOP_DESTROY, &base.destroy));
    PetscCall(PetscObjectQueryFunction(object, preallocate_key, &base.preallocate));
    PetscCall(set_operations(A, {.assembly_end = assembly_end,
                                 .convert = convert,
                                 .view = view,
                                 .destroy = destroy,
                                 .preallocate = preallocate}));
    PetscCall(compose(A, convert_to_base, convert_from_base));
    PetscCall(PetscObjectChangeTypeName(object, family.parallel));
    PetscFunctionReturn(success);
  }

  static PetscErrorCode detach(Mat A) {
    PetscFunctionBegin;
    std::array<Mat, 2> blocks{};
    PetscCall(compose(A, nullptr, nullptr));
    PetscCall(set_operations(A, base));
    PetscCall(MatMPIAIJGetSeqAIJ(A, blocks.data(), &blocks[1], nullptr));
    for (Mat block : blocks) {
      if (block != nullptr) PetscCall(Sequential<family>::detach(block));
    }
    PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(A), family.base_parallel));
    PetscFunctionReturn(success);
  }

  static PetscErrorCode destroy(Mat A) {
    PetscFunctionBegin;
    PetscCall(compose(A, nullptr, nullptr));
    PetscCall((*base.destroy)(A));
    PetscFunctionReturn(success);
  }

  static PetscErrorCode compose(Mat A, Convert* to_base, Convert* from_base) {
    return compose_converters(A, family.parallel, family.base_parallel, to_base, from_base);
  }
};

}  // namespace

template <const Family& family>
PetscErrorCode Parallel<family>::create(Mat A) {
  PetscFunctionBegin;
  PetscCall(MatSetType(A, family.base_parallel));
  PetscCall(Own<family>::attach(A));
  PetscFunctionReturn(success);
}

template struct Parallel<host_family>;
#if defined(PETSC_HAVE_CUDA)
template struct Parallel<cuda_family>;
#endif

}  // namespace autospmv::petsc
