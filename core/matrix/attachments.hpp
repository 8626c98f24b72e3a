// What others keep with a matrix.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <utility>
#include <vector>

namespace autospmv {

/// One thing for each owner, by the owner's address. An owner that goes drops what it has put here; whoever holds the
/// attachments lets go of all. Safe from many threads.
class Attachments {
 public:
  [[nodiscard]] std::shared_ptr<void> find(const void* owner) const {
    const std::shared_lock lock(mutex_);
    for (const auto& one : all_) {
      if (one.first == owner) return one.second;
    }
    return nullptr;
  }

  // What was there before is let go of without the lock, here and below: that may take long.
  void put(const void* owner, std::shared_ptr<void> attached) {
    const std::scoped_lock lock(mutex_);
    for (auto& one : all_) {
      if (one.first == owner) return one.second.swap(attached);
    }
    all_.emplace_back(owner, std::move(attached));
  }

  void drop(const void* owner) {
    std::shared_ptr<void> dropped;
    const std::scoped_lock lock(mutex_);
    const auto at = std::find_if(all_.begin(), all_.end(), [&](const auto& one) { return one.first == owner; });
    if (at == all_.end()) return;
    dropped = std::move(at->second);
    all_.erase(at);
  }

  [[nodiscard]] std::size_t size() const {
    const std::shared_lock lock(mutex_);
    return all_.size();
  }

 private:
  mutable std::shared_mutex mutex_;
  std::vector<std::pair<const void*, std::shared_ptr<void>>> all_;
};

}  // namespace autospmv
