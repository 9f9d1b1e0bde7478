#include "merge.h"

namespace weirsim::golden {

namespace {

constexpr uint64_t mostSpacing = 65535;  ///< ticks

}  // namespace

Found FlowTable::lookUp(const PacketInfo &packet) {
  Found found{packet.kind, 0, 0, packet.ipLength};
  if (packet.kind == Kind::none || packet.kind == Kind::unknown) return found;
  found.slot = packet.hash % slots_;
  const auto [at, fresh] = table_.try_emplace(found.slot, packet.key, numbers_);
  if (!fresh && at->second.first != packet.key) at->second = {packet.key, numbers_};
  if (at->second.second == numbers_) ++numbers_;
  found.number = at->second.second;
  return found;
}

std::shared_ptr<Group> Merger::link(const Found &found, uint32_t member, uint64_t ns) {
  const auto at = open_.find(found.slot);
  if (config_.on && found.kind == Kind::joinable && at != open_.end() && at->second.first == found.number) {
    Group &group = *at->second.second;
    const uint32_t count = static_cast<uint32_t>(group.members.size()) + 1, sum = group.sum + found.ipLength;
    if (!group.closed && count <= config_.maxCount && sum <= config_.maxSum && jumboBytes(count, sum) <= config_.maxBytes &&
        (ns >> config_.tick) - (group.lastNs >> config_.tick) <= mostSpacing) {
      group.members.push_back(member);
      group.sum = sum, group.lastNs = ns;
      return nullptr;
    }
  }
  const auto group = std::make_shared<Group>();
  group->members = {member}, group->sum = found.ipLength, group->lastNs = ns;
  if (found.kind == Kind::unknown) {
    for (auto &[slot, entry] : open_) entry.second->closed = true;
  } else if (found.kind != Kind::none) {
    open_.erase(found.slot);
    if (config_.on && found.kind == Kind::joinable) open_[found.slot] = {found.number, group};
  }
  return group;
}

}  // namespace weirsim::golden
