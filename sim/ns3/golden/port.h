// A core with one queue, predicted from its ports: which frame comes when, what is decided, which frame leaves when.

#pragma once

#include <array>
#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "merge.h"
#include "policy.h"
#include "transit.h"

namespace weirsim::golden {

/// A trace record as it leaves the core, docs/architecture.md#trace.
using Record = std::array<uint32_t, 12>;

/// Time at which cycle k begins, ns; and the first cycle that does not begin before `ns` (model.md).
constexpr uint64_t nsOfCycle(uint64_t k) { return k / 5 * 32 + k % 5 * 32 / 5; }
constexpr uint64_t cycleOfNs(uint64_t ns) { return ns / 32 * 5 + (ns % 32 * 5 + 31) / 32; }

/// Cycles that depend on what is built into the core; measured, and held by the comparison of every record.
struct Pipeline {
  unsigned decides;  ///< last beat to request
  unsigned parses;   ///< first beat to request, of frames shorter than their checks take
  bool realigns;     ///< and a cycle a word
  unsigned linked;   ///< link to ready for the scheduler
  unsigned looksUp;  ///< by this much earlier is requested what need not wait for its flow
};
constexpr Pipeline withJumbo{6, 9, true, 1, 1}, withoutJumbo{3, 9, false, 0, 0};

/// What of the core's configuration the model needs.
struct PortConfig {
  Words words;               ///< of queue 0
  Pipeline pipeline = withJumbo;
  uint64_t cost = 0;         ///< SHAPER_COST, ns a byte * 2^19; not 0
  int32_t overhead = 0;      ///< SHAPER_OVERHEAD.BYTES; the shaper's burst is 0
  int64_t mpu = 0;           ///< SHAPER_OVERHEAD.MPU
  uint64_t seed = 1;         ///< LFSR_SEED
  uint32_t cells = 16384;    ///< of the buffer; running out of them is not modelled
  MergeConfig merge;         ///< of queue 0
  bool transit = false;      ///< jumbo frames stay together
};

/// What is known of a frame besides its length and ECN.
struct Incoming {
  PacketInfo packet;         ///< counts if the queue merges
  std::vector<Inner> inner;  ///< packets of a jumbo frame in transit; none: it is an ordinary frame
};

/// A frame that left: one packet, or the packets of a jumbo frame.
struct Leaving {
  struct Member {
    uint32_t number = 0;     ///< of its arrival
    uint64_t requestNs = 0;  ///< of its decision
    bool marked = false;
    Fate fate;               ///< of a jumbo frame in transit
  };
  std::vector<Member> members;
  uint32_t packets = 1;   ///< in the frame
  uint64_t firstNs = 0;   ///< its first beat
  uint64_t lastCycle = 0; ///< its last beat
};

/// The model sees frames (length, ECN) and times at the ingress, and the seed. It derives the cycle of each request and
/// grant, the backlog, average, count, p, draw, verdict and sojourn time, and writes the trace records that the core has
/// to write. One queue without drop from front, a link of 100 Mbit/s or less, frames to ordinary addresses. With merging, which
/// packets leave together too; of jumbo frames in transit, which packets pay for others.
class Port {
 public:
  /// Throws std::runtime_error for a configuration that is not modelled.
  explicit Port(const PortConfig &config);

  /// A frame on the 10GbE line, its first beat at `atNs` or as soon after as the line is free. Times do not fall.
  void send(uint32_t length, uint32_t ecn, uint64_t atNs, const Incoming &incoming = {});
  /// Everything up to the cycle that begins at `ns`; frames for earlier times have been sent.
  void runUntil(uint64_t ns);

  /// Records since the last call, in the order of arrivals and of departures.
  std::vector<Record> takeArrivals() { return std::exchange(arrivals_, {}); }
  std::vector<Record> takeDepartures() { return std::exchange(departures_, {}); }
  /// Frames whose packets have all left.
  std::vector<Leaving> takeLeaving();
  /// Frames, as they were sent.
  uint64_t held() const { return linePending_.size() + deciding_.size() + packets_.size() - dead_; }

