// TCP Tahoe and classic Reno (without SACK) as variants of ns-3's socket, and its NewReno and SACK with loss in a marked window, docs/ns3.md.

#pragma once

#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket-factory.h"

namespace weirsim {

/// What all share.
/// Loss and marks (ECN) in one window are answered by one reduction. In ns-3's socket a third duplicate does nothing after a mark's reduction, so that
/// the loss waits for the timer, and the timer reduces again; and a mark reduces the window again while a loss is being repaired.
/// Without SACK, a duplicate is counted up to the acknowledgement that ends the recovery, and one of what was sent twice is none (RFC 6582, 3.2, step 2; ns-2's
/// `bug_fix_`). ns-3's socket keeps a flag for each in its buffer, from there on to the next that is sent; one too many, and each acknowledgement finds
/// its head flagged, takes it for lost, sends it again, and has a duplicate more. That need not end.
class TcpClassic : public ns3::TcpSocketBase {
 protected:
  /// An echo of a mark in a window whose loss was answered reduces nothing. What EndsDuplicates drops its flags, before the buffer is told of it.
  void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader &header) override;
  /// ns-3's, but that the third duplicate after a mark's reduction starts fast retransmit, with the threshold that the mark has set
  /// (ns-2's `dupack_action` with ECN).
  void ProcessAck(const ns3::SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                  const ns3::SequenceNumber32 &oldHead, bool receivedData) override;
  bool Third(const ns3::SequenceNumber32 &ack, const ns3::SequenceNumber32 &oldHead) const;
  /// An acknowledgement of new data, behind which duplicates are counted anew: not NewReno's partial one.
  virtual bool EndsDuplicates(const ns3::SequenceNumber32 &ack) const;
  /// A duplicate that may be of a segment that was sent twice: it acknowledges no more than what was out when that began.
  bool Repeated(const ns3::SequenceNumber32 &ack) const;
  /// What is out is sent again, in part or all of it.
  void Repeats();
  void Leave(const ns3::SequenceNumber32 &ack, const ns3::SequenceNumber32 &oldHead);
  /// The duplicate that shows a loss after a mark's reduction.
  bool LostInMarkedWindow(const ns3::SequenceNumber32 &ack, bool scoreboardUpdated, const ns3::SequenceNumber32 &oldHead, bool receivedData) const;
  /// Duplicates that ns-3 takes for counted, before the third.
  void CountDuplicates();
  /// Says CWR if it is due: in ns-3 only a mark's reduction does.
  uint32_t SendDataPacket(ns3::SequenceNumber32 seq, uint32_t maxSize, bool withAck) override;
  /// ns-3's, but that in a window that a mark has reduced the threshold stays (ns-2's `timeout`).
  void ReTxTimeout() override;
  /// A loss was answered in the window that ends here. With `cwr` the next new segment says so (RFC 3168, 6.1.2: after a reduction for any
  /// reason).
  void Answered(bool cwr);

 private:
  bool m_answered = false;           ///< a loss was, up to m_answeredTo
  ns3::SequenceNumber32 m_answeredTo{0};
  bool m_cwrDue = false;
  bool m_repeats = false;            ///< something was sent again, up to m_repeatsTo
  ns3::SequenceNumber32 m_repeatsTo{0};
};

/// NewReno: ns-3's socket with what TcpClassic has.
class TcpModern : public TcpClassic {
 public:
  static ns3::TypeId GetTypeId();

 protected:
  ns3::Ptr<ns3::TcpSocketBase> Fork() override;
  void ProcessAck(const ns3::SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                  const ns3::SequenceNumber32 &oldHead, bool receivedData) override;
};

/// The same with SACK (RFC 2018, RFC 6675).
class TcpSack : public TcpModern {
 public:
  static ns3::TypeId GetTypeId();

 protected:
  ns3::Ptr<ns3::TcpSocketBase> Fork() override;
};

/// Tahoe (Jacobson 1988): the third duplicate acknowledgement is treated like a timeout, but without backoff: half the
/// flight is the threshold, the window is one segment, and what was in flight is sent again from the hole on.
class TcpTahoe : public TcpClassic {
 public:
  static ns3::TypeId GetTypeId();

 protected:
  ns3::Ptr<ns3::TcpSocketBase> Fork() override;
  void ProcessAck(const ns3::SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                  const ns3::SequenceNumber32 &oldHead, bool receivedData) override;
};

/// Reno (RFC 2581, before NewReno): fast recovery ends with the first acknowledgement of new data, also a partial one; a
/// second hole of the same window needs its own three duplicates, or the timer.
class TcpReno : public TcpClassic {
 public:
  static ns3::TypeId GetTypeId();

 protected:
  ns3::Ptr<ns3::TcpSocketBase> Fork() override;
  bool EndsDuplicates(const ns3::SequenceNumber32 &ack) const override;
  void ProcessAck(const ns3::SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                  const ns3::SequenceNumber32 &oldHead, bool receivedData) override;
};

/// Aggregated to a node, makes its sockets: `Socket::CreateSocket(node, TcpClassicFactory<TcpReno>::GetTypeId())`.
template <typename Variant>
class TcpClassicFactory : public ns3::TcpSocketFactory {
 public:
  static ns3::TypeId GetTypeId();
  ns3::Ptr<ns3::Socket> CreateSocket() override;
  void SetNode(ns3::Ptr<ns3::Node> node) { m_node = node; }

 private:
  ns3::Ptr<ns3::Node> m_node;
};

/// Makes a variant's sockets known to a node that has the internet stack. The name alone says whether they have SACK, not the default of ns-3's attribute.
/// `name`: tahoe, reno, newreno or sack. Answers the socket factory's type. Throws std::runtime_error.
ns3::TypeId InstallTcp(ns3::Ptr<ns3::Node> node, const std::string &name);

}  // namespace weirsim
