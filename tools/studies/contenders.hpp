// Which candidates a contender has: what is measured for it, and which trials it takes.
#pragma once

#include <string_view>
#include <vector>

#include "core/machine/device.hpp"
#include "core/matrix/matrix_data.hpp"
#include "tools/studies/study.hpp"
#include "tuner/search/format_choice.hpp"

namespace autospmv::tools {

/// Stand for what no format of this library multiplies: see without_gather() and mkl_trial().
inline constexpr std::string_view gathered_product = "gathered_product";
inline constexpr std::string_view mkl_product = "mkl_product";

/// "ell; csr_vector T=16" as choices; of formats that need not be in this build.
std::vector<FormatChoice> parse_candidates(std::string_view candidates);

/// Whether a contender with these candidates takes a trial of this one. `value_bits` are those of a value in full.
bool takes(const Contender& contender, std::string_view candidates, const Candidate& candidate,
           std::int64_t value_bits);

bool names_format(const Study& study, std::string_view format);

/// What is to be measured for these studies on a device: the candidates of all contenders that are in this build and
/// run there.
template <Scalar T>
std::vector<FormatChoice> choices_for(const std::vector<const Study*>& studies, const Device& device);

}  // namespace autospmv::tools
