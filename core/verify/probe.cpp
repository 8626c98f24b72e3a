#include "core/verify/probe.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "core/cuda/probe.hpp"

namespace autospmv {

namespace {

// On the host.
template <class T>
void fill_guards(Array<T>& vector, int byte) {
  for (auto* beside : {vector.data(), vector.data() + vector.size() - probe_guard}) {
    std::memset(beside, byte, probe_guard * sizeof(T));
  }
}

template <class T>
bool guards_are(const Array<T>& vector, int byte) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(vector.data());
  const auto intact = [byte](unsigned char found) { return found == byte; };
  return std::all_of(bytes, bytes + probe_guard * sizeof(T), intact) &&
         std::all_of(bytes + (vector.size() - probe_guard) * sizeof(T), bytes + vector.bytes(), intact);
}

template <class T>
std::int64_t size_within(const Array<T>& vector) {
  return static_cast<std::int64_t>(vector.size() - 2 * probe_guard);
}

}  // namespace

template <class T>
Probe<T>::Probe(std::int64_t cols, std::int64_t rows, Place place)
    : place_(place),
      x_(static_cast<std::size_t>(cols) + 2 * probe_guard, place),
      y_(static_cast<std::size_t>(rows) + 2 * probe_guard, place) {
  if constexpr (built_with_cuda) {
    if (place_.backend == Backend::cuda) looks_ = cuda::make_looks(place_);
  }
}

// On the host.
template <class T>
void Probe<T>::draw(const Drawn& next) {
  if (!drawn_ || drawn_->x != next.x) {
    drawn_.reset();
    fill_guards(x_, not_a_number_byte);
    fill_random(x_.data() + probe_guard, size_within(x_), next.x, place_, {});
  }
  drawn_ = next;
  fill_guards(y_, guard_byte);
  if (next.has_y) {
    fill_random(y(), size_within(y_), next.y, place_, {});
  } else {
    fill_bytes(y(), not_a_number_byte, static_cast<std::size_t>(size_within(y_)) * sizeof(T), place_, {});
  }
}

template <class T>
void Probe<T>::prepare(const Drawn& next) {
  if constexpr (built_with_cuda) {
    if (place_.backend == Backend::cuda) {
      const cuda::GuardedVectors<T> vectors{x_.data(), std::ssize(x_.span()), y_.data(), std::ssize(y_.span())};
      cuda::draw(vectors, next, looks_, look_count_);
      drawn_ = next;
      return;
    }
  }
  draw(next);
}

template <class T>
bool Probe<T>::x_intact() const {
  return guards_are(x_, not_a_number_byte) && is_random(x(), size_within(x_), drawn_.value().x);
}

template <class T>
void Probe<T>::look(const Reference& reference, const Scaled<T>* scaled, const Drawn& next) {
  if constexpr (built_with_cuda) {
    if (place_.backend == Backend::cuda) {
      const cuda::GuardedVectors<T> vectors{x_.data(), std::ssize(x_.span()), y_.data(), std::ssize(y_.span())};
      cuda::look(reference, scaled, vectors, drawn_.value(), next, looks_, look_count_++);
      drawn_ = next;
      if (look_count_ < cuda::most_looks) return;
      read_looks();
      prepare(next);
      return;
    }
  }
  const T* const y = this->y();
  const auto comparison = scaled != nullptr ? compare(reference, *scaled, y) : compare(reference, y, place_);
  found_.push_back({comparison, guards_are(y_, guard_byte), x_intact()});
  if (!found_.back().x_intact) drawn_.reset();
  draw(next);
}

template <class T>
std::vector<Findings> Probe<T>::take_findings() {
  read_looks();
  return std::exchange(found_, {});
}

template <class T>
void Probe<T>::read_looks() {
  if constexpr (built_with_cuda) {
    if (look_count_ == 0) return;
    const auto found = cuda::found_by(looks_, std::exchange(look_count_, 0));
    found_.insert(found_.end(), found.begin(), found.end());
  }
}

template class Probe<float>;
template class Probe<double>;

}  // namespace autospmv
