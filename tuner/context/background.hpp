// A thread for what keeps no caller waiting.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "core/uncopied.hpp"

namespace autospmv {

/// Runs tasks one after another in a thread of its own, however many there are: what waits for something gives the
/// thread back and posts itself again. Started by the first task.
class Background : Uncopied {
 public:
  using Task = std::function<void()>;
  using Clock = std::chrono::steady_clock;
  /// Starts the thread; throws where none can be started.
  using Start = std::function<std::thread(Task)>;

  /// A task that is posted again and again, which takes no memory.
  class Errand {
   public:
    explicit Errand(Task task) : task_(std::move(task)) {}

   private:
    friend Background;
    Task task_;
    // Guarded by the mutex of the background:
    Clock::time_point due_;
    std::shared_ptr<Errand> next_;  // of those that wait
    bool waits_ = false;
  };

  /// `begin` is the first that the thread does.
  explicit Background(
      Task begin, Start start = [](const Task& task) { return std::thread(task); });
  /// Ends as stop() does.
  ~Background();

  /// Starts the thread before there is a task: that takes as long as hundreds of small products. False where it cannot.
  bool start();

  /// Runs the task when those before it are done, and not before the delay has passed. False where it never will: no
  /// thread can be started, or it was stopped. Tasks throw nothing.
  bool post(Task task, Clock::duration delay = {});
  /// The same. One that waits already stays where it is.
  bool post(const std::shared_ptr<Errand>& errand, Clock::duration delay = {});

  /// Returns when the task in hand has ended; those that wait are let go of, and no more are taken.
  void stop();

 private:
  // With mutex_ held:
  [[nodiscard]] bool started();
  void insert(const std::shared_ptr<Errand>& errand);
  std::shared_ptr<Errand> take_first();

  void work();

  Task begin_;
  Start start_;
  std::mutex mutex_;  // guards everything below
  std::condition_variable changed_;
  std::shared_ptr<Errand> first_;  // of those that wait, by when they may run, in the order of their posting
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace autospmv
