// Transfers of known size over TCP connections of their own, and how long they take.

#pragma once

#include <functional>
#include <map>
#include <vector>

#include "ns3/address.h"
#include "ns3/ipv4-address.h"
#include "ns3/node.h"
#include "ns3/socket.h"

namespace weirsim {

/// One transfer.
struct Transfer {
  uint32_t from = 0, to = 0;  ///< hosts
  uint64_t bytes = 0;
  double start = 0;           ///< s
  double end = -1;            ///< s, when the receiver had the last byte; negative: not yet
};

/// Runs transfers between hosts. A transfer begins with its connection's SYN.
class Transfers {
 public:
  /// `sockets`: the type of the hosts' TCP sockets; `done`: called when the last transfer with an end has come to it.
  Transfers(std::vector<ns3::Ptr<ns3::Node>> hosts, std::vector<ns3::Ipv4Address> addresses, ns3::TypeId sockets,
            std::function<void()> done);
  /// Has to be called before the simulation runs.
  void add(const Transfer &transfer);
  /// A transfer without an end; nobody waits for it.
  void endless(uint32_t from, uint32_t to, double start);
  const std::vector<Transfer> &all() const { return transfers_; }

 private:
  static constexpr uint32_t none = ~uint32_t{0};
  void listen(uint32_t host);
  void begin(uint32_t index, uint32_t from, uint32_t to, uint64_t bytes);
  void write(ns3::Ptr<ns3::Socket> socket);
  void read(ns3::Ptr<ns3::Socket> socket, uint32_t index);

  std::vector<ns3::Ptr<ns3::Node>> hosts_;
  std::vector<ns3::Ipv4Address> addresses_;
  ns3::TypeId sockets_;
  std::function<void()> done_;
  std::vector<Transfer> transfers_;
  size_t open_ = 0;
  std::map<std::pair<uint32_t, uint16_t>, uint32_t> connections_;  ///< source address and port: index
  std::map<ns3::Socket *, uint64_t> left_;                         ///< bytes that are not written yet
  std::vector<uint64_t> received_;
  std::vector<ns3::Ptr<ns3::Socket>> listening_;
};

}  // namespace weirsim
