// Which packets of a queue travel together, by flow: docs/jumbo.md and docs/modules/merge.md, as cocotb-tests/golden/merge.py has it.

#pragma once

#include <deque>
#include <map>
#include <memory>

#include "jumbo.h"

namespace weirsim::golden {

/// Limits of a jumbo frame; `slots` of the core's flow table.
struct MergeConfig {
  bool on = false;
  uint32_t maxBytes = 9216, maxSum = 8960, maxCount = 448;
  unsigned tick = 6;
  uint32_t slots = 1024;
};

/// What is known of an arrival's flow; every arrival has one, in order.
struct Found {
  Kind kind = Kind::none;
  uint32_t slot = 0;
  uint64_t number = 0;
  uint32_t ipLength = 0;
};

/// The last flow of each slot.
class FlowTable {
 public:
  explicit FlowTable(uint32_t slots) : slots_(slots) {}
  Found lookUp(const PacketInfo &packet);

 private:
  uint32_t slots_;
  uint64_t numbers_ = 0;
  std::map<uint32_t, std::pair<decltype(PacketInfo::key), uint64_t>> table_;
};

/// Packets that leave together. Indices are of whoever asks.
struct Group {
  std::deque<uint32_t> members;
  uint32_t sum = 0;       ///< of their IP packets, bytes
  uint64_t lastNs = 0;    ///< of the last one's decision
  bool closed = false;    ///< nothing joins any more: granted, or another packet closed it
};

/// The open groups of one queue that merges (or not, then each packet is a group).
class Merger {
 public:
  explicit Merger(const MergeConfig &config) : config_(config) {}
  /// A packet is linked. Answers the group that it opens, or nothing if it has joined one.
  std::shared_ptr<Group> link(const Found &found, uint32_t member, uint64_t ns);

 private:
  MergeConfig config_;
  std::map<uint32_t, std::pair<uint64_t, std::shared_ptr<Group>>> open_;  ///< by slot: flow's number, group
};

}  // namespace weirsim::golden
