// Panels of rows for host products that go by columns: every panel adds to rows of its own, so that no two threads add
// to the same element of y, and the result does not depend on who takes which.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <variant>
#include <vector>

#include "core/csr.hpp"
#include "core/parallel.hpp"
#include "formats/common/row_partition.hpp"

namespace autospmv::formats::host {

/// Calls body(i) for every i in [0, size) as threads come free, for parts that were made equal already.
template <class Body>
void for_each_part(std::int64_t work, std::size_t size, const Body& body) {
  std::atomic<std::size_t> taken{0};
  parallel_region(work, [&](int /*thread*/, int /*threads*/) {
    for (auto i = taken++; i < size; i = taken++) body(i);
  });
}

/// So many panels of about equally many nonzeros: make(Share of rows) gives each.
template <class Panel, class T, class Make>
std::vector<Panel> make_panels(const CsrView<T>& matrix, int panels, const Make& make) {
  std::vector<Panel> all(static_cast<std::size_t>(panels));
  // No exception may leave a parallel region, and making a panel allocates.
  std::vector<std::exception_ptr> failures(all.size());
  for_each_part(matrix.nnz, all.size(), [&](std::size_t i) {
    try {
      all[i] = make(std::visit(
          [&](const auto* row_ptr) { return rows_of_share(row_ptr, matrix.rows, static_cast<int>(i), panels); },
          matrix.row_ptr));
    } catch (...) {
      failures[i] = std::current_exception();
    }
  });
  for (const auto& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
  return all;
}

/// Every panel takes its values, which are those of the nonzeros `source`.
template <class Panel, class T>
void refresh_panels(const CsrView<T>& matrix, std::vector<Panel>& panels) {
  for_each_part(matrix.nnz, panels.size(), [&](std::size_t i) {
    auto& panel = panels[i];
    for (std::size_t entry = 0; entry < panel.values.size(); ++entry) {
      panel.values[entry] = matrix.values[panel.source[entry]];
    }
  });
}

}  // namespace autospmv::formats::host
