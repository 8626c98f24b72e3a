// Threads in the background.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace autospmv {

/// Threads that are kept for the tasks to come: to start one takes as long as hundreds of small products, and its first
/// steps take longer than later ones. As many as there ever were tasks at a time, and one from the beginning.
class Workers {
 public:
  /// `begin` is the first that each thread does.
  explicit Workers(std::function<void()> begin);
  /// Waits for the tasks that there are.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Runs the task at once, whatever others are running. The future is ready when it has ended.
  std::future<void> run(std::function<void()> task);

 private:
  void start();
  void work();

  std::function<void()> begin_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::deque<std::packaged_task<void()>> tasks_;
  std::size_t idle_ = 0;  // threads that wait for a task
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace autospmv
