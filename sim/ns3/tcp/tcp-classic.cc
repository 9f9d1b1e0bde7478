#include "tcp-classic.h"

#include <stdexcept>
#include <type_traits>

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
NS_OBJECT_ENSURE_REGISTERED(TcpModern);
NS_OBJECT_ENSURE_REGISTERED(TcpSack);

TypeId TcpTahoe::GetTypeId() {
  static TypeId tid = TypeId("weirsim::TcpTahoe").SetParent<TcpSocketBase>().AddConstructor<TcpTahoe>();
  return tid;
}

TypeId TcpReno::GetTypeId() {
  static TypeId tid = TypeId("weirsim::TcpReno").SetParent<TcpSocketBase>().AddConstructor<TcpReno>();
  return tid;
}

TypeId TcpModern::GetTypeId() {
  static TypeId tid = TypeId("weirsim::TcpModern").SetParent<TcpSocketBase>().AddConstructor<TcpModern>();
  return tid;
}

TypeId TcpSack::GetTypeId() {
  static TypeId tid = TypeId("weirsim::TcpSack").SetParent<TcpModern>().AddConstructor<TcpSack>();
  return tid;
}

/// RFC 6582, 3.2, step 2: `recover`.
void TcpModern::ProcessAck(const SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                           const SequenceNumber32 &oldHead, bool receivedData) {
  const bool before = m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
  TcpClassic::ProcessAck(ack, scoreboardUpdated, currentDelivered, oldHead, receivedData);
  if (!before && m_tcb->m_congState == TcpSocketState::CA_RECOVERY) Repeats();
}

Ptr<TcpSocketBase> TcpModern::Fork() { return CopyObject<TcpModern>(this); }
Ptr<TcpSocketBase> TcpSack::Fork() { return CopyObject<TcpSack>(this); }
Ptr<TcpSocketBase> TcpTahoe::Fork() { return CopyObject<TcpTahoe>(this); }
Ptr<TcpSocketBase> TcpReno::Fork() { return CopyObject<TcpReno>(this); }

/// The third duplicate acknowledgement, outside of a recovery.
bool TcpClassic::Third(const SequenceNumber32 &ack, const SequenceNumber32 &oldHead) const {
  const auto state = m_tcb->m_congState.Get();
  return ack == oldHead && !Repeated(ack) && ack < m_tcb->m_highTxMark && m_dupAckCount + 1 == m_retxThresh &&
         state != TcpSocketState::CA_LOSS && state != TcpSocketState::CA_RECOVERY &&
         (!m_recoverActive || ack >= m_recover);
}

bool TcpClassic::Repeated(const SequenceNumber32 &ack) const {
  return m_repeats && ack <= m_repeatsTo && m_tcb->m_congState != TcpSocketState::CA_RECOVERY;
}

void TcpClassic::Repeats() { m_repeats = true, m_repeatsTo = m_tcb->m_highTxMark; }

/// The acknowledgement that ends the recovery from a timeout opens the window like any other; ns-3 counts only what it
/// acknowledges beyond the recovery's end.
void TcpClassic::Leave(const SequenceNumber32 &ack, const SequenceNumber32 &oldHead) {
  if (m_tcb->m_congState == TcpSocketState::CA_LOSS && ack > oldHead && ack >= m_recover)
    m_recover = ack - m_tcb->m_segmentSize;
}

bool TcpClassic::LostInMarkedWindow(const SequenceNumber32 &ack, bool scoreboardUpdated, const SequenceNumber32 &oldHead,
                                    bool receivedData) const {
  if (m_tcb->m_congState != TcpSocketState::CA_CWR) return false;
  const bool duplicate = m_sackEnabled ? scoreboardUpdated : ack == oldHead && ack < m_tcb->m_highTxMark && !receivedData;
  return duplicate && (m_dupAckCount + 1 == m_retxThresh || (m_sackEnabled && m_txBuffer->IsLost(m_txBuffer->HeadSequence())));
}

void TcpClassic::CountDuplicates() {
  for (uint32_t n = 1; n < m_retxThresh; ++n) m_txBuffer->AddRenoSack();
}

bool TcpClassic::EndsDuplicates(const SequenceNumber32 &ack) const {
  return ack > m_txBuffer->HeadSequence() && (m_tcb->m_congState != TcpSocketState::CA_RECOVERY || ack >= m_recover);
}

void TcpClassic::ReceivedAck(Ptr<Packet> packet, const TcpHeader &header) {
  if (!m_sackEnabled && EndsDuplicates(header.GetAckNumber())) m_txBuffer->ResetRenoSack();
  if (header.GetAckNumber() > m_repeatsTo) m_repeats = false;
  const auto state = m_tcb->m_congState.Get();
  const bool repairing = state == TcpSocketState::CA_RECOVERY || state == TcpSocketState::CA_LOSS;
  if (!repairing && header.GetAckNumber() > m_answeredTo) m_answered = false;
  if (!repairing && !m_answered) {
    TcpSocketBase::ReceivedAck(packet, header);
    return;
  }
  TcpHeader silent = header;
  silent.SetFlags(header.GetFlags() & ~TcpHeader::ECE);
  TcpSocketBase::ReceivedAck(packet, silent);
}

void TcpClassic::Answered(bool cwr) {
  m_answered = true, m_answeredTo = m_tcb->m_highTxMark;
  m_cwrDue |= cwr && m_tcb->m_ecnState != TcpSocketState::ECN_DISABLED;
}

