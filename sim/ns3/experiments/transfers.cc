#include "transfers.h"

#include <algorithm>

#include "ns3/inet-socket-address.h"
#include "ns3/packet.h"
#include "ns3/simulator.h"

using namespace ns3;

namespace weirsim {

namespace {

constexpr uint16_t port = 5001;
constexpr uint64_t forever = ~uint64_t{0} >> 1;
constexpr uint32_t chunk = 1 << 16;

}  // namespace

Transfers::Transfers(std::vector<Ptr<Node>> hosts, std::vector<Ipv4Address> addresses, TypeId sockets,
                     std::function<void()> done)
    : hosts_(std::move(hosts)), addresses_(std::move(addresses)), sockets_(sockets), done_(std::move(done)) {
  for (uint32_t host = 0; host < hosts_.size(); ++host) listen(host);
}

void Transfers::listen(uint32_t host) {
  const auto socket = Socket::CreateSocket(hosts_[host], sockets_);
  socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), port));
  socket->Listen();
  socket->SetAcceptCallback(MakeNullCallback<bool, Ptr<Socket>, const Address &>(),
                            Callback<void, Ptr<Socket>, const Address &>([this](Ptr<Socket> s, const Address &from) {
                              const auto peer = InetSocketAddress::ConvertFrom(from);
                              const auto at = connections_.find({peer.GetIpv4().Get(), peer.GetPort()});
                              const uint32_t index = at == connections_.end() ? none : at->second;
                              s->SetRecvCallback(Callback<void, Ptr<Socket>>([this, index](Ptr<Socket> r) { read(r, index); }));
                            }));
  listening_.push_back(socket);
}

void Transfers::add(const Transfer &transfer) {
  const auto index = static_cast<uint32_t>(transfers_.size());
  transfers_.push_back(transfer);
  received_.push_back(0);
  ++open_;
  Simulator::Schedule(Seconds(transfer.start), [this, index] {
    const Transfer &t = transfers_[index];
    begin(index, t.from, t.to, t.bytes);
  });
}

void Transfers::endless(uint32_t from, uint32_t to, double start) {
  Simulator::Schedule(Seconds(start), [this, from, to] { begin(none, from, to, forever); });
}

void Transfers::begin(uint32_t index, uint32_t from, uint32_t to, uint64_t bytes) {
  const auto socket = Socket::CreateSocket(hosts_[from], sockets_);
  socket->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>([this](Ptr<Socket> s, uint32_t) { write(s); }));
  socket->Bind();
  Address own;
  socket->GetSockName(own);
  if (index != none) connections_[{addresses_[from].Get(), InetSocketAddress::ConvertFrom(own).GetPort()}] = index;
  left_[PeekPointer(socket)] = bytes;
  socket->Connect(InetSocketAddress(addresses_[to], port));
}

void Transfers::write(Ptr<Socket> socket) {
  const auto at = left_.find(PeekPointer(socket));
  if (at == left_.end()) return;
  while (at->second > 0) {
    const auto bytes = static_cast<uint32_t>(std::min<uint64_t>({socket->GetTxAvailable(), at->second, chunk}));
    if (bytes == 0 || socket->Send(Create<Packet>(bytes)) < 0) return;
    if (at->second != forever) at->second -= bytes;
  }
  left_.erase(at);
  socket->Close();
}

void Transfers::read(Ptr<Socket> socket, uint32_t index) {
  uint64_t bytes = 0;
  for (auto packet = socket->Recv(); packet && packet->GetSize() > 0; packet = socket->Recv()) bytes += packet->GetSize();
  if (index == none) return;
  received_[index] += bytes;
  Transfer &t = transfers_[index];
  if (t.end >= 0 || received_[index] < t.bytes) return;
  t.end = Simulator::Now().GetSeconds();
  socket->Close();
  if (--open_ == 0) done_();
}

}  // namespace weirsim
