// Jumbo frames and groups of the golden model, one request a line on standard input; frames are hexadecimal.
//
//   split FRAME              prints the frames inside, one line
//   build TICK ID NS FRAME…  prints the jumbo frame (NS and FRAME in turn)
//   rebuild GONE FRONT MARKED FRAME   prints a jumbo frame in transit as it leaves
//   merge SLOTS COUNT        begins a queue that merges, groups of at most COUNT packets
//   arrive NS FRAME          a packet is linked
//   take                     prints the numbers of the packets that leave together

#include <deque>
#include <iostream>
#include <memory>
#include <sstream>

#include "../golden/merge.h"
#include "../golden/transit.h"

using namespace weirsim::golden;

namespace {

Bytes bytesOf(const std::string &hex) {
  Bytes out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) out.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return out;
}

void print(const Bytes &frame) {
  for (uint8_t byte : frame) std::cout << "0123456789abcdef"[byte >> 4] << "0123456789abcdef"[byte & 15];
}

struct Queue {
  explicit Queue(const MergeConfig &config) : flows(config.slots), merger(config) {}
  FlowTable flows;
  Merger merger;
  std::deque<std::shared_ptr<Group>> fifo;
  uint32_t number = 0;
};

}  // namespace

int main() {
  std::unique_ptr<Queue> queue;
  for (std::string line, word; std::getline(std::cin, line);) {
    std::istringstream in(line);
    in >> word;
    try {
      if (word == "split") {
        in >> word;
        const Bytes frame = bytesOf(word);
        for (const Bytes &inner : splitJumbo(frame.data(), static_cast<uint32_t>(frame.size()))) print(inner), std::cout << ' ';
      } else if (word == "build") {
        unsigned tick, id;
        std::deque<Bytes> frames;
        std::vector<const Bytes *> pointers;
        std::vector<uint64_t> ns;
        in >> tick >> id;
        for (uint64_t at; in >> at >> word;) ns.push_back(at), pointers.push_back(&frames.emplace_back(bytesOf(word)));
        print(buildJumbo(pointers, ns, tick, static_cast<uint16_t>(id)));
      } else if (word == "rebuild") {
        Fate fate;
        in >> fate.gone >> fate.front >> fate.marked >> word;
        print(rebuilt(bytesOf(word), fate));
      } else if (word == "merge") {
        MergeConfig config;
        config.on = true;
        in >> config.slots >> config.maxCount;
        queue = std::make_unique<Queue>(config);
        continue;
      } else if (word == "arrive") {
        uint64_t ns;
        in >> ns >> word;
        const Bytes frame = bytesOf(word);
        const Found found = queue->flows.lookUp(inspect(frame.data(), static_cast<uint32_t>(frame.size())));
        if (auto group = queue->merger.link(found, queue->number++, ns)) queue->fifo.push_back(std::move(group));
        continue;
      } else {
        queue->fifo.front()->closed = true;
        for (uint32_t member : queue->fifo.front()->members) std::cout << member << ' ';
        queue->fifo.pop_front();
      }
      std::cout << '\n';
    } catch (const std::exception &e) {
      std::cout << "refused: " << e.what() << '\n';
    }
  }
}