/// Only the base can set the flag, and it does for an echo behind its last CWR. What is new begins at the highest that was sent.
uint32_t TcpClassic::SendDataPacket(SequenceNumber32 seq, uint32_t maxSize, bool withAck) {
  if (m_cwrDue && seq >= m_tcb->m_highTxMark) {
    m_cwrDue = false;
    m_ecnEchoSeq = m_answeredTo;
    m_tcb->m_ecnState = TcpSocketState::ECN_ECE_RCVD;
  }
  return TcpSocketBase::SendDataPacket(seq, maxSize, withAck);
}

void TcpClassic::ReTxTimeout() {
  const bool marked = m_tcb->m_congState == TcpSocketState::CA_CWR && m_txBuffer->HeadSequence() < m_recover;
  const uint32_t threshold = m_tcb->m_ssThresh;
  TcpSocketBase::ReTxTimeout();
  if (m_tcb->m_congState != TcpSocketState::CA_LOSS) return;
  if (marked) m_tcb->m_ssThresh = threshold;
  Answered(true);
  Repeats();
}

void TcpClassic::ProcessAck(const SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                            const SequenceNumber32 &oldHead, bool receivedData) {
  receivedData |= Repeated(ack);  // the base reads it for one thing: with data an acknowledgement is no duplicate
  const bool before = m_tcb->m_congState == TcpSocketState::CA_RECOVERY;
  const bool marked = LostInMarkedWindow(ack, scoreboardUpdated, oldHead, receivedData);
  const bool pending = m_tcb->m_ecnState == TcpSocketState::ECN_ECE_RCVD;  // the mark's CWR
  const uint32_t threshold = m_tcb->m_ssThresh;
  if (marked) {
    m_tcb->m_congState = TcpSocketState::CA_DISORDER;  // from here ns-3 goes on to fast retransmit
    if (!m_sackEnabled) CountDuplicates();
  }
  TcpSocketBase::ProcessAck(ack, scoreboardUpdated, currentDelivered, oldHead, receivedData);
  if (before || m_tcb->m_congState != TcpSocketState::CA_RECOVERY) return;
  Answered(!marked || pending);
  if (!marked) return;
  m_tcb->m_ssThresh = threshold;
  m_tcb->m_cWnd = threshold;
  m_tcb->m_cWndInfl = threshold + m_retxThresh * m_tcb->m_segmentSize;
}

void TcpTahoe::ProcessAck(const SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                          const SequenceNumber32 &oldHead, bool receivedData) {
  Leave(ack, oldHead);
  if (!Third(ack, oldHead)) {
    TcpSocketBase::ProcessAck(ack, scoreboardUpdated, currentDelivered, oldHead, receivedData || Repeated(ack));
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
  if (m_tcb->m_congState != TcpSocketState::CA_CWR)  // a mark in this window has halved it
    m_tcb->m_ssThresh = m_congestionControl->GetSsThresh(m_tcb, flight);
  m_congestionControl->CongestionStateSet(m_tcb, TcpSocketState::CA_LOSS);
  m_tcb->m_congState = TcpSocketState::CA_LOSS;
  m_tcb->m_cWnd = m_tcb->m_segmentSize;
  m_tcb->m_cWndInfl = m_tcb->m_cWnd;
  m_retxEvent.Cancel();
  Answered(true);
  Repeats();
}

/// Here a partial acknowledgement ends the recovery too.
bool TcpReno::EndsDuplicates(const SequenceNumber32 &ack) const { return ack > m_txBuffer->HeadSequence(); }

void TcpReno::ProcessAck(const SequenceNumber32 &ack, bool scoreboardUpdated, uint32_t currentDelivered,
                         const SequenceNumber32 &oldHead, bool receivedData) {
  Leave(ack, oldHead);
  if (m_tcb->m_congState == TcpSocketState::CA_RECOVERY && ack > oldHead && ack < m_recover) {
    m_recover = ack;  // the end of fast recovery, whatever is still missing
  }
  const bool third = Third(ack, oldHead) && m_tcb->m_congState != TcpSocketState::CA_CWR;
  const uint32_t flight = m_tcb->m_highTxMark.Get() - oldHead;
  TcpClassic::ProcessAck(ack, scoreboardUpdated, currentDelivered, oldHead, receivedData);
  if (!third || m_tcb->m_congState != TcpSocketState::CA_RECOVERY) return;
  // ns-3 takes it that limited transmit has counted the first two duplicates: here it has not.
  CountDuplicates();
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
  socket->SetAttribute("Sack", BooleanValue(std::is_same_v<Variant, TcpSack>));
  if constexpr (!std::is_base_of_v<TcpModern, Variant>) socket->SetAttribute("LimitedTransmit", BooleanValue(false));  // RFC 3042 came later
  tcp->AddSocket(socket);
  return socket;
}

template class TcpClassicFactory<TcpTahoe>;
template class TcpClassicFactory<TcpReno>;
template class TcpClassicFactory<TcpModern>;
template class TcpClassicFactory<TcpSack>;

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
  if (name == "sack") return Install<TcpSack>(node);
  if (name != "newreno") throw std::runtime_error("tcp must be tahoe, reno, newreno or sack, not " + name);
  return Install<TcpModern>(node);
}

}  // namespace weirsim