 private:
  struct Frame {
    uint32_t length, ecn, number;
    Found found;
    std::vector<Inner> inner;
    uint64_t ready;  ///< the earliest cycle of its request
    uint32_t packets() const { return inner.empty() ? 1 : static_cast<uint32_t>(inner.size()); }
  };
  struct Packet {
    uint64_t at, linked;
    uint32_t length, ecn, number;
    bool marked;
    Found found;
    std::vector<Inner> inner;
    std::shared_ptr<Waiting> waiting;  ///< of a jumbo frame in transit
  };
  /// A frame whose verdict is known, and that may be spared.
  struct Deciding {
    Frame frame;
    Request request;
    Verdict verdict;
    uint64_t at;
    std::vector<uint64_t> members;  ///< s0 of the packets of a jumbo frame in transit
    bool quick;  ///< it was let pass by the limits alone
    bool may;    ///< be spared
  };
  /// What of a group departs in one step: an ordinary frame, or of one in transit all that is before the packets, or one packet.
  struct Leg {
    uint32_t number;
    int packet;
  };
  static constexpr int whole = -2, header = -1;
  struct Commit {
    uint64_t at;
    uint32_t length;
    bool selected, dropped;
  };
  /// What the queue holds as someone sees it who hears of events with a delay of his own.
  struct View {
    struct Event {
      uint64_t cycle;
      int64_t bytes, packets, frames;
    };
    std::deque<Event> enters, refunds, joins, leaves;
    int64_t bytes = 0, packets = 0, frames = 0;
    void until(uint64_t enter, uint64_t refund, uint64_t join, uint64_t leave);
    /// Packets that are there, with the events of each kind up to a cycle.
    int64_t packetsAt(uint64_t enter, uint64_t refund, uint64_t leave) const;

   private:
    void take(std::deque<Event> &events, uint64_t cycle);
  };

  uint64_t requestedAt(uint64_t first, uint64_t last, uint32_t length) const;
  /// The same, after what the batch holds has left it.
  uint64_t leavesBatch(uint64_t ready, uint32_t packets);
  /// No decision that was deferred is made in the cycles around that of a request.
  bool clear(uint64_t at) const;
  /// A commit in that cycle would come in another's, or next to it.
  bool meets(uint64_t commit) const;
  std::pair<bool, bool> deferredAt(uint64_t at) const;
  uint64_t requestCycle() const;
  uint64_t grantCycle() const;
  void request(const Frame &frame, uint64_t at);
  /// The verdict of the oldest that is being decided.
  void conclude();
  /// A cycle in which MRED carries something out.
  void pay(uint64_t at, bool granted);
  bool linking(uint64_t at) const;
  /// Packets whose links come up to that cycle join their groups, or open some.
  void link(uint64_t until);
  /// The next packet leaves: the first of the group at the head, or the next one of the group that is leaving.
  void grant(uint64_t at);
  bool start(uint64_t at);
  void bury(uint64_t at, const Packet &packet);
  void depart(uint64_t at, const Packet &packet, uint32_t length, uint32_t ecn, unsigned action, unsigned cause, int64_t frames);
  void finishDepartures(uint64_t before);
  uint32_t draw();

  PortConfig config_;
  std::unique_ptr<PolicyModel> policy_;
  bool averaging_;
  uint32_t limitBytes_, limitPackets_;
  uint64_t lfsr_;
  uint64_t lineFree_ = 0;   ///< byte time
  uint64_t batchLast_ = 0;  ///< when something left the batch
  uint64_t nextRequest_ = 0, lastGrant_ = 0;
  uint64_t lastSlot_ = 0, walked_ = 0, headed_ = 0;
  u128 tat_ = 0;            ///< the shaper's theoretical arrival time, 2^-19 ns
  uint64_t idleSinceNs_ = 0;        ///< if the queue is empty
  std::deque<uint64_t> underWay_;   ///< commits, of outcomes and of what is decided about afterwards
  std::deque<uint64_t> deferred_;   ///< requests that found it so, those that count still
  uint32_t number_ = 0;
  uint64_t cellsHeld_ = 0, dead_ = 0;
  bool slotLast_ = false;   ///< a slot came after the last grant
  std::deque<Frame> linePending_;
  std::map<uint32_t, Packet> packets_;  ///< accepted and not gone, by number
  std::deque<uint32_t> links_;          ///< of them, those that are not linked yet
  std::deque<std::shared_ptr<Group>> queue_;
  std::deque<Leg> walking_;             ///< of the group that is leaving, what is still there
  std::deque<Deciding> deciding_;
  std::deque<uint64_t> linkings_;       ///< cycles in which what links something is written
  FlowTable flows_;
  Merger merger_;
  Mred mred_;
  std::deque<Commit> commits_;
  View atRequest_, atDeparture_;
  struct Open {
    uint64_t at;
    Record record;
    bool told;
  };
  std::deque<Open> open_;
  std::vector<Record> arrivals_, departures_;
  std::vector<Leaving> leaving_;
};

}  // namespace weirsim::golden
