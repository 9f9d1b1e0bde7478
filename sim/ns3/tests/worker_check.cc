// The worker: order, waiting, failures, its end. Prints what it has found and exits with 1 if something is not so.

#include "weir/worker.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

int wrong = 0;

void expect(bool right, const char *what) {
  if (!right) std::printf("wrong: %s\n", what), ++wrong;
}

std::string thrown(const std::function<void()> &call) {
  try {
    call();
  } catch (const std::runtime_error &e) {
    return e.what();
  }
  return "";
}

void rest() { std::this_thread::sleep_for(std::chrono::milliseconds(2)); }

}  // namespace

int main() {
  {
    weirsim::Worker worker;
    worker.wait();  // nothing was given
    std::vector<int> seen;  // of the worker's thread between `give` and `wait`
    for (int round = 0; round < 200; ++round) {
      for (int i = 0; i < 20; ++i) worker.give([&seen, i] { seen.push_back(i); });
      if (round % 50 == 0) rest();
      worker.wait();
      bool order = seen.size() == 20;
      for (int i = 0; order && i < 20; ++i) order = seen[static_cast<size_t>(i)] == i;
      expect(order, "tasks are done in their order, all of them before wait returns");
      seen.clear();
    }
    std::thread::id other;
    worker.give([&other] { other = std::this_thread::get_id(); });
    worker.wait();
    expect(other != std::this_thread::get_id(), "tasks are done on another thread");
  }
  {
    weirsim::Worker worker;
    std::atomic<bool> go{false};
    std::atomic<size_t> done{0}, given{0};
    worker.give([&go] {
      while (!go) std::this_thread::yield();
    });
    std::thread opener([&] {
      while (given < weirsim::Worker::most - 1) std::this_thread::yield();
      rest();  // the next one has to wait
      expect(given == weirsim::Worker::most - 1, "it takes so many tasks and no more");
      go = true;
    });
    for (size_t i = 0; i < 3 * weirsim::Worker::most; ++i) {
      worker.give([&done] { ++done; });
      ++given;
    }
    worker.wait();
    opener.join();
    expect(done == 3 * weirsim::Worker::most, "a full one loses nothing");
  }
  {
    weirsim::Worker worker;
    int done = 0;
    worker.give([&done] { ++done; });
    std::atomic<bool> go{false};
    worker.give([&go] {
      while (!go) std::this_thread::yield();
      throw std::runtime_error("first");
    });
    worker.give([&done] { done += 100; });
    go = true;
    expect(thrown([&worker] { worker.wait(); }) == "first", "wait throws what a task threw");
    expect(done == 1, "what is behind a task that throws is forgotten");
    expect(thrown([&worker] { worker.wait(); }).empty(), "it throws once");
    worker.give([&done] { ++done; });
    worker.wait();
    expect(done == 2, "it goes on after a failure");
    worker.give([] { throw std::runtime_error("second"); });
    std::string told;
    while (told.empty()) told = thrown([&worker] { worker.give([] {}); });
    expect(told == "second", "so does give");
  }
  std::atomic<int> begun{0};
  {
    weirsim::Worker worker;
    worker.give([&begun] { ++begun, rest(); });
    while (begun == 0) std::this_thread::yield();
    worker.give([&begun] { begun += 100; });
  }
  expect(begun == 1, "the end waits for what is under way and forgets the rest");
  { weirsim::Worker never; }
  std::printf("%d wrong\n", wrong);
  return wrong != 0;
}
