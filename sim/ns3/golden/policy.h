// The golden model of a queue's policy: what it must answer to an arrival, bit for bit.

#pragma once

#include <memory>

#include "arith.h"

namespace weirsim::golden {

/// One queue's policy. Of each arrival first `commit`s that hardware takes before it, then `request`.
class PolicyModel {
 public:
  virtual ~PolicyModel() = default;
  /// The answer to an arrival.
  virtual Verdict request(const Request &r) = 0;
  /// What became of the oldest arrival without a commit: was it selected, was it dropped.
  virtual void commit(uint32_t length, bool selected, bool dropped) = 0;
  /// Idle slots that an arrival to an empty queue finds after `idleNs` (0 for policies without an average).
  virtual uint32_t slotsAfter(uint64_t /*idleNs*/) const { return 0; }
  /// Cycles from the request to its commit (arrival-decision.md).
  virtual unsigned commitAt() const { return 12; }
  /// A request counts commits of up to this many cycles after it.
  virtual unsigned takesCount() const { return 5; }
};

/// The model of the policy that POLICY of `words` names. Throws std::runtime_error for one without a C++ model.
std::unique_ptr<PolicyModel> policyOf(const Words &words);
std::unique_ptr<PolicyModel> makeRed(const Words &words);
std::unique_ptr<PolicyModel> makeFn(const Words &words);

}  // namespace weirsim::golden
