// The list of studies. Each is a file of its own.

#include "tools/studies/questions.hpp"

namespace autospmv::tools {

std::span<const Study> all_studies() {
  static const std::vector<Study> studies = {ellr_t_study(), three_formats_study(), ipcsr_study(), csr_m_study(),
                                             suraa_study()};
  return studies;
}

}  // namespace autospmv::tools
