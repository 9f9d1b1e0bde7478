#include "rtl-core.h"

#include <stdexcept>

#include "bottleneck.h"
#include "configure.h"

namespace weirsim {

RtlCore::RtlCore(const Setup &setup) : model_(CycleModel::load(setup.model, setup.core)) {
  core_ = model_.create();
  if (!core_) throw std::runtime_error("the core of the cycle model does not come out of reset");
  const weir_bus bus{this,
                     [](void *c, uint32_t a, uint32_t *v) { return self(c)->model_.csrRead(self(c)->core_, a, v); },
                     [](void *c, uint32_t a, uint32_t v) { return self(c)->model_.csrWrite(self(c)->core_, a, v); }};
  try {
    check(weir_open_bus(&bus, &device_));
  } catch (...) {
    close();
    throw;
  }
  model_.set(core_, WEIR_MODEL_EGRESS, 1);
  if (setup.thread) worker_ = std::make_unique<Worker>();
}

RtlCore::~RtlCore() { close(); }

void RtlCore::begin() {
  if (get(WEIR_MODEL_NOW_NS) >= epochNs) throw std::logic_error("the configuration takes too long");
  runUntil(epochNs);
}

void RtlCore::send(const uint8_t *frame, uint32_t length, uint64_t at) {
  if (length < 14 || length > 9216)
    throw std::runtime_error("a frame of " + std::to_string(length) + " bytes is not one of 14 to 9216 bytes");
  const auto give = [this, at](const uint8_t *bytes, uint32_t size) {
    if (model_.send(core_, 1, bytes, &size, &at, nullptr) != WEIR_MODEL_OK) throw std::runtime_error("the cycle model refuses a frame");
  };
  if (!worker_) return give(frame, length);
  then([give, bytes = std::vector<uint8_t>(frame, frame + length)] { give(bytes.data(), static_cast<uint32_t>(bytes.size())); });
}

void RtlCore::then(std::function<void()> task) {
  if (worker_)
    worker_->give(std::move(task));
  else
    task();
}

void RtlCore::reach(uint64_t ns) {
  if (ns <= reached_) return;
  reached_ = ns;
  then([this, ns] { model_.runUntil(core_, ns); });
}

uint64_t RtlCore::get(int what) const {
  if (worker_) worker_->wait();
  return model_.get(core_, what);
}

void RtlCore::runUntil(uint64_t ns) {
  reach(ns);
  if (worker_) worker_->wait();
}

std::vector<RtlCore::Out> RtlCore::receive() {
  size_t count = 0, size = 0;
  model_.received(core_, &count, &size);
  std::vector<Out> out(count);
  if (!count) return out;
  std::vector<uint8_t> bytes(size), user(count);
  std::vector<uint32_t> lengths(count);
  std::vector<uint64_t> first(count), last(count);
  model_.recv(core_, bytes.data(), lengths.data(), first.data(), last.data(), user.data());
  const uint8_t *at = bytes.data();
  for (size_t i = 0; i < count; ++i) {
    if (user[i]) throw std::runtime_error("a frame left the core that is marked bad");
    out[i].firstNs = first[i], out[i].lastNs = last[i];
    out[i].bytes.assign(at, at + lengths[i]);
    at += lengths[i];
  }
  return out;
}

void RtlCore::trace(std::vector<Record> &records) {
  records.resize(model_.traced(core_));
  if (!records.empty()) model_.trace(core_, records.front().data(), nullptr, records.size());
}

void RtlCore::balance() {
  if (get(WEIR_MODEL_INGRESS_STALLS) || get(WEIR_MODEL_UNDERRUNS))
    throw std::runtime_error("the core refused a beat or left a gap in a frame");
  struct weir_counters q;
  struct weir_core_counters c;
  check(weir_snapshot(device_));
  check(weir_counters(device_, 0, &q));
  check(weir_core_counters(device_, &c));
  const uint64_t dropped = q.early.packets + q.forced.packets + q.overflow.packets + q.front.packets +
                           q.head_dropped.packets + q.partial.packets + c.ingress_overflow.packets + c.bad.packets + c.runt.packets +
                           c.oversize.packets + c.malformed.packets;
  const uint64_t held = c.queued + c.spaced;
  if (c.rx.packets > c.tx.packets + dropped + held + 1 || c.rx.packets + 1 < c.tx.packets + dropped + held)
    throw std::runtime_error("the core's counters do not add up");
}

void RtlCore::close() {
  worker_.reset();
  if (device_) weir_close(device_);
  if (core_) model_.destroy(core_);
  device_ = nullptr, core_ = nullptr;
}

}  // namespace weirsim
