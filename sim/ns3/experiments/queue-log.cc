#include "queue-log.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "options.h"
#include "weir_trace.h"

namespace weirsim {

void Moments::add(double value, double weight) {
  if (weight <= 0) return;
  weight_ += weight;
  const double step = value - mean_;
  mean_ += step * weight / weight_;
  squares_ += weight * step * (value - mean_);
}

double Moments::deviation() const { return weight_ > 0 ? std::sqrt(squares_ / weight_) : 0; }

void QueueLog::count(std::vector<uint64_t> &bins, double at, uint32_t packets) {
  const auto bin = static_cast<size_t>(std::max(at, 0.0));
  if (bins.size() <= bin) bins.resize(bin + 1);
  bins[bin] += packets;
}

/// The queue stayed as it was until `at`.
void QueueLog::hold(double at) {
  const double time = at - lastAt_;
  bytesTime_.add(bytes_, time);
  half(at).queue.add(packets_, time);
  if (time > 0 && bytes_ <= threshold_) belowTime_ += time;
  lastAt_ = std::max(lastAt_, at);
  point(at);
}

void QueueLog::point(double at) {
  if (sample_ <= 0 || at < nextPoint_) return;
  points_.push_back({at, static_cast<double>(packets_), average_});
  nextPoint_ = at + sample_;
}

void QueueLog::end(double at) {
  const auto time = [](const Record &r) { return weir_record_time_ns(r.data()); };
  std::stable_sort(records_.begin(), records_.end(), [&](const Record &a, const Record &b) {
    return std::pair(time(a), weir_record_kind(a.data())) < std::pair(time(b), weir_record_kind(b.data()));
  });
  for (const Record &r : std::exchange(records_, {}))
    if (time(r) < epochNs + at * 1e9) replay(r);
  hold(at);
}

void QueueLog::replay(const Record &record) {
  const uint32_t *const r = record.data();
  const bool dropped = weir_record_action(r) == WEIR_RECORD_ACTION_DROP;
  const unsigned cause = weir_record_cause(r);
  const double at = (static_cast<double>(weir_record_time_ns(r)) - epochNs) * 1e-9;
  const uint32_t length = weir_record_length(r), bytes = weir_record_bytes(r);
  const uint32_t packets = frames_ ? weir_record_frames(r) : weir_record_packets(r);
  if (weir_record_kind(r) == WEIR_RECORD_KIND_DEPARTURE) {
    if (dropped && cause == WEIR_RECORD_CAUSE_PARTIAL) cut(at, length, bytes, packets);
    if (!dropped) sent(at, length, bytes, packets);
    return;
  }
  const uint32_t inside = std::max<uint32_t>(1, weir_record_members(r));
  const double seen = static_cast<double>(weir_record_average(r)) / (1 << 22);
  if (fn_)
    rate_.add(seen * 8e9 / (1 << 20));  // R, bit/s
  else
    average(at, seen);
  arrival(at, length, bytes, packets, inside);
  if (dropped) this->dropped(at, length, cause, inside);
  if (weir_record_action(r) == WEIR_RECORD_ACTION_MARK) marked();
}

void QueueLog::average(double at, double value) {
  average_ = value;
  averageSeen_.add(value);
  half(at).average.add(value);
}

void QueueLog::arrival(double at, uint32_t length, uint32_t bytesBefore, uint32_t packetsBefore, uint32_t packets) {
  hold(at);
  arrived_ += packets, arrivedBytes_ += length, ++arrivedFrames_;
  half(at).arrived += packets;
  if (each_) all_.emplace_back(at, length);
  bytesSeen_.add(bytesBefore), packetsSeen_.add(packetsBefore);
  below_ += bytesBefore <= threshold_;
  bytes_ = bytesBefore + length, packets_ = packetsBefore + 1;
  most_ = std::max(most_, packetsBefore);
  count(arrivals_, at, packets);
}

void QueueLog::dropped(double at, uint32_t length, unsigned cause, uint32_t packets) {
  drops_[cause & 3] += packets, droppedBytes_ += length;
  half(at).dropped += packets;
  bytes_ -= std::min(bytes_, length), packets_ -= packets_ > 0;
  count(losses_, at, packets);
}

void QueueLog::cut(double at, uint32_t length, uint32_t bytesAfter, uint32_t framesAfter) {
  ++partial_, droppedBytes_ += length;
  ++half(at).dropped;
  count(losses_, at, 1);
  left(at, bytesAfter, framesAfter);
}

void QueueLog::sent(double at, uint32_t length, uint32_t bytesAfter, uint32_t packetsAfter) {
  ++sent_, sentBytes_ += length;
  left(at, bytesAfter, packetsAfter);
}

void QueueLog::left(double at, uint32_t bytesAfter, uint32_t packetsAfter) {
  hold(at);
  bytes_ = bytesAfter, packets_ = packetsAfter;
}

std::string QueueLog::halves(double rate, double duration) const {
  std::string out;
  const auto put = [&out](const std::string &name, double value) { out += ", " + jsonText(name) + ": " + jsonNumber(value); };
  const auto share = [=](uint64_t bytes) { return 800.0 * static_cast<double>(bytes) / rate / duration; };
  put("arrived_frames", arrivedFrames_), put("partial", partial_);
  put("throughput_half_percent", share(halves_[0].linkBytes));
  put("throughput_percent", share(halves_[0].linkBytes + halves_[1].linkBytes));
  for (int n = 0; n < 2; ++n) {
    const Half &h = halves_[n];
    const std::string which = n ? "second" : "first";
    put("loss_" + which + "_percent", h.arrived ? 100.0 * static_cast<double>(h.dropped) / static_cast<double>(h.arrived) : 0);
    put("average_" + which, h.average.mean()), put("queue_" + which, h.queue.mean());
  }
  return out;
}

std::string QueueLog::json(double rate, double duration, int overhead) const {
  const uint64_t dropped = drops_[0] + drops_[1] + drops_[2] + drops_[3] + partial_;
  const double sent = static_cast<double>(sentBytes_) + static_cast<double>(overhead) * sent_;
  const double wire = 8 * (frames_ ? static_cast<double>(halves_[0].linkBytes + halves_[1].linkBytes) : sent);
  std::string out = "{";
  const auto put = [&out](const char *name, double value) {
    out += (out.size() > 1 ? ", " : "") + jsonText(name) + ": " + jsonNumber(value);
  };
  put("arrived", arrived_), put("dropped", dropped), put("early", drops_[1]), put("forced", drops_[2]);
  put("overflow", drops_[3]), put("marked", marked_), put("sent", sent_);
  put("arrived_bytes", arrivedBytes_), put("sent_bytes", sentBytes_), put("dropped_bytes", droppedBytes_);
  put("loss_percent", arrived_ ? 100.0 * dropped / arrived_ : 0);
  put("utilisation_percent", 100 * wire / rate / duration);
  put("queue_bytes_mean", bytesSeen_.mean()), put("queue_bytes_sd", bytesSeen_.deviation());
  put("queue_packets_mean", packetsSeen_.mean()), put("queue_packets_sd", packetsSeen_.deviation());
  put("queue_packets_max", most_), put("queue_bytes_time_mean", bytesTime_.mean());
  put("average_mean", averageSeen_.mean()), put("average_sd", averageSeen_.deviation());
  put("rate_mean", rate_.mean()), put("rate_sd", rate_.deviation());
  put("below_threshold", arrived_ ? static_cast<double>(below_) / arrived_ : 1);
  put("below_threshold_time", lastAt_ > 0 ? belowTime_ / lastAt_ : 1);
  return out + (frames_ ? halves(rate, duration) : "") + "}";
}

std::string QueueLog::series() const {
  const auto list = [](const char *name, const auto &values, const auto &of) {
    std::string out = jsonText(name) + ": [";
    bool first = true;
    for (const auto &v : values) {
      char text[32];
      std::snprintf(text, sizeof text, "%s%.6g", first ? "" : ",", static_cast<double>(of(v)));
      out += text, first = false;
    }
    return out + "]";
  };
  const auto itself = [](uint64_t n) { return n; };
  return "{" + list("time", points_, [](const Point &p) { return p.at; }) + ",\n " +
         list("packets", points_, [](const Point &p) { return p.packets; }) + ",\n " +
         list("average", points_, [](const Point &p) { return p.average; }) + ",\n " +
         list("arrivals_per_s", arrivals_, itself) + ",\n " + list("drops_per_s", losses_, itself) + "}";
}

std::string QueueLog::arrivals() const {
  std::string times, lengths;
  for (const auto &[at, length] : all_) {
    times += (times.empty() ? "" : ",") + std::to_string(std::llround(at * 1e9));
    lengths += (lengths.empty() ? "" : ",") + std::to_string(length);
  }
  return "{\"time_ns\": [" + times + "], \"length\": [" + lengths + "]}";
}

}  // namespace weirsim
