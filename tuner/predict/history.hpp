// Past trials of other matrices. For every candidate that was tried, the logged ratio of its measured time to what the
// cost model predicted is kept with the features of the matrix; on a new matrix the prediction is expected to be off by
// as much as it was, for the candidate and its kin of other parameters, on the nearest known matrices: kernel
// regression (Nadaraya 1964, Watson 1964) in standardized features and parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "db/database.hpp"
#include "features/features.hpp"
#include "tuner/predict/cost_model.hpp"
#include "tuner/predict/position.hpp"
#include "tuner/predict/predictor.hpp"

namespace autospmv {

/// How features of matrices whose values are of type T become points: position_of().
template <class T>
const PointMaker& point_maker();

/// Whether trials that were not read yet are, which takes as long as hundreds of products of a small matrix.
enum class Reading : std::uint8_t { all, none };

/// Of matrices on devices of one backend. Their points are known at once, features and trials of a matrix are read when
/// it first is a neighbour: of thousands of matrices a handful matters. Safe from many threads. T is that of the
/// matrices' values: others say nothing.
template <class T>
class History : public std::enable_shared_from_this<History<T>> {
 public:
  /// As Database::known() of some catalogue. It and what it gives are called by several threads at once.
  using Known =
      std::function<std::vector<std::function<KnownMatrix()>>(const RecordedPoints&, std::span<const std::size_t>)>;

  /// Of points by point_maker<T>(). Those of other devices count less: of them only the order of candidates is taken,
  /// and the cost model says how fast this device is. Those of processors with other instructions are passed over, and
  /// formats that are not known here.
  History(RecordedPoints points, Known known, const Device& device, const CostModel& model);

  [[nodiscard]] std::size_t matrices() const { return points_.points.size(); }
  /// Of which so many are known by databases below the user's own.
  [[nodiscard]] std::size_t matrices_below() const;

  /// What predicts the times of candidates on a matrix of these features, from all but the trials of this pattern.
  /// Keeps a history alive that is shared, and lives no longer than any other.
  [[nodiscard]] Predictor near(const Features& features, const Fingerprint& pattern,
                               const Weights& weights = searched_weights, Reading reading = Reading::all) const;

  /// Reads the trials of one more matrix before they are asked for; false when all are read, or as many as are worth
  /// the memory. Where all are, nothing is asked of a database any more.
  bool prefetch() const;

  /// Whether prefetch() has read all of them.
  [[nodiscard]] bool complete() const;

 private:
  /// Logged ratios of one trial, as they were read.
  struct ReadRatio {
    const Candidate* candidate = nullptr;  ///< that of one of the trials
    double log_time = 0;
    double log_setup = 0;
  };
  struct ReadMatrix {
    std::string label;
    std::vector<TrialRecord> trials;
    std::vector<ReadRatio> ratios;
  };
  /// The same as they are kept.
  struct LogRatio {
    std::size_t format = 0;
    std::size_t choice = 0;  ///< which of the format
    const Params* params = nullptr;
    double log_time = 0;
    double log_setup = 0;
  };
  struct PastMatrix {
    std::string label;
    std::vector<LogRatio> ratios;
  };
  /// Every choice of parameters of a format that was met, once; they stay where they are.
  struct TriedParams {
    std::string format;
    std::unordered_map<Params, std::size_t, Params::Hash> index;
  };

  void standardize();
  [[nodiscard]] std::vector<Predictor::Neighbour> others_than(const Position& here, const Fingerprint& pattern,
                                                              const Weights& weights) const;
  [[nodiscard]] bool is_sibling(std::size_t matrix) const;
  /// How many of the neighbours that are enough it stands for.
  [[nodiscard]] double counts(std::size_t matrix) const;
  [[nodiscard]] ReadMatrix read(std::size_t matrix, KnownMatrix known) const;
  static void take_order_only(std::vector<ReadRatio>& ratios);
  static void add_siblings(std::vector<Predictor::FormatSums>& own, std::vector<Predictor::FormatSums>& of_siblings);
  void read_nearest(const std::vector<Predictor::Neighbour>& others) const;
  const PastMatrix& past(std::size_t matrix) const;
  const PastMatrix& keep(std::size_t matrix, const ReadMatrix& read) const;
  std::size_t index_of(const std::string& format) const;
  void add(const LogRatio& ratio, const Predictor::Neighbour& neighbour, Predictor::FormatSums& of_format) const;

  RecordedPoints points_;
  Device device_;
  CostModel model_;
  Position mean_{};
  Position deviation_{};

  mutable std::mutex mutex_;                        ///< of what follows
  mutable Known known_;                             ///< none where all are read
  mutable std::map<std::size_t, PastMatrix> past_;  ///< by which of the points
  mutable std::deque<TriedParams> tried_;           ///< by format, in the order in which they were met
};

extern template const PointMaker& point_maker<float>();
extern template const PointMaker& point_maker<double>();
extern template class History<float>;
extern template class History<double>;

}  // namespace autospmv
