// The steps of a conversion to groups of lanes that depend on where it happens.
#pragma once

#include <array>

#include "formats/lanes/storage.hpp"

namespace autospmv::formats {

/// Where the rows of each class lie, once rows are sorted by decreasing length and each class begins a group.
struct ClassTable {
  LaneClasses classes;
  std::int64_t first_row[LaneClasses::most + 1] = {};    ///< position among the sorted rows
  std::int64_t first_group[LaneClasses::most + 1] = {};  ///< each ends with the number of all
  std::int64_t longest = 0;                              ///< entries of the longest row

  [[nodiscard]] AUTOSPMV_HD int class_of_group(std::int64_t group) const {
    int at = 0;
    while (group >= first_group[at + 1]) ++at;
    return at;
  }

  /// Position of the row that a lane works for; -1 for a lane without one.
  [[nodiscard]] AUTOSPMV_HD std::int64_t position_of(std::int64_t group, int lane) const {
    const int at = class_of_group(group);
    const int rows_of_group = group_lanes / classes.lanes[at];
    const int index = lane / classes.lanes[at];
    const std::int64_t position = first_row[at] + (group - first_group[at]) * rows_of_group + index;
    return index < rows_of_group && position < first_row[at + 1] ? position : -1;
  }
};

namespace host {

/// Sets first_row and longest.
template <class T>
void find_classes(const CsrView<T>& matrix, const Array<std::int32_t>& order, ClassTable& table);

/// Sets row_of_lane, and group_chunks to the chunks of each group.
template <class T>
void assign_lanes(const CsrView<T>& matrix, const Array<std::int32_t>& order, const ClassTable& table, WarpEll<T>& ell);

/// Writes every slot, of the columns only where there is an array for them.
template <class T>
void fill(const CsrView<T>& matrix, const WarpEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values);

template <class T>
void multiply(const WarpEll<T>& ell, T alpha, const T* x, T beta, T* y);

}  // namespace host

namespace cuda_steps {

template <class T>
void find_classes(const CsrView<T>& matrix, const Array<std::int32_t>& order, ClassTable& table, Stream stream);
template <class T>
void assign_lanes(const CsrView<T>& matrix, const Array<std::int32_t>& order, const ClassTable& table, WarpEll<T>& ell,
                  Stream stream);
template <class T>
void fill(const CsrView<T>& matrix, const WarpEll<T>& ell, Array<std::int32_t>& columns, Array<T>& values,
          Stream stream);
template <class T>
void multiply(const WarpEll<T>& ell, T alpha, const T* x, T beta, T* y, Stream stream);

}  // namespace cuda_steps

}  // namespace autospmv::formats
