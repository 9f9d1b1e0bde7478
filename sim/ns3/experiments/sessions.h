// What a source sends: as much as it can, or sessions of random size, each through a connection of its own or all through one.

#pragma once

#include <deque>
#include <memory>

#include "network.h"
#include "ns3/random-variable-stream.h"
#include "ns3/sequence-number.h"
#include "ns3/socket.h"

namespace weirsim {

class Sessions : public ns3::Application {
 public:
  Sessions(const Flow &flow, ns3::TypeId sockets, ns3::Address peer, uint32_t segment)
      : m_flow(flow), m_sockets(sockets), m_peer(std::move(peer)), m_segment(segment) {}

 private:
  void StartApplication() override;
  void StopApplication() override;
  void Session();
  /// A source that sends until its stop writes no more than is about to be sent.
  bool Follows() const;
  /// The socket has sent what it never sent before.
  void Sent(ns3::SequenceNumber32 before, ns3::SequenceNumber32 now);
  /// Bytes that a connection still has to write; it dies with the connection.
  using Left = std::shared_ptr<uint64_t>;
  ns3::Ptr<ns3::Socket> Open(const Left &left);
  /// Writes what is left, as far as the socket has room, and closes a session's own socket after it.
  void Write(ns3::Ptr<ns3::Socket> socket, uint64_t &left);

  Flow m_flow;
  ns3::TypeId m_sockets;
  ns3::Address m_peer;
  uint32_t m_segment;
  bool m_stopped = false;
  uint32_t m_unsent = 0;  ///< bytes of a source with a stop that the socket has, and has not sent
  ns3::Ptr<ns3::Socket> m_socket;
  Left m_left = std::make_shared<uint64_t>(0);  ///< of `m_socket`
  std::deque<ns3::Ptr<ns3::Socket>> m_open;
  ns3::Ptr<ns3::ExponentialRandomVariable> m_gap;
  ns3::Ptr<ns3::ParetoRandomVariable> m_size;
  ns3::EventId m_next;
};

}  // namespace weirsim
