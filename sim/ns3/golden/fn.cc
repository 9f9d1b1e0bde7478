// FN (docs/modules/fn.md; golden/fn.py is the reference). Kadhum and Hassan, APCC 2009, equation 3.

#include <deque>
#include <vector>

#include "policy.h"

namespace weirsim::golden {

namespace {

constexpr unsigned entriesMax = 4096, period = 128;
constexpr uint64_t gapMax = 0xFFFFFFFF, averageMax = (uint64_t{1} << 43) - 1;
constexpr int nothing = -256;

struct FnParams {
  bool quadratic, uniform, byteMode, ecn;
  unsigned size;
  Scaled t, mean, halfT2;
  uint64_t room;
  unsigned entries() const { return std::clamp(size, 1u, entriesMax); }

  static FnParams of(const Words &w) {
    const uint32_t control = word(w, "FN_CTRL");
    return {bool(control & 1), bool(control & 2), bool(control & 4), bool(control & 8), word(w, "FN_WINDOW") & 0x1FFF,
            scaled(w, "FN_T"), scaled(w, "FN_MEAN"), scaled(w, "FN_HALF_T2"),
            word(w, "FN_ROOM_LO") | uint64_t{word(w, "FN_ROOM_HI") & 0xFF} << 32};
  }
};

/// The upper 18 bits of a value of 44 bits after a left shift that sets its top bit, and the shift.
struct Normal {
  uint64_t mantissa = 0;
  int shift = 47;
};
Normal normalise(uint64_t value) {
  if (value == 0) return {};
  const int shift = 44 - static_cast<int>(bitLength(value));
  return {value << shift >> 26, shift};
}

uint64_t reciprocal(uint64_t mantissa) {
  const uint64_t middle = (1 << 17) + ((mantissa >> 7 & 1023) << 7) + (1 << 6);
  return ((uint64_t{1} << 36) + middle) / (2 * middle);
}

/// (-1)^negative * mantissa * 2^exponent.
struct Float {
  uint64_t mantissa = 0;
  int exponent = 0;
  bool negative = false;
};
Float quotient(uint64_t a, uint64_t b, int exponent) {
  const uint64_t q = (a << 18) / b;
  return q >= 1 << 18 ? Float{q >> 1, exponent - 17, false} : Float{q, exponent - 18, false};
}
Float difference(const Float &left, const Float &right) {
  const int top = std::max(left.exponent, right.exponent);
  const uint64_t a = left.mantissa << 8 >> std::min(top - left.exponent, 31);
  const uint64_t b = right.mantissa << 8 >> std::min(top - right.exponent, 31);
  const uint64_t size = a > b ? a - b : b - a;
  if (size == 0) return {};
  const int shift = 26 - static_cast<int>(bitLength(size));
  return {size << shift >> 8, top - shift, a < b};
}
Float product(const Float &a, uint64_t mantissa, int exponent) {
  const uint64_t exact = a.mantissa * mantissa;
  const unsigned up = exact >> 35;
  return {exact >> (17 + up), a.exponent + exponent + 17 + static_cast<int>(up), a.negative};
}

uint64_t rateScaled(const Normal &bytes, const Normal &time) {
  if (bytes.mantissa == 0) return 0;
  if (time.mantissa == 0) return averageMax;
  const u128 top = u128{bytes.mantissa} * reciprocal(time.mantissa) >> 18;
  const int x = time.shift - bytes.shift + 25;
  return static_cast<uint64_t>(std::min<u128>(x >= 0 ? top << x : top >> -x, averageMax));
}

class FnModel final : public PolicyModel {
 public:
  explicit FnModel(const Words &w) : params_(FnParams::of(w)), pool_(params_.entries()) {}
  unsigned commitAt() const override { return 22; }
  unsigned takesCount() const override { return 12; }

  Verdict request(const Request &r) override {
    const bool entered = enter(r);
    const Normal bytes = normalise(sumBytes_), time = normalise(sumTime_);
    taken_.push_back(r.length);
    if (!entered) {
      count_ = 0;
      return {};
    }
    measure(bytes, time);
    const Balance b = balance(r.bytes, bytes, time);
    Verdict v;
    v.average = rateScaled(bytes, time);
    v.slots = fill_;
    if (b.numerator == 0) {
      count_ = 0;
      return v;
    }
    v.count = count_;
    count_ = std::min<uint32_t>(count_ + 1, 0xFFFF);
    const unsigned shift = 37 - bitLength(b.denominator);
    const uint64_t d = static_cast<uint64_t>(b.denominator << shift >> 19);
    const uint64_t n = static_cast<uint64_t>(b.numerator << shift >> 1);
    v.probability = b.certain ? one32 : static_cast<uint64_t>(std::min<u128>(one32, u128{n} * reciprocal(d) >> 21));
    const bool hit = u128{r.draw} * d << 14 < u128{n} * weight(v.count, r);
    v.cause = hit ? (b.certain ? forced : early) : none;
    v.action = answer(v.cause, r.ecn);
    return v;
  }

