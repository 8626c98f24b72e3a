// The sequential types. What a matrix needs beside PETSc's own data is a State, composed with it in a container, so
// that it goes where PETSc moves the inside of a matrix, and goes with it.
#include <array>
#include <memory>
#include <string>

#include "errors.hpp"
#include "types.hpp"

namespace autospmv::petsc {

namespace {

constexpr const char* state_key = "autospmv";

using Mult = PetscErrorCode(Mat, Vec, Vec);
using MultAdd = PetscErrorCode(Mat, Vec, Vec, Vec);
using Duplicate = PetscErrorCode(Mat, MatDuplicateOption, Mat*);
using View = PetscErrorCode(Mat, PetscViewer);
using Destroy = PetscErrorCode(Mat);
using BindToCpu = PetscErrorCode(Mat, PetscBool);

// Operations that are replaced, as they are in the type below.
struct Operations {
  Mult* mult = nullptr;
  MultAdd* mult_add = nullptr;
  Mult* mult_transpose = nullptr;
  MultAdd* mult_transpose_add = nullptr;
  Duplicate* duplicate = nullptr;
  Convert* convert = nullptr;
  View* view = nullptr;
  Destroy* destroy = nullptr;
  BindToCpu* bind_to_cpu = nullptr;
};

PetscErrorCode get_products(Mat A, Operations* operations) {
  PetscFunctionBegin;
  PetscCall(get_operation(A, MATOP_MULT, &operations->mult));
  PetscCall(get_operation(A, MATOP_MULT_ADD, &operations->mult_add));
  PetscCall(get_operation(A, MATOP_MULT_TRANSPOSE, &operations->mult_transpose));
  PetscCall(get_operation(A, MATOP_MULT_TRANSPOSE_ADD, &operations->mult_transpose_add));
  PetscFunctionReturn(success);
}

PetscErrorCode set_products(Mat A, const Operations& operations) {
  PetscFunctionBegin;
  PetscCall(set_operation(A, MATOP_MULT, operations.mult));
  PetscCall(set_operation(A, MATOP_MULT_ADD, operations.mult_add));
  PetscCall(set_operation(A, MATOP_MULT_TRANSPOSE, operations.mult_transpose));
  PetscCall(set_operation(A, MATOP_MULT_TRANSPOSE_ADD, operations.mult_transpose_add));
  PetscFunctionReturn(success);
}

PetscErrorCode get_operations(Mat A, Operations* operations) {
  PetscFunctionBegin;
  PetscCall(get_products(A, operations));
  PetscCall(get_operation(A, MATOP_DUPLICATE, &operations->duplicate));
  PetscCall(get_operation(A, MATOP_CONVERT, &operations->convert));
  PetscCall(get_operation(A, MATOP_VIEW, &operations->view));
  PetscCall(get_operation(A, MATOP_DESTROY, &operations->destroy));
  PetscCall(get_operation(A, MATOP_BIND_TO_CPU, &operations->bind_to_cpu));
  PetscFunctionReturn(success);
}

PetscErrorCode set_operations(Mat A, const Operations& operations) {
  PetscFunctionBegin;
  PetscCall(set_products(A, operations));
  PetscCall(set_operation(A, MATOP_DUPLICATE, operations.duplicate));
  PetscCall(set_operation(A, MATOP_CONVERT, operations.convert));
  PetscCall(set_operation(A, MATOP_VIEW, operations.view));
  PetscCall(set_operation(A, MATOP_DESTROY, operations.destroy));
  PetscCall(set_operation(A, MATOP_BIND_TO_CPU, operations.bind_to_cpu));
  PetscFunctionReturn(success);
}

// Of an operation as it is, and as it was replaced before: the one below both.
template <class Function>
Function* below(Function* now, Function* own, Function* base) {
  return now == own ? base : now;
}

struct State {
  Operations base;
  Operations own;
  std::string base_type;
  Product product;
};

// Since PETSc 3.23 it gives the place of what is destroyed, as void** or, later, as void*.
#if PETSC_VERSION_LT(3, 23, 0)
PetscErrorCode delete_state(void* state) {
  delete static_cast<State*>(state);
  return success;
}
constexpr auto set_destroy = PetscContainerSetUserDestroy;
#else
template <class Place>
PetscErrorCode delete_state(Place state) {
  delete *reinterpret_cast<State**>(state);
  return success;
}
constexpr auto set_destroy = PetscContainerSetCtxDestroy;
#endif

// Another type may have been put on top of ours, as -mat_seqaij_type makes PETSc do, and ours on top of that again.
Operations below(const Operations& now, const State& state) {
  return {
      .mult = below(now.mult, state.own.mult, state.base.mult),
      .mult_add = below(now.mult_add, state.own.mult_add, state.base.mult_add),
      .mult_transpose = below(now.mult_transpose, state.own.mult_transpose, state.base.mult_transpose),
      .mult_transpose_add = below(now.mult_transpose_add, state.own.mult_transpose_add, state.base.mult_transpose_add),
      .duplicate = below(now.duplicate, state.own.duplicate, state.base.duplicate),
      .convert = below(now.convert, state.own.convert, state.base.convert),
      .view = below(now.view, state.own.view, state.base.view),
      .destroy = below(now.destroy, state.own.destroy, state.base.destroy),
      .bind_to_cpu = below(now.bind_to_cpu, state.own.bind_to_cpu, state.base.bind_to_cpu)};
}

PetscErrorCode find_state(Mat A, State** state) {
  PetscFunctionBegin;
  PetscObject found = nullptr;
  void* pointer = nullptr;
  PetscCall(PetscObjectQuery(reinterpret_cast<PetscObject>(A), state_key, &found));
  if (found != nullptr) PetscCall(PetscContainerGetPointer(reinterpret_cast<PetscContainer>(found), &pointer));
  *state = static_cast<State*>(pointer);
  PetscFunctionReturn(success);
}

PetscErrorCode compose_state(Mat A, const State& values, State** state) {
  PetscFunctionBegin;
  PetscContainer container = nullptr;
  std::unique_ptr<State> made;
  PetscCall(guarded([&] { made = std::make_unique<State>(values); }));
  PetscCall(PetscContainerCreate(PETSC_COMM_SELF, &container));
  PetscCall(set_destroy(container, delete_state));
  *state = made.get();
  PetscCall(PetscContainerSetPointer(container, made.release()));
  PetscCall(PetscObjectCompose(reinterpret_cast<PetscObject>(A), state_key, reinterpret_cast<PetscObject>(container)));
  PetscCall(PetscContainerDestroy(&container));
  PetscFunctionReturn(success);
}

// PETSc finds how to multiply matrices of two types by functions under their names. Those of the type below, under
// ours: the parts before and after the name.
constexpr std::array<std::array<const char*, 2>, 4> products_of_matrices = {{
    {"MatProductSetFromOptions_seqdense_", "_C"},
    {"MatProductSetFromOptions_is_", "_C"},
    {"MatProductSetFromOptions_", "_seqdense_C"},
    {"MatProductSetFromOptions_transpose_seqaij_", "_C"},
}};

using Composed = void (*)();

// The operations of this library's types.
template <const Family& family>
struct Own {
  // As the type below had them when a matrix was last made one of ours.
  static inline State base{};

