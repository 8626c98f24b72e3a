// What trials of other matrices say about this one. For every candidate that was tried, the ratio of its measured time
// to what the cost model predicted is kept with the features of the matrix; a candidate on a new matrix is expected to
// miss the prediction by as much as it, and its kin of other parameters, did on the nearest known matrices: kernel
// regression (Nadaraya 1964, Watson 1964) in standardized features and parameters.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
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
inline constexpr std::size_t position_size = 16;
using Position = std::array<double, position_size>;
Position position_of(const Features& features, std::size_t value_bytes);

/// How far apart two choices of parameters of one format are: 0 where they are equal, about 1 for each that differs.
double distance(const Params& a, const Params& b);

/// A correction of what the cost model predicts.
struct Correction {
  double log_time = 0;      ///< log of measured over predicted time of a product
  double deviation = 1;     ///< standard deviation of that
  double log_setup = 0;     ///< log of measured over predicted time of the conversion
  double weight = 0;        ///< of the neighbours that tried such a candidate; 0: a guess
  Tier tier = Tier::model;  ///< of the nearest of them
};

/// The known matrices that are nearest to one that is asked about, and what their trials say. Lives no longer than the
/// experience that it comes from.
class Neighbourhood {
 public:
  struct Neighbour {
    std::size_t matrix = 0;
    double weight = 0;  ///< 1 at the same position on the same device, towards 0 far away
  };

  /// Nearest first.
  [[nodiscard]] const std::vector<Neighbour>& neighbours() const { return neighbours_; }

  /// Of a format that no neighbour has tried: what formats in general miss their predictions by.
  [[nodiscard]] Correction correction(const std::string& format, const Params& params) const;

 private:
  template <class T>
  friend class Experience;

  /// Weighted sums over the neighbours' trials of one choice of parameters.
  struct Sums {
    const Params* params = nullptr;
    double weight = 0;
    double log_time = 0;
    double square = 0;
    double log_setup = 0;
  };
  struct OfFormat {
    std::vector<Sums> sums;
    double log_time = 0;  ///< mean
    double log_setup = 0;
    Tier tier = Tier::model;  ///< of the nearest neighbour that tried it
  };

  std::vector<Neighbour> neighbours_;
  std::map<std::string_view, OfFormat> formats_;
  Correction unknown_;
};

/// What is known of matrices on devices of one backend. Their features are read at once, trials of a matrix when it
/// first is a neighbour: of thousands of matrices a handful matters. Safe from many threads. T is that of the matrices'
/// values: others teach nothing.
template <class T>
class Experience {
 public:
  /// Gives the passed trials of a known matrix.
  using TrialsOf = std::function<std::vector<TrialRecord>(const TrialKey&)>;

  /// Takes the records of this T; those of other devices count less. Formats that are not known here, and matrices
  /// whose features are not all there, are passed over.
  Experience(std::span<const RecordedMatrix> records, TrialsOf trials_of, const Device& device, const CostModel& model);

  [[nodiscard]] std::size_t matrices() const { return matrices_.size(); }

  /// What is corrected.
  [[nodiscard]] const CostModel& model() const { return model_; }

  /// The nearest known matrices, without the one of this pattern.
  [[nodiscard]] Neighbourhood near(const Features& features, const Fingerprint& pattern) const;

  /// Reads the trials of one more matrix before they are asked for; false when all are read, or as many as are worth
  /// the memory.
  bool read_ahead() const;

  /// Label of a neighbour, for people.
  [[nodiscard]] const std::string& label(const Neighbourhood::Neighbour& neighbour) const {
    return matrices_[neighbour.matrix].label;
  }

 private:
  struct Known {
    TrialKey key;
    std::string label;
    Features features;
    Position position{};
    bool sibling = false;
  };
  /// What one trial teaches, as it was read.
  struct Lesson {
    Candidate candidate;
    double log_time = 0;
    double log_setup = 0;
  };
  /// Of measured over predicted, of one trial.
  struct Ratio {
    std::size_t format = 0;
    std::size_t choice = 0;  ///< which of the format
    const Params* params = nullptr;
    double log_time = 0;
    double log_setup = 0;
  };
  /// Every choice of parameters of a format that was met, once; they stay where they are.
  struct Choices {
    std::string_view format;
    std::map<Params, std::size_t> index;
  };

  void standardize();
  [[nodiscard]] std::vector<Neighbourhood::Neighbour> by_distance(const Position& here,
                                                                  const Fingerprint& pattern) const;
  [[nodiscard]] std::vector<Lesson> lessons_of(const Known& known) const;
  const std::vector<Ratio>& learned(std::size_t matrix) const;
  const std::vector<Ratio>& keep(std::size_t matrix, const std::vector<Lesson>& lessons) const;
  std::size_t format_index(const std::string& format) const;
  void add(const Ratio& ratio, const Neighbourhood::Neighbour& neighbour, Neighbourhood::OfFormat& of_format) const;

  TrialsOf trials_of_;
  Device device_;
  CostModel model_;
  std::vector<Known> matrices_;
  Position mean_{};
  Position deviation_{};

  mutable std::mutex mutex_;                                   ///< of what follows
  mutable std::map<std::size_t, std::vector<Ratio>> learned_;  ///< by matrix
  mutable std::map<std::string, std::size_t> formats_;         ///< where they are in choices_
  mutable std::vector<Choices> choices_;                       ///< by format
};

extern template class Experience<float>;
extern template class Experience<double>;

}  // namespace autospmv
