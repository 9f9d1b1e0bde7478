// An ns-3 device whose queue is a Weir core: `#include "weir/weir-net-device.h"`, docs/ns3.md.

#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>

#include "bottleneck.h"
#include "splitter.h"
#include "ns3/data-rate.h"
#include "ns3/event-id.h"
#include "ns3/net-device-container.h"
#include "ns3/node.h"
#include "ns3/point-to-point-net-device.h"
#include "ns3/traced-callback.h"

namespace weirsim {

/// A point-to-point device that gives its packets as real Ethernet frames to a Weir queue and sends what that lets
/// through, when that lets it through. The peer may be an ordinary PointToPointNetDevice. Install no queue disc on it: it
/// is the queue. Use WeirHelper to make one, and call Finish() when the simulation has run.
class WeirNetDevice : public ns3::PointToPointNetDevice {
 public:
  static ns3::TypeId GetTypeId();
  ~WeirNetDevice() override;

  /// Gives the device its queue; once, before the first packet. The link's rate is that of the queue's setup.
  void SetBottleneck(std::unique_ptr<Bottleneck> bottleneck, const Setup &setup);
  /// What comes in over the link goes through a core that splits jumbo frames: at the far end of a link whose near end merges.
  /// The packets of a frame come `latency` after the frame's last bit, all at once; the core has to have given them out by then, or the run
  /// ends with an error (with a core on a thread of its own, somewhat later).
  void SetSplitter(std::unique_ptr<Splitter> splitter, unsigned stretch, ns3::Time latency);
  /// Asked with the packets of a jumbo frame before they go up, all at once; false drops them all. None: each goes up.
  using RoomCallback = std::function<bool(const std::vector<ns3::Ptr<ns3::Packet>> &packets)>;
  void SetRoomCallback(RoomCallback room) { m_room = std::move(room); }
  void SetReceiveCallback(ns3::NetDevice::ReceiveCallback callback) override;
  bool Send(ns3::Ptr<ns3::Packet> packet, const ns3::Address &dest, uint16_t protocol) override;
  /// After Simulator::Run: what is left is decided and checked. Throws std::runtime_error if RTL and golden model differ.
  void Finish();
  /// What the queue did; complete after Finish().
  Totals GetTotals() const { return m_bottleneck->totals(); }
  /// What the core did that splits, if there is one.
  Totals GetSplitTotals() const { return m_splitter ? m_splitter->totals() : Totals{}; }

  /// Trace source `Record`: each trace record of the queue.
  typedef void (*RecordCallback)(const Record &record);
  /// Trace source `Jumbo`: each jumbo frame that leaves, without its Ethernet header, and its packets.
  typedef void (*JumboCallback)(ns3::Ptr<const ns3::Packet> packet, uint32_t packets);

 private:
  void Wake();
  void ScheduleWake();
  /// The queue hears how far the simulator has come.
  void Reach();
  void Forget(const Record &record);
  void Deliver(const Departure &departure);
  /// Sets CE in the packet's IP header.
  void Mark(ns3::Ptr<ns3::Packet> packet) const;
  /// The link's time for a frame, ns.
  double LinkNs(uint32_t length) const;
  /// The queue's time, ns: the simulator's, stretched.
  uint64_t QueueNs() const;
  /// A frame from the link.
  bool Split(ns3::Ptr<ns3::NetDevice> device, ns3::Ptr<const ns3::Packet> packet, uint16_t protocol, const ns3::Address &from);
  /// The packets of the oldest frame that came from the link go up.
  void GiveUp(ns3::Ptr<const ns3::Packet> packet, uint16_t protocol, ns3::Address from);
  void SameBytes(ns3::Ptr<const ns3::Packet> packet, const Departure &departure) const;

  struct Waiting {
    ns3::Ptr<ns3::Packet> packet;
    uint16_t protocol = 0;
    uint32_t left = 0;   ///< of a jumbo frame in transit: packets without a departure record
    bool sent = false;   ///< one of them has left
  };

  std::unique_ptr<Bottleneck> m_bottleneck;
  double m_nsPerByte = 0;
  int m_overhead = 0, m_mpu = 0;
  unsigned m_stretch = 1;
  bool m_transit = false;
  uint64_t m_lookahead = 0;
  uint64_t m_linkFree = 0;
  uint64_t m_sent = 0;
  std::map<uint64_t, Waiting> m_waiting;
  std::vector<uint8_t> m_frame;
  std::unique_ptr<Splitter> m_splitter;
  unsigned m_splitStretch = 1;
  ns3::Time m_splitLatency;
  RoomCallback m_room;
  ns3::NetDevice::ReceiveCallback m_up;
  ns3::EventId m_wake, m_reach;
  ns3::TracedCallback<const Record &> m_records;
  ns3::TracedCallback<ns3::Ptr<const ns3::Packet>> m_drops, m_cuts;
  ns3::TracedCallback<ns3::Ptr<const ns3::Packet>, uint32_t> m_jumbo;
};

/// Makes links with a Weir queue at one end, or at both.
class WeirHelper {
 public:
  enum class Kind { rtl, checkedRtl, golden };
  explicit WeirHelper(Setup setup, Kind kind = Kind::checkedRtl) : m_setup(std::move(setup)), m_kind(kind) {}
  /// A link from `near`, where the queue is, to `far`: device 0 is the WeirNetDevice. Throws std::runtime_error, one line.
  ns3::NetDeviceContainer Install(ns3::Ptr<ns3::Node> near, ns3::Ptr<ns3::Node> far, ns3::Time delay) const;
  /// A link whose two ends are WeirNetDevices, each with a queue of this setup, that of `b` with another seed, which follows from the setup's. With `merge` each
  /// end also splits what comes from the other: packets go up 100 us of the core's time after the last bit of the frame that brought them, whether it was a jumbo
  /// frame or not; and both have the MTU of jumbo frames. Finish() is to be called for both. Throws std::runtime_error, one line.
  ns3::NetDeviceContainer InstallBoth(ns3::Ptr<ns3::Node> a, ns3::Ptr<ns3::Node> b, ns3::Time delay) const;

 private:
  ns3::Ptr<WeirNetDevice> Queue(const Setup &setup) const;
  ns3::NetDeviceContainer Connect(ns3::Ptr<ns3::PointToPointNetDevice> here, ns3::Ptr<ns3::Node> near, ns3::Ptr<ns3::PointToPointNetDevice> there,
                                  ns3::Ptr<ns3::Node> far, ns3::Time delay) const;

  Setup m_setup;
  Kind m_kind;
};

}  // namespace weirsim
