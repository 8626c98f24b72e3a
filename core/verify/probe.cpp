#include "core/verify/probe.hpp"

#include <algorithm>
#include <utility>

#include "core/cuda/probe.hpp"
#include "core/verify/equal.hpp"

namespace autospmv {

namespace {

// On the host.
template <class T>
void fill_guards(Array<T>& vector, int byte) {
  for (auto* beside : {vector.data(), vector.data() + vector.size() - probe_guard}) {
    fill_bytes(beside, byte, probe_guard * sizeof(T), vector.place(), {});
  }
}

}  // namespace

template <class T>
Probe<T>::Probe(std::int64_t cols, std::int64_t rows, Place place)
    : place_(place),
      x_(static_cast<std::size_t>(cols) + 2 * probe_guard, place),
      y_(static_cast<std::size_t>(rows) + 2 * probe_guard, place) {}

template <class T>
typename Probe<T>::Drawn Probe<T>::draw(const RandomVector& vector, const Array<T>& like, int guard) const {
  Drawn drawn{vector, Array<T>(like.size(), place_)};
  fill_guards(drawn.elements, guard);
  const auto size = static_cast<std::int64_t>(like.size() - 2 * probe_guard);
  fill_random(drawn.elements.data() + probe_guard, size, vector, place_, {});
  return drawn;
}

template <class T>
void Probe<T>::draw_x(const RandomVector& x) {
  if (drawn_ == x) return;
  drawn_.reset();
  const auto known = std::find_if(xs_.begin(), xs_.end(), [&](const Drawn& drawn) { return drawn.vector == x; });
  if (known != xs_.end()) {
    std::rotate(xs_.begin(), known, known + 1);
  } else {
    // Every candidate is multiplied with the same two, and few with others besides.
    constexpr std::size_t most = 2;
    auto drawn = draw(x, x_, not_a_number_byte);
    if (xs_.size() == most) xs_.pop_back();
    xs_.insert(xs_.begin(), std::move(drawn));
  }
  copy_bytes(x_.data(), xs_.front().elements.data(), static_cast<std::size_t>(x_.bytes()), place_, {});
  drawn_ = x;
}

template <class T>
void Probe<T>::draw_y(const std::optional<RandomVector>& y) {
  if (y) {
    if (!drawn_y_ || !(drawn_y_->vector == *y)) drawn_y_ = draw(*y, y_, guard_byte);
    copy_bytes(y_.data(), drawn_y_->elements.data(), static_cast<std::size_t>(y_.bytes()), place_, {});
  } else {
    fill_guards(y_, guard_byte);
    fill_bytes(this->y(), not_a_number_byte, (y_.size() - 2 * probe_guard) * sizeof(T), place_, {});
  }
}

template <class T>
void Probe<T>::prepare(const RandomVector& x, const std::optional<RandomVector>& y) {
  if constexpr (built_with_cuda) {
    if (place_.backend == Backend::cuda) {
      const cuda::GuardedVectors<T> vectors{x_.data(), std::ssize(x_.span()), y_.data(), std::ssize(y_.span())};
      cuda::draw(vectors, x, y, place_);
      drawn_ = x;
      return;
    }
  }
  draw_x(x);
  draw_y(y);
}

template <class T>
bool Probe<T>::y_guards_intact() const {
  const auto* bytes = reinterpret_cast<const unsigned char*>(y_.data());
  const auto intact = [](unsigned char byte) { return byte == guard_byte; };
  return std::all_of(bytes, bytes + probe_guard * sizeof(T), intact) &&
         std::all_of(bytes + (y_.size() - probe_guard) * sizeof(T), bytes + y_.bytes(), intact);
}

template <class T>
Findings Probe<T>::look(const Reference& reference) {
  if constexpr (built_with_cuda) {
    if (place_.backend == Backend::cuda) {
      const cuda::GuardedVectors<T> vectors{x_.data(), std::ssize(x_.span()), y_.data(), std::ssize(y_.span())};
      return cuda::look(reference, vectors, drawn_.value(), place_);
    }
  }
  const Findings findings{
      compare(reference, static_cast<const T*>(y()), place_), y_guards_intact(),
      equal_bytes(x_.data(), xs_.front().elements.data(), static_cast<std::size_t>(x_.bytes()), place_)};
  if (!findings.x_intact) drawn_.reset();
  return findings;
}

template class Probe<float>;
template class Probe<double>;

}  // namespace autospmv
