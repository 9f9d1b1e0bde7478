#include "sessions.h"

#include <algorithm>
#include <cmath>

#include "ns3/double.h"
#include "ns3/simulator.h"
#include "ns3/string.h"

using namespace ns3;

namespace weirsim {

namespace {

constexpr uint64_t endless = ~uint64_t{0} >> 1;
constexpr uint32_t ahead = 2;     ///< segments that a source with a stop has written before they are sent
constexpr size_t openMost = 64;  ///< connections of one source that may be open at a time; older ones stay in TCP's hands

}  // namespace

void Sessions::StartApplication() {
  if (m_flow.every <= 0) {
    *m_left = m_flow.bytes > 0 ? m_flow.bytes : endless;
    m_socket = Open(m_left);
    // An application that stops takes nothing back of what it has written, so it writes no more than is about to be sent.
    if (Follows())
      m_socket->TraceConnectWithoutContext("HighestSequence", MakeCallback(&Sessions::Sent, this));
    return;
  }
  m_gap = CreateObject<ExponentialRandomVariable>();
  m_gap->SetAttribute("Mean", DoubleValue(m_flow.every));
  m_size = CreateObject<ParetoRandomVariable>();
  m_size->SetAttribute("Shape", DoubleValue(m_flow.shape));
  m_size->SetAttribute("Scale", DoubleValue(m_flow.meanBytes * (m_flow.shape - 1) / m_flow.shape));
  if (!m_flow.connections) m_socket = Open(m_left);
  m_next = Simulator::Schedule(Seconds(m_gap->GetValue()), &Sessions::Session, this);
}

/// Sessions are not: nothing tells them what their sockets have sent.
bool Sessions::Follows() const { return m_flow.stop > 0 && m_flow.every <= 0; }

void Sessions::StopApplication() {
  m_stopped = true;
  m_next.Cancel();
  if (m_socket) m_socket->Close();
}

void Sessions::Sent(SequenceNumber32 before, SequenceNumber32 now) {
  m_unsent -= std::min(m_unsent, static_cast<uint32_t>(now - before));
  Write(m_socket, *m_left);
}

Ptr<Socket> Sessions::Open(const Left &left) {
  const auto socket = Socket::CreateSocket(GetNode(), m_sockets);
  socket->SetSendCallback(Callback<void, Ptr<Socket>, uint32_t>([this, left](Ptr<Socket> s, uint32_t) { Write(s, *left); }));
  socket->SetAttribute("UseEcn", StringValue(m_flow.ecn ? "On" : "Off"));
  socket->Bind();
  socket->Connect(m_peer);
  socket->ShutdownRecv();
  return socket;
}

void Sessions::Session() {
  const auto size = static_cast<uint64_t>(std::max(1.0, std::min(m_size->GetValue(), 1e9)));
  auto socket = m_socket;
  auto left = m_left;
  if (m_flow.connections) {
    left = std::make_shared<uint64_t>(0);
    socket = Open(left);
    m_open.push_back(socket);
    if (m_open.size() > openMost) m_open.pop_front();
  }
  *left += size;
  Write(socket, *left);
  m_next = Simulator::Schedule(Seconds(m_gap->GetValue()), &Sessions::Session, this);
}

void Sessions::Write(Ptr<Socket> socket, uint64_t &left) {
  if (m_stopped || left == 0) return;
  while (left > 0) {
    uint64_t room = std::min<uint64_t>(socket->GetTxAvailable(), left);
    if (Follows()) room = std::min<uint64_t>(room, ahead * m_segment - std::min(ahead * m_segment, m_unsent));
    // whole segments, so that no short one goes out because the application wrote in pieces
    const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(room, left == endless || room < left ? room / m_segment * m_segment : room));
    if (bytes == 0 || socket->Send(Create<Packet>(bytes)) < 0) return;
    if (left != endless) left -= bytes;
    if (Follows()) m_unsent += bytes;
  }
  if (m_flow.connections) socket->Close();
}

}  // namespace weirsim
