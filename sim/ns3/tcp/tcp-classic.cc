#include "tcp-classic.h"

#include <stdexcept>

#include "ns3/boolean.h"
#include "ns3/node.h"
#include "ns3/rtt-estimator.h"
#include "ns3/tcp-congestion-ops.h"
#include "ns3/tcp-header.h"
#include "ns3/tcp-l4-protocol.h"
#include "ns3/tcp-recovery-ops.h"
#include "ns3/tcp-socket-state.h"
#include "ns3/tcp-tx-buffer.h"

using namespace ns3;

namespace weirsim {

NS_OBJECT_ENSURE_REGISTERED(TcpTahoe);
NS_OBJECT_ENSURE_REGISTERED(TcpReno);

TypeId TcpTahoe::GetTypeId() {
  static TypeId tid = TypeId("weirsim::TcpTahoe").SetParent<TcpSocketBase>().AddConstructor<TcpTahoe>();
  return tid;
}

TypeId TcpReno::GetTypeId() {
  static TypeId tid = TypeId("weirsim::TcpReno").SetParent<TcpSocketBase>().AddConstructor<TcpReno>();
  return tid;
}

Ptr<TcpSocketBase> TcpTahoe::Fork() { return CopyObject<TcpTahoe>(this); }
Ptr<TcpSocketBase> TcpReno::Fork() { return CopyObject<TcpReno>(this); }

/// The third duplicate acknowledgement, outside of a recovery.
bool TcpClassic::Third(const SequenceNumber32 &ack, const SequenceNumber32 &oldHead) const {
  const auto state = m_tcb->m_congState.Get();
  return ack == oldHead && ack < m_tcb->m_highTxMark && m_dupAckCount + 1 == m_retxThresh &&
         state != TcpSocketState::CA_LOSS && state != TcpSocketState::CA_RECOVERY &&
         (!m_recoverActive || ack >= m_recover);
}

/// The acknowledgement that ends the recovery from a timeout opens the window like any other; ns-3 counts only what it
/// acknowledges beyond the recovery's end.
void TcpClassic::Leave(const SequenceNumber32 &ack, const SequenceNumber32 &oldHead) {
  if (m_tcb->m_congState == TcpSocketState::CA_LOSS && ack > oldHead && ack >= m_recover)
    m_recover = ack - m_tcb->m_segmentSize;
}

void TcpTahoe::ProcessAck(const SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                          const SequenceNumber32 &oldHead, bool receivedData) {
  Leave(ack, oldHead);
  if (!Third(ack, oldHead)) {
    TcpSocketBase::ProcessAck(ack, scoreboardUpdated, currentDelivered, oldHead, receivedData);
    return;
  }
  // The steps of ReTxTimeout; the timer starts again and is not doubled.
  const uint32_t flight = m_tcb->m_highTxMark.Get() - oldHead;
  m_dupAckCount = 0;
  m_txBuffer->ResetRenoSack();
  m_txBuffer->SetSentListLost(true);
  m_recover = m_tcb->m_highTxMark;
  m_recoverActive = true;
  m_history.clear();
  m_tcb->m_ssThresh = m_congestionControl->GetSsThresh(m_tcb, flight);
  m_congestionControl->CongestionStateSet(m_tcb, TcpSocketState::CA_LOSS);
  m_tcb->m_congState = TcpSocketState::CA_LOSS;
  m_tcb->m_cWnd = m_tcb->m_segmentSize;
  m_tcb->m_cWndInfl = m_tcb->m_cWnd;
  m_retxEvent.Cancel();
}

/// A partial acknowledgement ends the recovery before the buffer is told of it: the buffer would take it that the next hole, to
/// which it has counted a duplicate, is known to be lost, and have it sent again as NewReno does.
void TcpReno::ReceivedAck(Ptr<Packet> packet, const TcpHeader &header) {
  const auto ack = header.GetAckNumber();
  if (m_tcb->m_congState == TcpSocketState::CA_RECOVERY && ack > m_txBuffer->HeadSequence() && ack < m_recover)
    m_txBuffer->ResetRenoSack();
  TcpSocketBase::ReceivedAck(packet, header);
}

void TcpReno::ProcessAck(const SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                         const SequenceNumber32 &oldHead, bool receivedData) {
  Leave(ack, oldHead);
  if (m_tcb->m_congState == TcpSocketState::CA_RECOVERY && ack > oldHead && ack < m_recover) {
    m_recover = ack;  // the end of fast recovery, whatever is still missing
  }
  const bool third = Third(ack, oldHead);
  const uint32_t flight = m_tcb->m_highTxMark.Get() - oldHead;
  TcpSocketBase::ProcessAck(ack, scoreboardUpdated, currentDelivered, oldHead, receivedData);
  if (!third || m_tcb->m_congState != TcpSocketState::CA_RECOVERY) return;
  // ns-3 takes it that limited transmit has counted the first two duplicates: here it has not.
  m_txBuffer->AddRenoSack();
  m_txBuffer->AddRenoSack();
  m_tcb->m_ssThresh = m_congestionControl->GetSsThresh(m_tcb, flight);  // RFC 2581, equation 3
  m_tcb->m_cWnd = m_tcb->m_ssThresh.Get();
  m_tcb->m_cWndInfl = m_tcb->m_ssThresh + m_retxThresh * m_tcb->m_segmentSize;
}

template <typename Variant>
TypeId TcpClassicFactory<Variant>::GetTypeId() {
  static TypeId tid =
      TypeId(Variant::GetTypeId().GetName() + "Factory").template SetParent<TcpSocketFactory>();
  return tid;
}

/// As TcpL4Protocol makes its own.
template <typename Variant>
Ptr<Socket> TcpClassicFactory<Variant>::CreateSocket() {
  const auto tcp = m_node->GetObject<TcpL4Protocol>();
  const auto socket = CreateObject<Variant>();
  socket->SetNode(m_node);
  socket->SetTcp(tcp);
  socket->SetRtt(CreateObject<RttMeanDeviation>());
  socket->SetCongestionControlAlgorithm(CreateObject<TcpNewReno>());
  socket->SetRecoveryAlgorithm(CreateObject<TcpClassicRecovery>());
  socket->SetAttribute("Sack", BooleanValue(false));
  socket->SetAttribute("LimitedTransmit", BooleanValue(false));  // RFC 3042 came later
  tcp->AddSocket(socket);
  return socket;
}

template class TcpClassicFactory<TcpTahoe>;
template class TcpClassicFactory<TcpReno>;

namespace {

template <typename Variant>
TypeId Install(Ptr<Node> node) {
  if (!node->GetObject<TcpClassicFactory<Variant>>()) {
    const auto factory = CreateObject<TcpClassicFactory<Variant>>();
    factory->SetNode(node);
    node->AggregateObject(factory);
  }
  return TcpClassicFactory<Variant>::GetTypeId();
}

}  // namespace

TypeId InstallTcp(Ptr<Node> node, const std::string &name) {
  if (name == "tahoe") return Install<TcpTahoe>(node);
  if (name == "reno") return Install<TcpReno>(node);
  if (name != "newreno" && name != "sack") throw std::invalid_argument("tcp must be tahoe, reno, newreno or sack, not " + name);
  const auto tcp = node->GetObject<TcpL4Protocol>();
  tcp->SetAttribute("SocketType", TypeIdValue(TcpNewReno::GetTypeId()));
  tcp->SetAttribute("RecoveryType", TypeIdValue(TcpClassicRecovery::GetTypeId()));
  return TcpSocketFactory::GetTypeId();
}

}  // namespace weirsim
