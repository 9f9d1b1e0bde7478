// RED and ISRED (docs/modules/red.md, isred.md; golden/red.py and isred.py are the references).

#include <deque>

#include "ewma.h"
#include "policy.h"

namespace weirsim::golden {

namespace {

enum Spread { geometric = 0, uniform = 1, uniformWait = 2 };
enum ByteMode { bytesOff = 0, bytesAfter = 1, bytesBefore = 2 };
enum Mode { certain = 0, withoutWait = 1 };

struct RedParams {
  uint64_t minimum, maximum, maxP;
  uint64_t markP;  ///< marks below it: ns-2's `mark_p_`, of no register
  Scaled slope, gentleSlope, mean;
  unsigned spread, byteMode;
  bool gentle, ecn, hardDrop, noDrop, exemptFirst;

  static RedParams of(const Words &w) {
    const uint32_t flags = word(w, "RED_FLAGS"), spread = flags & 3;
    return {word(w, "RED_MIN"), word(w, "RED_MAX"), word(w, "RED_MAXP"), w.count("MARK_P") ? word(w, "MARK_P") : one32 + 1, scaled(w, "RED_SLOPE"),
            scaled(w, "RED_GENTLE_SLOPE"), scaled(w, "RED_MEAN"), spread == 3 ? 2u : spread,
            std::min(flags >> 2 & 3, 2u), bool(flags >> 4 & 1), bool(flags >> 5 & 1), bool(flags >> 6 & 1),
            bool(flags >> 7 & 1), bool(flags >> 8 & 1)};
  }
};

enum Region { outside, band, above };

/// ISRED_* and what it keeps from arrival to arrival.
struct Rise {
  bool on = false, fromQueue = false, seen = false;
  unsigned mode = certain;
  Scaled slope, gain;
  uint64_t lastNs = 0;
  int64_t lastQuantity = 0;

  bool rapid(uint64_t ns, int64_t quantity, uint64_t before, uint64_t after) {
    const uint64_t elapsed = (ns - lastNs) & ((uint64_t{1} << 48) - 1);
    const int64_t previous = lastQuantity;
    const bool first = !seen;
    seen = true, lastNs = ns, lastQuantity = quantity;
    if (first || elapsed >= uint64_t{1} << 36) return false;
    const i128 rise = fromQueue ? i128{quantity - previous} * (1 << 22) : i128{static_cast<int64_t>(after - before)};
    return rise > static_cast<i128>((u128{slope.mantissa} * elapsed << 10) >> slope.exponent);
  }
};

class RedModel final : public PolicyModel {
 public:
  explicit RedModel(const Words &w)
      : params_(RedParams::of(w)), ewmaParams_(EwmaParams::of(w)), unit_(word(w, "POLICY") >> 8 & 3) {
    if ((word(w, "POLICY") & 15) == isred) {
      const uint32_t control = word(w, "ISRED_CTRL");
      rise_.on = true, rise_.mode = control & 3, rise_.fromQueue = control >> 2 & 1;
      rise_.slope = scaled(w, "ISRED_SLOPE"), rise_.gain = scaled(w, "ISRED_GAIN");
    }
  }

  uint32_t slotsAfter(uint64_t idleNs) const override { return idleSlots(idleNs, ewmaParams_); }

  Verdict request(const Request &r) override {
    const uint64_t quantity = unit_ == 1 ? r.packets : unit_ == 2 ? r.frames : r.bytes;
    const uint64_t before = ewma_.average(), average = ewma_.request(r.slots, quantity, ewmaParams_);
    const bool rapid = rise_.on && rise_.rapid(r.ns, static_cast<int64_t>(quantity), before, average);
    return take(average, r, rapid);
  }

  void commit(uint32_t, bool selected, bool dropped) override {
    taken_.pop_front();
    if (!selected && !dropped) return;
    count_ = std::min<uint32_t>(taken_.size(), countMax);
    uint64_t bytes = 0;
    for (uint32_t length : taken_) bytes += length;
    countBytes_ = std::min(bytes, countBytesMax);
  }

 private:
  static constexpr uint32_t countMax = 0xFFFF;
  static constexpr uint64_t countBytesMax = (1u << 24) - 1;

