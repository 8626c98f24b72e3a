// Panels of rows made, multiplied and given new values by the threads of the host.
#pragma once

#include "core/cuda/nonzeros.hpp"
#include "core/machine/on_backend.hpp"
#include "core/machine/parallel.hpp"
#include "formats/columns/storage.hpp"
#include "formats/common/host/row_partition.hpp"

namespace autospmv::formats {

template <class T, class Panel>
template <class Make>
void RowPanels<T, Panel>::make_on_host(const CsrView<T>& matrix, int count, const Make& make) {
  panels.resize(static_cast<std::size_t>(count));
  const auto share_of_rows = [&](std::int64_t part) {
    return with_offsets(matrix.row_ptr, [&](const auto* row_ptr) {
      return rows_of_share(row_ptr, {0, matrix.rows}, static_cast<int>(part), count);
    });
  };
  for_each_taken_part(matrix.nnz, count, [&](std::int64_t part) {
    const auto share = share_of_rows(part);
    auto& panel = panels[static_cast<std::size_t>(part)] = make(share);
    panel.first_row = share.first;
    panel.last_row = share.last;
  });
}

template <class T, class Panel>
template <class Add>
void RowPanels<T, Panel>::add_on_host(T beta, T* y, const Add& add) const {
  for_each_taken_part(nnz + rows, static_cast<std::int64_t>(panels.size()), [&](std::int64_t part) {
    const auto& panel = panels[static_cast<std::size_t>(part)];
    for (auto row = panel.first_row; row < panel.last_row; ++row) y[row] = beta == T{0} ? T{0} : beta * y[row];
    add(panel);
  });
}

template <class T, class Panel>
bool RowPanels<T, Panel>::refresh(const CsrView<T>& matrix, Place place, Stream stream) {
  if (rows == 0) return true;
  on_backend(
      place,
      [&] {
        for_each_taken_part(matrix.nnz, static_cast<std::int64_t>(panels.size()), [&](std::int64_t part) {
          auto& panel = panels[static_cast<std::size_t>(part)];
          for (std::size_t entry = 0; entry < panel.values.size(); ++entry) {
            panel.values[entry] = matrix.values[panel.source[entry]];
          }
        });
      },
      [&] {
        auto& panel = panels.front();
        const std::uint32_t* source = panel.source.data();
        cuda::gather(matrix.values, source, panel.values.data(), panel.entries(), stream);
      });
  return true;
}

}  // namespace autospmv::formats
