// What trials of a matrix are filed under.
#pragma once

#include <string>

#include "autospmv/context.hpp"
#include "autospmv/matrix.hpp"
#include "core/matrix/matrix_data.hpp"
#include "core/trial.hpp"
#include "db/database.hpp"
#include "features/features.hpp"

namespace autospmv {

/// What trials of this matrix on the context's device are filed under.
template <Scalar T>
TrialKey key_of(const Matrix<T>& matrix, const Context& context);

/// The same; the values of the matrix are held meanwhile.
template <class T>
TrialKey key_of(const MatrixData<T>& matrix, const Device& device);

/// The part of it that is known without a look at the matrix.
TrialKey key_of_machine(const Device& device);

/// All of it but the type of the values.
template <class T>
TrialKey key_of_pattern(const MatrixData<T>& matrix, const Device& device);

/// The value type of such a key: "float", "double", "double in 8 bits" where that is all the values need.
template <class T>
std::string kind_of_values(const CsrView<T>& matrix, const Device& device);
/// The same from features.
template <class T>
std::string kind_of_values(const Features& features);

/// Whether all that such an effort would try was tried, as is_covered() says.
bool was_tuned(Database& database, const TrialKey& key, Effort effort, const Limits& limits,
               const std::string& catalogue);

}  // namespace autospmv
