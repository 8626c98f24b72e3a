#include "tuner/background.hpp"

#include <exception>
#include <utility>

namespace autospmv {

Background::Background(Task begin, Start start) : begin_(std::move(begin)), start_(std::move(start)) {}

Background::~Background() { stop(); }

bool Background::start() {
  const std::scoped_lock lock(mutex_);
  return started();
}

bool Background::started() {
  if (ending_) return false;
  if (thread_.joinable()) return true;
  try {
    thread_ = start_([this] { work(); });
  } catch (const std::exception&) {
    return false;
  }
  return true;
}

bool Background::post(Task task, Clock::duration delay) {
  {
    const std::scoped_lock lock(mutex_);
    if (!started()) return false;
    tasks_.emplace(Clock::now() + delay, std::move(task));
  }
  changed_.notify_one();
  return true;
}

void Background::stop() {
  std::thread ended;
  std::multimap<Clock::time_point, Task> dropped;  // let go of without the lock
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    dropped.swap(tasks_);
    ended = std::move(thread_);
  }
  changed_.notify_all();
  dropped.clear();
  if (ended.joinable()) ended.join();
}

void Background::work() {
  begin_();
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (tasks_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto due = tasks_.begin()->first;
    if (due > Clock::now()) {
      changed_.wait_until(lock, due);
      continue;
    }
    const auto task = std::move(tasks_.begin()->second);
    tasks_.erase(tasks_.begin());
    lock.unlock();
    task();
    lock.lock();
  }
}

}  // namespace autospmv
