#include "tuner/workers.hpp"

#include <utility>

namespace autospmv {

Workers::Workers(std::function<void()> begin) : begin_(std::move(begin)) {
  const std::scoped_lock lock(mutex_);
  start();
}

Workers::~Workers() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (auto& thread : threads_) thread.join();
}

// With mutex_ held. A new thread counts as idle: the task that it is started for is there before it asks.
void Workers::start() {
  ++idle_;
  threads_.emplace_back([this] {
    begin_();
    work();
  });
}

std::future<void> Workers::run(std::function<void()> task) {
  std::packaged_task<void()> packaged(std::move(task));
  auto ended = packaged.get_future();
  {
    const std::scoped_lock lock(mutex_);
    tasks_.push_back(std::move(packaged));
    if (tasks_.size() > idle_) start();
  }
  changed_.notify_one();
  return ended;
}

void Workers::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return ending_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    auto task = std::move(tasks_.front());
    tasks_.pop_front();
    --idle_;
    lock.unlock();
    task();
    lock.lock();
    ++idle_;
  }
}

}  // namespace autospmv