  // PETSc may put the inside of another matrix into one of ours (MatHeaderMerge), which then keeps its operations only.
  static PetscErrorCode state_of(Mat A, State** state) {
    PetscFunctionBegin;
    PetscCall(find_state(A, state));
    if (*state == nullptr) PetscCall(compose_state(A, base, state));
    PetscFunctionReturn(success);
  }

  // And not another type on top of ours.
  static PetscErrorCode is_own(Mat A, bool* own) {
    PetscFunctionBegin;
    PetscBool named = PETSC_FALSE;
    Mult* found = nullptr;
    PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(A), family.sequential, &named));
    PetscCall(get_operation(A, MATOP_MULT, &found));
    *own = family.renames_sequential ? named == PETSC_TRUE : found == mult;
    PetscFunctionReturn(success);
  }

  static PetscErrorCode multiply(Mat A, Operation op, Vec x, Vec y) {
    PetscFunctionBegin;
    State* state = nullptr;
    PetscCall(state_of(A, &state));
    PetscCall(state->product.prepare(A));
    if (!state->product.leave_to_petsc(op)) {
      PetscCall(state->product.multiply(op, x, nullptr, y));
    } else {
      PetscCall((op == Operation::plain ? state->base.mult : state->base.mult_transpose)(A, x, y));
    }
    PetscFunctionReturn(success);
  }

