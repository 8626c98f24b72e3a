// Why a plan is what it is.
#pragma once

#include "autospmv/plan.hpp"
#include "tuner/plan/plan_state.hpp"

namespace autospmv {

/// As Plan::explain(). Looks at the matrix, and into the database, where the context still lives.
template <class T>
Explanation explanation_of(const detail::PlanState<T>& plan);

}  // namespace autospmv
