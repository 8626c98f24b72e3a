// What trials of other matrices say about this one. For every candidate that was tried, the ratio of its measured time
// to what the cost model predicted is kept with the features of the matrix; a candidate on a new matrix is expected to
// miss the prediction by as much as it, and its kin of other parameters, did on the nearest known matrices: kernel
// regression (Nadaraya 1964, Watson 1964) in standardized features and parameters.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "features/features.hpp"
#include "tuner/cost_model.hpp"

namespace autospmv {

/// Where a prediction comes from, best first.
enum class Tier : std::uint8_t {
  trial,      ///< this matrix on this device: measured, not predicted
  neighbour,  ///< near matrices on this device
  sibling,    ///< near matrices on another device of the backend
  model,      ///< the cost model alone
};

std::string_view name_of(Tier tier);

/// Where a matrix lies among others: sizes, lengths of rows and their spread, blocks, diagonals, locality. Logarithms
/// where ratios count.
inline constexpr std::size_t position_size = 15;
using Position = std::array<double, position_size>;
Position position_of(const Features& features, std::size_t value_bytes);

/// How far apart two choices of parameters of one format are: 0 where they are equal, about 1 for each that differs.
double distance(const Params& a, const Params& b);

/// The known matrices that are nearest to one that is asked about, and what they say.
struct Neighbourhood {
  struct Neighbour {
    std::size_t matrix = 0;
    double weight = 0;  ///< 1 at the same position on the same device, towards 0 far away
  };
  /// Sums over the neighbours' trials of one choice of parameters of a format.
  struct Sums {
    float weight = 0;
    float log_time = 0;
    float square = 0;
    float log_setup = 0;
  };
  std::vector<Neighbour> neighbours;    ///< nearest first
  std::vector<std::vector<Sums>> sums;  ///< by format, then by parameters
  std::vector<Tier> tiers;              ///< by format: of the nearest neighbour that tried it
};

/// A correction of what the cost model predicts.
struct Correction {
  double log_time = 0;      ///< log of measured over predicted time of a product
  double deviation = 1;     ///< standard deviation of that
  double log_setup = 0;     ///< log of measured over predicted time of the conversion
  double weight = 0;        ///< of the neighbours that tried such a candidate; 0: a guess
  Tier tier = Tier::model;  ///< of the nearest of them
};

/// Immutable; safe from many threads. T is that of the matrices' values: others teach nothing.
template <class T>
class Experience {
 public:
  /// Takes the records of this T; those of other devices count less. Formats that are not known here, and matrices
  /// whose features are not all there, are passed over.
  Experience(std::span<const RecordedMatrix> records, const Device& device, const CostModel& model);

  [[nodiscard]] std::size_t matrices() const { return matrices_.size(); }
  [[nodiscard]] std::size_t trials() const { return trials_; }

  /// The nearest known matrices, without the one of this pattern.
  [[nodiscard]] Neighbourhood near(const Features& features, const Fingerprint& pattern) const;

  /// Of a format that nobody has tried: what formats in general miss their predictions by.
  [[nodiscard]] Correction correction(const Neighbourhood& near, const std::string& format, const Params& params) const;

  /// Label and size of a neighbour, for people.
  [[nodiscard]] const std::string& label(const Neighbourhood::Neighbour& neighbour) const {
    return matrices_[neighbour.matrix].label;
  }

 private:
  struct Known {
    Fingerprint pattern;
    std::string label;
    Position position{};
    bool sibling = false;
  };
  struct Ratio {
    std::size_t params = 0;  ///< index into the format's own list
    float log_time = 0;
    float log_setup = 0;
  };
  /// All trials of a format.
  struct OfFormat {
    std::vector<Params> params;           ///< every choice that was ever tried, once
    std::map<Params, std::size_t> index;  ///< of each in that list
    std::vector<float> likeness;          ///< of each to each, row by row: predictions are asked for by the hundred
    std::map<std::size_t, std::vector<Ratio>> by_matrix;
    double log_time = 0;  ///< median of all
    double log_setup = 0;
  };

  OfFormat& of_format(const std::string& name);
  void learn(const RecordedMatrix& record, const Features& features, const Device& device, const CostModel& model);
  void standardize();
  void summarize_formats();
  void sum_up(Neighbourhood& near) const;

  std::vector<Known> matrices_;
  std::map<std::string, std::size_t> format_index_;
  std::vector<OfFormat> formats_;
  Correction unknown_;  ///< of formats without trials
  Position mean_{};
  Position deviation_{};
  std::size_t trials_ = 0;
};

extern template class Experience<float>;
extern template class Experience<double>;

}  // namespace autospmv