  static PetscErrorCode multiply_add(Mat A, Operation op, Vec x, Vec added, Vec y) {
    PetscFunctionBegin;
    State* state = nullptr;
    PetscCall(state_of(A, &state));
    PetscCall(state->product.prepare(A));
    if (!state->product.leave_to_petsc(op)) {
      PetscCall(state->product.multiply(op, x, added, y));
    } else if (op == Operation::plain) {
      PetscCall((*state->base.mult_add)(A, x, added, y));
    } else {
      // PETSc's transposed product on a device (seen in 3.26) adds what y held as well, where it is another vector.
      if (added != y) PetscCall(VecCopy(added, y));
      PetscCall((*state->base.mult_transpose_add)(A, x, y, y));
    }
    PetscFunctionReturn(success);
  }

  static PetscErrorCode mult(Mat A, Vec x, Vec y) { return multiply(A, Operation::plain, x, y); }
  static PetscErrorCode mult_add(Mat A, Vec x, Vec added, Vec y) {
    return multiply_add(A, Operation::plain, x, added, y);
  }
  static PetscErrorCode mult_transpose(Mat A, Vec x, Vec y) { return multiply(A, Operation::transposed, x, y); }
  static PetscErrorCode mult_transpose_add(Mat A, Vec x, Vec added, Vec y) {
    return multiply_add(A, Operation::transposed, x, added, y);
  }

  // The type below makes the copy one of ours by the name of its type, where that tells. A copy that is not assembled
  // may not have its own operations yet.
  static PetscErrorCode duplicate(Mat A, MatDuplicateOption option, Mat* copy) {
    PetscFunctionBegin;
    State* state = nullptr;
    Product* product = nullptr;
    PetscBool assembled = PETSC_FALSE;
    PetscCall(state_of(A, &state));
    PetscCall((*state->base.duplicate)(A, option, copy));
    PetscCall(MatAssembled(*copy, &assembled));
    if (!family.renames_sequential && assembled == PETSC_TRUE) PetscCall(Sequential<family>::attach(*copy));
    PetscCall(product_of(*copy, &product));
    if (product != nullptr) PetscCall(guarded([&] { product->set_settings(state->product.settings()); }));
    PetscFunctionReturn(success);
  }

  static PetscErrorCode view(Mat A, PetscViewer viewer) {
    PetscFunctionBegin;
    State* state = nullptr;
    bool info = false;
    MatFactorType factor = MAT_FACTOR_NONE;
    bool own = false;
    PetscCall(state_of(A, &state));
    PetscCall((*state->base.view)(A, viewer));
    PetscCall(asks_for_info(viewer, &info));
    PetscCall(MatGetFactorType(A, &factor));
    PetscCall(is_own(A, &own));
    if (info && factor == MAT_FACTOR_NONE && own) {
      std::string text;
      PetscCall(state->product.describe(&text));
      PetscCall(PetscViewerASCIIPrintf(viewer, "autospmv: %s\n", text.c_str()));
    }
    PetscFunctionReturn(success);
  }

  // PETSc's own bind_to_cpu chooses products anew.
  static PetscErrorCode bind_to_cpu(Mat A, PetscBool flag) {
    PetscFunctionBegin;
    State* state = nullptr;
    PetscCall(state_of(A, &state));
    PetscCall((*state->base.bind_to_cpu)(A, flag));
    PetscCall(get_products(A, &state->base));
    PetscCall(set_products(A, state->own));
    state->product.forget();
    PetscFunctionReturn(success);
  }

  // To types that know the type below.
  static PetscErrorCode convert(Mat A, MatType type, MatReuse reuse, Mat* result) {
    PetscFunctionBegin;
    State* state = nullptr;
    PetscCall(state_of(A, &state));
    PetscCall(convert_as(family.base_sequential, state->base.convert, detach, A, type, reuse, result));
    PetscFunctionReturn(success);
  }

