// What an experiment says about its bottleneck, from a Weir queue's trace records or from a queue disc of ns-3.

#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../weir/bottleneck.h"

namespace weirsim {

/// Mean and standard deviation, in one pass.
class Moments {
 public:
  void add(double value, double weight = 1);
  double mean() const { return mean_; }
  double deviation() const;

 private:
  double weight_ = 0, mean_ = 0, squares_ = 0;
};

/// Times are in s since the simulation began. Packets are counted from `from` on, everything else with them.
class QueueLog {
 public:
  /// `sample`: s between two points of the series; 0: none. `threshold`: of the probability Pr(Q <= threshold), bytes.
  /// `each`: keep every arrival.
  QueueLog(double sample, double threshold, bool each) : sample_(sample), threshold_(threshold), each_(each) {}

  /// The queue counts frames, its link carries jumbo frames: packets are counted one by one, and results of the time before and
  /// after `half` told.
  void halve(double half) { half_ = half, frames_ = true; }
  /// A record of a Weir queue; `fn`: its average is FN's rate. They are taken in the order of their times at the end.
  void record(const Record &record, bool fn) { records_.push_back(record), fn_ = fn; }
  /// `packets`: in the frame, of which the queue counts one.
  void arrival(double at, uint32_t length, uint32_t bytesBefore, uint32_t packetsBefore, uint32_t packets = 1);
  void dropped(double at, uint32_t length, unsigned cause, uint32_t packets = 1);
  void marked() { ++marked_; }
  void sent(double at, uint32_t length, uint32_t bytesAfter, uint32_t packetsAfter);
  /// A frame came over the link (with jumbo frames).
  void received(double at, uint32_t length) { half(at).linkBytes += length; }
  void average(double at, double value);
  void end(double at);

  /// JSON object of the results; `rate` of the link in bit/s, `duration` in s.
  std::string json(double rate, double duration, int overhead) const;
  /// JSON object of the series: time, q in packets, average; and per second arrivals and drops.
  std::string series() const;
  /// JSON object of all arrivals, those that are dropped too: time in ns, length of the frame in bytes; empty lists if not kept.
  std::string arrivals() const;

 private:
  struct Point {
    double at, packets, average;
  };
  /// Of the time before or after the half.
  struct Half {
    uint64_t arrived = 0, dropped = 0, linkBytes = 0;
    Moments average, queue;
  };
  Half &half(double at) { return halves_[at >= half_]; }
  /// A packet of a jumbo frame that waits is dropped.
  void cut(double at, uint32_t length, uint32_t bytesAfter, uint32_t framesAfter);
  void left(double at, uint32_t bytesAfter, uint32_t packetsAfter);
  std::string halves(double rate, double duration) const;
  void replay(const Record &record);
  void hold(double at);
  void point(double at);
  static void count(std::vector<uint64_t> &bins, double at, uint32_t packets);

  double sample_, threshold_;
  bool each_;
  std::vector<std::pair<double, uint32_t>> all_;
  uint64_t arrived_ = 0, arrivedBytes_ = 0, marked_ = 0, sent_ = 0, sentBytes_ = 0, below_ = 0;
  uint64_t drops_[4] = {}, droppedBytes_ = 0;
  double lastAt_ = 0, average_ = 0, nextPoint_ = 0, belowTime_ = 0;
  uint32_t bytes_ = 0, packets_ = 0, most_ = 0;
  Moments bytesSeen_, packetsSeen_, bytesTime_, averageSeen_, rate_;
  bool fn_ = false, frames_ = false;
  double half_ = 0;
  Half halves_[2];
  uint64_t arrivedFrames_ = 0, partial_ = 0;
  std::vector<Record> records_;
  std::vector<Point> points_;
  std::vector<uint64_t> arrivals_, losses_;
};

}  // namespace weirsim
