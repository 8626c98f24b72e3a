#include "tuner/context/background.hpp"

#include <exception>
#include <utility>

#include "core/machine/turns.hpp"

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
  return post(std::make_shared<Errand>(std::move(task)), delay);
}

bool Background::post(const std::shared_ptr<Errand>& errand, Clock::duration delay) {
  {
    const std::scoped_lock lock(mutex_);
    if (!started()) return false;
    if (!errand->waits_) {
      errand->due_ = Clock::now() + delay;
      insert(errand);
    }
  }
  changed_.notify_one();
  return true;
}

void Background::insert(const std::shared_ptr<Errand>& errand) {
  auto* place = &first_;
  while (*place && (*place)->due_ <= errand->due_) place = &(*place)->next_;
  errand->next_ = std::move(*place);
  errand->waits_ = true;
  *place = errand;
}

std::shared_ptr<Background::Errand> Background::take_first() {
  auto taken = std::move(first_);
  first_ = std::move(taken->next_);
  taken->waits_ = false;
  return taken;
}

void Background::stop() {
  std::thread ended;
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
    ended = std::move(thread_);
  }
  changed_.notify_all();
  for (;;) {
    std::shared_ptr<Errand> dropped;  // let go of without the lock
    const std::scoped_lock lock(mutex_);
    if (!first_) break;
    dropped = take_first();
  }
  if (ended.joinable()) ended.join();
}

void Background::work() {
  begin_();
  std::unique_lock lock(mutex_);
  while (!ending_) {
    if (!first_) {
      changed_.wait(lock);
      continue;
    }
    const auto due = first_->due_;
    if (due > Clock::now()) {
      changed_.wait_until(lock, due);
      continue;
    }
    auto errand = take_first();
    lock.unlock();
    {
      const BesideCallers beside;
      errand->task_();
      errand.reset();
    }
    lock.lock();
  }
}

}  // namespace autospmv
