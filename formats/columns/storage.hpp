// Panels: neighbouring rows, each panel of them stored by columns on its own. On the host there are several of about
// equally many nonzeros: every panel adds to rows of its own, so that no two threads add to the same element of y, and
// the result does not depend on who takes which. On CUDA there is one. What works on them lies in host.hpp.
#pragma once

#include <cstdint>
#include <vector>

#include "core/machine/array.hpp"
#include "core/matrix/csr.hpp"

namespace autospmv::formats {

/// What a format's panel has beside its tables of columns.
template <class T>
struct RowPanel {
  std::int64_t first_row = 0;
  std::int64_t last_row = 0;
  Array<std::int32_t> rows;  ///< one an entry
  Array<T> values;
  Array<std::uint32_t> source;  ///< the nonzero that an entry is; only update_values reads it

  [[nodiscard]] std::int64_t entries() const { return static_cast<std::int64_t>(values.size()); }
  [[nodiscard]] std::int64_t bytes() const { return rows.bytes() + values.bytes() + source.bytes(); }
};

/// All of a matrix, as far as formats/common/operators.hpp asks for it; a format adds the product.
template <class T, class Panel>
struct RowPanels {
  std::int64_t rows = 0;
  std::int64_t nnz = 0;
  std::vector<Panel> panels;

  /// make(Share of rows) gives each of so many panels, on the host.
  template <class Make>
  void make_on_host(const CsrView<T>& matrix, int count, const Make& make);

  /// y = beta y, then add(panel) for all of them, on the host.
  template <class Add>
  void add_on_host(T beta, T* y, const Add& add) const;

  bool refresh(const CsrView<T>& matrix, Place place, Stream stream);

  [[nodiscard]] std::int64_t bytes() const {
    std::int64_t bytes = 0;
    for (const auto& panel : panels) bytes += panel.bytes();
    return bytes;
  }
};

}  // namespace autospmv::formats
