// TCP Tahoe and classic Reno (without SACK) as variants of ns-3's socket, docs/ns3.md.

#pragma once

#include "ns3/tcp-socket-base.h"
#include "ns3/tcp-socket-factory.h"

namespace weirsim {

/// What both share.
class TcpClassic : public ns3::TcpSocketBase {
 protected:
  bool Third(const ns3::SequenceNumber32 &ack, const ns3::SequenceNumber32 &oldHead) const;
  void Leave(const ns3::SequenceNumber32 &ack, const ns3::SequenceNumber32 &oldHead);
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
  void ReceivedAck(ns3::Ptr<ns3::Packet> packet, const ns3::TcpHeader &header) override;
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

/// Makes a variant's sockets known to a node that has the internet stack.
/// `name`: tahoe, reno, newreno or sack. Answers the socket factory's type. Throws std::invalid_argument.
ns3::TypeId InstallTcp(ns3::Ptr<ns3::Node> node, const std::string &name);

}  // namespace weirsim
