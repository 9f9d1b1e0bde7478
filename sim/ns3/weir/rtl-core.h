// A core of the cycle model with libweir on its registers.

#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "bottleneck.h"
#include "cycle-model.h"
#include "weir.h"
#include "worker.h"

namespace weirsim {

class RtlCore {
 public:
  /// Loads the cycle model, brings a core out of reset. Throws std::runtime_error, one line.
  explicit RtlCore(const Setup &setup);
  ~RtlCore();
  RtlCore(const RtlCore &) = delete;
  RtlCore &operator=(const RtlCore &) = delete;

  /// The configuration is done: the core's time goes on to the epoch.
  void begin();
  /// A frame of 14 to 9216 bytes; time in the core's ns.
  void send(const uint8_t *frame, uint32_t length, uint64_t at);
  /// Nothing is sent for a time before `ns` any more: with a thread of its own the core goes on to there meanwhile. Until the
  /// next `runUntil` only `send`, `then`, `get` and this may be called.
  void reach(uint64_t ns);
  /// Does `task` when everything before is done, on that thread if there is one.
  void then(std::function<void()> task);
  bool threaded() const { return bool(worker_); }
  void runUntil(uint64_t ns);
  /// When everything before is done.
  uint64_t get(int what) const;

  struct Out {
    uint64_t firstNs, lastNs;
    std::vector<uint8_t> bytes;
  };
  /// Frames that have wholly come out since the last call. Throws if one is marked bad.
  std::vector<Out> receive();
  /// Trace records since the last call, 12 words each.
  void trace(std::vector<std::array<uint32_t, 12>> &records);
  /// Throws if the core refused a beat, left a gap in a frame, or if its counters do not add up: rx = tx + dropped + held.
  void balance();

  struct weir *device() { return device_; }

 private:
  static RtlCore *self(void *context) { return static_cast<RtlCore *>(context); }
  void close();

  const CycleModel &model_;
  weir_model *core_ = nullptr;
  struct weir *device_ = nullptr;
  std::unique_ptr<Worker> worker_;
  uint64_t reached_ = 0;
};

}  // namespace weirsim
