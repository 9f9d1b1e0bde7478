#include "worker.h"

#include <utility>

namespace weirsim {

Worker::~Worker() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    end_ = true;
  }
  given_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void Worker::tell() {
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void Worker::give(std::function<void()> task) {
  if (!thread_.joinable()) thread_ = std::thread(&Worker::work, this);
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [this] { return tasks_.size() < most; });
  tell();
  tasks_.push_back(std::move(task));
  if (tasks_.size() == 1) given_.notify_one();
}

void Worker::wait() {
  std::unique_lock<std::mutex> lock(mutex_);
  done_.wait(lock, [this] { return tasks_.empty(); });
  tell();
}

void Worker::work() {
  std::unique_lock<std::mutex> lock(mutex_);
  for (;;) {
    given_.wait(lock, [this] { return end_ || !tasks_.empty(); });
    if (end_) return;
    const auto task = std::move(tasks_.front());
    lock.unlock();
    std::exception_ptr failure;
    try {
      task();
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    failure_ = failure;
    if (failure)
      tasks_.clear();
    else
      tasks_.pop_front();
    if (tasks_.empty() || tasks_.size() == most - 1) done_.notify_one();
  }
}

}  // namespace weirsim