  static PetscErrorCode convert_to_base(Mat A, MatType type, MatReuse reuse, Mat* result) {
    const auto change = [type](Mat B) {
      PetscFunctionBegin;
      PetscCall(detach(B));
      // It was of a type between that and ours.
      PetscCall(MatConvert(B, type, MAT_INPLACE_MATRIX, &B));
      PetscFunctionReturn(success);
    };
    return convert_by(change, A, reuse, result);
  }

  static PetscErrorCode destroy(Mat A) {
    PetscFunctionBegin;
    State* state = nullptr;
    PetscCall(state_of(A, &state));
    PetscCall(state->product.explain(A));
    const auto destroy_base = state->base.destroy;
    PetscCall(remove(A));
    PetscCall((*destroy_base)(A));
    PetscFunctionReturn(success);
  }

  static PetscErrorCode detach(Mat A) {
    PetscFunctionBegin;
    State* state = nullptr;
    PetscCall(state_of(A, &state));
    const auto operations = state->base;
    const auto type = state->base_type;
    PetscCall(state->product.explain(A));
    PetscCall(remove(A));
    PetscCall(set_operations(A, operations));
    PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(A), type.c_str()));
    PetscFunctionReturn(success);
  }

  static Operations own_operations(const Operations& below) {
    return {.mult = mult,
            .mult_add = mult_add,
            .mult_transpose = mult_transpose,
            .mult_transpose_add = mult_transpose_add,
            .duplicate = duplicate,
            .convert = family.renames_sequential ? convert : below.convert,
            .view = view,
            .destroy = destroy,
            .bind_to_cpu = below.bind_to_cpu == nullptr ? nullptr : bind_to_cpu};
  }

  static PetscErrorCode compose(Mat A) {
    PetscFunctionBegin;
    auto* const object = reinterpret_cast<PetscObject>(A);
    PetscCall(
        compose_converters(A, family.sequential, family.base_sequential, convert_to_base, Sequential<family>::convert));
    if (!family.renames_sequential) {
      PetscCall(PetscObjectComposeFunction(object, from_plain().c_str(), Sequential<family>::convert));
      PetscFunctionReturn(success);
    }
    for (const auto& parts : products_of_matrices) {
      Composed function = nullptr;
      const auto name = [&](const char* type) { return std::string(parts[0]) + type + parts[1]; };
      PetscCall(PetscObjectQueryFunction(object, name(family.base_sequential).c_str(), &function));
      if (function == nullptr) continue;
      PetscCall(PetscObjectComposeFunction(object, name(family.sequential).c_str(), function));
    }
    PetscFunctionReturn(success);
  }

  // How PETSc finds its way from its plain type where that is not the one below.
  static std::string from_plain() { return std::string("MatConvert_") + MATSEQAIJ + "_" + family.sequential + "_C"; }

  // Everything that compose() and attach() have added.
  static PetscErrorCode remove(Mat A) {
    PetscFunctionBegin;
    auto* const object = reinterpret_cast<PetscObject>(A);
    constexpr Composed none = nullptr;
    PetscCall(compose_converters(A, family.sequential, family.base_sequential, nullptr, nullptr));
    PetscCall(PetscObjectComposeFunction(object, from_plain().c_str(), none));
    for (const auto& [before, after] : products_of_matrices) {
      PetscCall(PetscObjectComposeFunction(object, (std::string(before) + family.sequential + after).c_str(), none));
    }
    PetscCall(PetscObjectCompose(object, state_key, nullptr));
    PetscFunctionReturn(success);
  }
};

}  // namespace

PetscErrorCode product_of(Mat A, Product** product) {
  PetscFunctionBegin;
  State* state = nullptr;
  PetscCall(find_state(A, &state));
  *product = state == nullptr ? nullptr : &state->product;
  PetscFunctionReturn(success);
}

PetscErrorCode asks_for_info(PetscViewer viewer, bool* info) {
  PetscFunctionBegin;
  PetscBool ascii = PETSC_FALSE;
  PetscViewerFormat format = PETSC_VIEWER_DEFAULT;
  PetscCall(PetscObjectTypeCompare(reinterpret_cast<PetscObject>(viewer), PETSCVIEWERASCII, &ascii));
  if (ascii == PETSC_TRUE) PetscCall(PetscViewerGetFormat(viewer, &format));
  *info = format == PETSC_VIEWER_ASCII_INFO || format == PETSC_VIEWER_ASCII_INFO_DETAIL;
  PetscFunctionReturn(success);
}