  void commit(uint32_t, bool selected, bool dropped) override {
    taken_.pop_front();
    if (selected || dropped) count_ = std::min<uint32_t>(count_, taken_.size());
  }

 private:
  struct Balance {
    u128 numerator = 0, denominator = 0;
    bool certain = false;
  };

  /// Puts an arrival into the window; false if it is the first, which only starts the clock.
  bool enter(const Request &r) {
    const uint64_t gap = std::min((r.ns - last_) & ((uint64_t{1} << 48) - 1), gapMax);
    last_ = r.ns;
    if (!started_) {
      started_ = true;
      return false;
    }
    const auto old = fill_ == params_.entries() ? pool_[position_] : Entry{};
    pool_[position_] = {gap, r.length};
    fill_ = std::min(fill_ + 1, params_.entries());
    position_ = (position_ + 1) % params_.entries();
    sumTime_ = (sumTime_ + gap - old.gap) & ((uint64_t{1} << 44) - 1);
    sumBytes_ = (sumBytes_ + r.length - old.length) & ((uint64_t{1} << 26) - 1);
    elapsed_ += gap;
    ++since_;
    return true;
  }

  /// Rate and acceleration over the packets since the last measurement.
  void measure(const Normal &bytes, const Normal &time) {
    if (since_ == period) lead_ = pending_;
    if (since_ < std::max(params_.entries(), period)) return;
    const Normal elapsed = normalise(elapsed_);
    Float rate;
    const bool known = time.mantissa != 0;
    if (known) rate = quotient(bytes.mantissa, time.mantissa, time.shift - bytes.shift);
    pending_ = {};
    if (known && rateKnown_ && elapsed.mantissa) {
      const Float change = difference(rate, rate_);
      if (change.mantissa) {
        Float a = quotient(change.mantissa, elapsed.mantissa, change.exponent + elapsed.shift - 26);
        a.negative = change.negative;
        pending_ = product(a, params_.halfT2.mantissa, static_cast<int>(params_.halfT2.exponent));
      }
    }
    rate_ = rate, rateKnown_ = known;
    since_ = 0, elapsed_ = 0;
  }

  Balance balance(uint64_t held, const Normal &bytes, const Normal &time) const {
    const int64_t space = static_cast<int64_t>(params_.room) - static_cast<int64_t>(held << 4);
    const Normal k = normalise(space > 0 ? static_cast<uint64_t>(space) : 0);
    const Float h = params_.quadratic ? lead_ : Float{};
    uint64_t x = bytes.mantissa * params_.t.mantissa, y = time.mantissa * k.mantissa, z = time.mantissa * h.mantissa;
    const int ex = x ? static_cast<int>(params_.t.exponent) - 6 - bytes.shift : nothing;
    const int ey = y ? 48 - time.shift - k.shift : nothing;
    const int ez = z ? 26 - time.shift + h.exponent : nothing;
    const int top = std::max({ex, ey, ez});
    x >>= std::min(top - ex, 63), y >>= std::min(top - ey, 63), z >>= std::min(top - ez, 63);
    const i128 d = h.negative ? i128{x} - z : i128{x} + z;
    const u128 whole = u128{1} << 36;
    if (space <= 0 && !(params_.quadratic && d <= 0)) return {whole, whole, true};
    if (d <= i128{y}) return {};
    return {static_cast<u128>(d - y), static_cast<u128>(d), false};
  }

  /// kappa (1 + u count), UQ16.20.
  u128 weight(uint32_t used, const Request &r) const {
    u128 kappa = 1 << 20;
    if (params_.byteMode) kappa = std::min<u128>(kappa, u128{r.length} * params_.mean.mantissa >> params_.mean.exponent);
    const u128 spread = (1 << 20) + (params_.uniform ? u128{r.draw} * used >> 4 : 0);
    return kappa * spread >> 20;
  }

  unsigned answer(unsigned cause, uint32_t ecn) const {
    if (cause == none) return accept;
    if (params_.ecn && (ecn == ect0 || ecn == ect1)) return mark;
    return params_.ecn && ecn == ce ? accept : drop;
  }

  struct Entry {
    uint64_t gap = 0, length = 0;
  };

  FnParams params_;
  std::vector<Entry> pool_;
  bool started_ = false, rateKnown_ = false;
  uint64_t last_ = 0, sumBytes_ = 0, sumTime_ = 0, elapsed_ = 0;
  unsigned fill_ = 0, position_ = 0, since_ = 0;
  uint32_t count_ = 0;
  Float rate_, pending_, lead_;
  std::deque<uint32_t> taken_;
};

}  // namespace

std::unique_ptr<PolicyModel> makeFn(const Words &words) { return std::make_unique<FnModel>(words); }

}  // namespace weirsim::golden
