// The golden policies of C++ on the command of a test: lines "word NAME VALUE", then "go", then a line for each request:
//   ns length ecn draw idle bytes packets
// with the idle time in ns of an empty queue.
// Answers a line for each: action cause average count probability slots. Each request is committed `lag` requests later.

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>

#include "../golden/policy.h"

using namespace weirsim::golden;

int main() try {
  char line[256], name[64];
  Words words;
  unsigned lag = 0;
  while (std::fgets(line, sizeof line, stdin) && std::strncmp(line, "go", 2) != 0) {
    uint32_t value;
    if (std::sscanf(line, "word %63s %" SCNu32, name, &value) == 2) words[name] = value;
    if (std::sscanf(line, "lag %u", &lag) == 1) continue;
  }
  const auto policy = policyOf(words);
  struct Fate {
    uint32_t length;
    bool selected, dropped;
  };
  std::deque<Fate> fates;
  Request r;
  while (std::fgets(line, sizeof line, stdin)) {
    uint64_t idleNs;
    if (std::sscanf(line, "%" SCNu64 " %u %u %u %" SCNu64 " %u %u", &r.ns, &r.length, &r.ecn, &r.draw, &idleNs, &r.bytes,
                    &r.packets) != 7)
      return 2;
    r.slots = r.packets == 0 ? policy->slotsAfter(idleNs) : 0;
    while (fates.size() > lag) {
      policy->commit(fates.front().length, fates.front().selected, fates.front().dropped);
      fates.pop_front();
    }
    r.frames = r.packets;
    const Verdict v = policy->request(r);
    fates.push_back({r.length, v.cause != none, v.action == drop});
    std::printf("%u %u %" PRIu64 " %u %" PRIu64 " %u\n", v.action, v.cause, v.average, v.count, v.probability, v.slots);
  }
  return 0;
} catch (const std::exception &e) {
  std::fprintf(stderr, "policy_check: %s\n", e.what());
  return 1;
}
