// Work beside the simulator: on a thread of its own, in the order in which it was given.

#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

namespace weirsim {

/// Belongs to one thread, which gives and waits, and is told by the next of either what a task threw, once; what was given behind that
/// task is forgotten. The worker's thread begins with the first task.
class Worker {
 public:
  Worker() = default;
  /// Waits for the task that is under way; those behind it are forgotten.
  ~Worker();
  Worker(const Worker &) = delete;
  Worker &operator=(const Worker &) = delete;

  /// Waits while `most` tasks are still to be done.
  void give(std::function<void()> task);
  /// Until everything that was given is done.
  void wait();

  static constexpr size_t most = 1024;

 private:
  void work();
  /// Throws what a task threw.
  void tell();

  std::mutex mutex_;
  std::condition_variable given_, done_;
  std::deque<std::function<void()>> tasks_;  ///< the first one is under way
  std::exception_ptr failure_;
  bool end_ = false;
  std::thread thread_;
};

}  // namespace weirsim