  Region region(uint64_t average) const {
    if (average < params_.minimum << 11) return outside;
    return average >= params_.maximum << (params_.gentle ? 12 : 11) ? above : band;
  }

  uint64_t probability(uint64_t average) const {
    if (average < params_.maximum << 11) {
      const uint64_t x = (average - (params_.minimum << 11)) >> 7;
      return static_cast<uint64_t>(std::min<u128>(one32, u128{params_.slope.mantissa} * x >> params_.slope.exponent));
    }
    const uint64_t x = (average - (params_.maximum << 11)) >> 7;
    const u128 rise = u128{params_.gentleSlope.mantissa} * x >> params_.gentleSlope.exponent;
    return static_cast<uint64_t>(std::min<u128>(one32, rise + params_.maxP));
  }

  u128 kappa(uint32_t length) const {
    if (params_.byteMode == bytesOff) return 1 << 20;
    return saturate(u128{length} * params_.mean.mantissa >> params_.mean.exponent, 34);
  }

  bool chosen(uint64_t p, const Request &r, unsigned spread) const {
    const u128 k = kappa(r.length);
    u128 h = u128{count_} << 20;
    if (params_.byteMode == bytesAfter)
      h = saturate(u128{countBytes_} * params_.mean.mantissa >> params_.mean.exponent, 36);
    else if (params_.byteMode != bytesOff)
      h = count_ * (k >> 18) >= 3u << 16 ? (u128{1} << 36) - 1 : count_ * k;
    const u128 g = spread == geometric ? k : saturate(k + (r.draw * h >> 24), 36);
    const bool waits = spread >= uniformWait;
    if (waits && u128{p} * h < u128{1} << 52) return false;
    return u128{r.draw} * (waits ? 2 : 1) << 28 < u128{p} * g;
  }

  bool droppedEarly(uint64_t p, const Request &r) const {
    if (rise_.mode == certain) return true;
    if (rise_.mode == withoutWait) return chosen(p, r, std::min<unsigned>(params_.spread, uniform));
    return u128{r.draw} << 28 < u128{p} * saturate(kappa(r.length) * rise_.gain.mantissa >> rise_.gain.exponent, 36);
  }

  unsigned answer(unsigned cause, uint32_t ecn, uint64_t p) const {
    if (cause == none) return accept;
    const bool marking = params_.ecn && p < params_.markP && !(cause == forced && params_.hardDrop);
    if (marking && (ecn == ect0 || ecn == ect1)) return mark;
    if (marking && ecn == ce) return accept;
    return params_.noDrop && marking ? accept : drop;
  }

  Verdict take(uint64_t average, const Request &r, bool rapid) {
    const Region where = region(average);
    taken_.push_back(r.length);
    if (where == outside) {
      fresh_ = true;
      return {accept, none, average, 0, 0, r.slots};
    }
    const bool first = where == band && fresh_;
    if (first) {
      count_ = params_.exemptFirst;
      countBytes_ = params_.exemptFirst ? r.length : 0;
      fresh_ = false;
    } else {
      count_ = std::min(count_ + 1, countMax);
      countBytes_ = std::min(countBytes_ + r.length, countBytesMax);
    }
    uint64_t p = one32;
    unsigned cause = forced;
    if (where == band) {
      p = probability(average);
      bool hit;
      if (rapid && average < params_.maximum << 11) {
        hit = droppedEarly(p, r);
        if (rise_.mode == certain) p = one32;
      } else {
        hit = chosen(p, r, params_.spread) && !(first && params_.exemptFirst);
      }
      cause = hit ? early : none;
    }
    if (r.packets < 2) cause = none;
    return {answer(cause, r.ecn, p), cause, average, count_, p, r.slots};
  }

  RedParams params_;
  EwmaParams ewmaParams_;
  unsigned unit_;
  Rise rise_;
  Ewma ewma_;
  bool fresh_ = true;
  uint32_t count_ = 0;
  uint64_t countBytes_ = 0;
  std::deque<uint32_t> taken_;
};

}  // namespace

std::unique_ptr<PolicyModel> makeRed(const Words &words) { return std::make_unique<RedModel>(words); }

}  // namespace weirsim::golden