PetscErrorCode convert_as(const char* base, Convert* base_convert, PetscErrorCode (*detach)(Mat), Mat A, MatType type,
                          MatReuse reuse, Mat* result) {
  PetscFunctionBegin;
  if (reuse == MAT_INPLACE_MATRIX) {
    PetscCall(detach(A));
    PetscCall(MatConvert(A, type, reuse, result));
    PetscFunctionReturn(success);
  }
  MatType own = nullptr;
  PetscCall(MatGetType(A, &own));
  const std::string name = own;
  Convert* own_convert = nullptr;
  PetscCall(get_operation(A, MATOP_CONVERT, &own_convert));
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(A), base));
  PetscCall(set_operation(A, MATOP_CONVERT, base_convert));
  const auto error = MatConvert(A, type, reuse, result);
  PetscCall(set_operation(A, MATOP_CONVERT, own_convert));
  PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(A), name.c_str()));
  PetscCall(error);
  PetscFunctionReturn(success);
}

PetscErrorCode compose_converters(Mat A, const char* own, const char* base, Convert* to_base, Convert* from_base) {
  PetscFunctionBegin;
  auto* const object = reinterpret_cast<PetscObject>(A);
  // "MatConvert_seqaij_seqaijautospmv_C"
  const auto name = [](const char* from, const char* to) {
    return std::string("MatConvert_") + from + "_" + to + "_C";
  };
  PetscCall(PetscObjectComposeFunction(object, name(own, base).c_str(), to_base));
  PetscCall(PetscObjectComposeFunction(object, name(base, own).c_str(), from_base));
  PetscFunctionReturn(success);
}

template <const Family& family>
PetscErrorCode Sequential<family>::attach(Mat A) {
  PetscFunctionBegin;
  bool own = false;
  PetscBool above_base = PETSC_FALSE;
  State* state = nullptr;
  MatType type = nullptr;
  PetscCall(Own<family>::is_own(A, &own));
  if (own) PetscFunctionReturn(success);
  PetscCall(MatGetType(A, &type));
  PetscCall(PetscStrbeginswith(type, family.base_sequential, &above_base));
  if (above_base == PETSC_FALSE) PetscCall(MatSeqAIJSetType(A, family.base_sequential));
  State made;
  PetscCall(get_operations(A, &made.base));
  PetscCall(find_state(A, &state));
  if (state != nullptr) made.base = below(made.base, *state);
  made.own = Own<family>::own_operations(made.base);
  PetscCall(MatGetType(A, &type));
  made.base_type = type;
  PetscCall(compose_state(A, made, &state));
  Own<family>::base = made;
  PetscCall(set_operations(A, made.own));
  PetscCall(Own<family>::compose(A));
  if (family.renames_sequential) {
    PetscCall(PetscObjectChangeTypeName(reinterpret_cast<PetscObject>(A), family.sequential));
  }
  PetscFunctionReturn(success);
}

template <const Family& family>
PetscErrorCode Sequential<family>::detach(Mat A) {
  PetscFunctionBegin;
  bool own = false;
  if (family.renames_sequential) {
    PetscCall(MatConvert(A, family.base_sequential, MAT_INPLACE_MATRIX, &A));
    PetscFunctionReturn(success);
  }
  PetscCall(Own<family>::is_own(A, &own));
  if (own) PetscCall(Own<family>::detach(A));
  PetscFunctionReturn(success);
}

template <const Family& family>
PetscErrorCode Sequential<family>::create(Mat A) {
  PetscFunctionBegin;
  PetscCall(MatSetType(A, family.base_sequential));
  PetscCall(attach(A));
  PetscFunctionReturn(success);
}

template <const Family& family>
PetscErrorCode Sequential<family>::convert(Mat A, MatType, MatReuse reuse, Mat* result) {
  return convert_by(attach, A, reuse, result);
}

template struct Sequential<host_family>;
#if defined(PETSC_HAVE_CUDA)
template struct Sequential<cuda_family>;
#endif

}  // namespace autospmv::petsc
