// Drop-tail and DT-ECN (docs/modules/dt-ecn.md), and the choice of a model.

#include "policy.h"

#include <stdexcept>

namespace weirsim::golden {

namespace {

class DropTail final : public PolicyModel {
 public:
  Verdict request(const Request &) override { return {}; }
  void commit(uint32_t, bool, bool) override {}
};

class DtEcn final : public PolicyModel {
 public:
  explicit DtEcn(const Words &w) : threshold_(word(w, "DTECN_THRESHOLD")), unit_(word(w, "POLICY") >> 8 & 3) {}
  Verdict request(const Request &r) override {
    const uint64_t after = unit_ == 1 ? r.packets + 1 : unit_ == 2 ? r.frames + 1 : uint64_t{r.bytes} + r.length;
    if (after < threshold_) return {};
    return {r.ecn == ect0 || r.ecn == ect1 ? mark : accept, forced, 0, 0, one32, 0};
  }
  void commit(uint32_t, bool, bool) override {}

 private:
  uint32_t threshold_;
  unsigned unit_;
};

}  // namespace

std::unique_ptr<PolicyModel> policyOf(const Words &words) {
  if (word(words, "POLICY") >> 12 & 1) throw std::runtime_error("drop from front has no golden model in C++");
  switch (word(words, "POLICY") & 15) {
    case dropTail: return std::make_unique<DropTail>();
    case dtEcn: return std::make_unique<DtEcn>(words);
    case red:
    case isred: return makeRed(words);
    case fn: return makeFn(words);
    default: throw std::runtime_error("this policy has no golden model in C++");
  }
}

}  // namespace weirsim::golden
