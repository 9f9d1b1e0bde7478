// The network that the experiments share: sources, two routers, sinks; the queue of the link between the routers is RTL,
// golden model, or a queue disc of ns-3.

#pragma once

#include <sys/resource.h>

#include <functional>
#include <memory>
#include <optional>

#include "../weir/edge-net-device.h"
#include "../weir/weir-net-device.h"
#include "ns3/application.h"
#include "ns3/ipv4-address.h"
#include "ns3/node-container.h"
#include "links.h"
#include "options.h"
#include "queue-log.h"

namespace weirsim {

/// One source and its sink, with links of their own.
struct Flow {
  double rate = 1e8;              ///< of both access links, bit/s
  double nearDelay = 0.001, farDelay = 0.001;  ///< s
  double start = 0, stop = 0;     ///< s; stop 0: at the end. Behind it nothing new is sent but two segments at most.
  bool ecn = false;
  bool back = false;              ///< from right to left, against the bottleneck
  uint64_t bytes = 0;             ///< sends so many; 0: without an end
  uint32_t windowPackets = 0;     ///< of its receiver; 0: NetworkConfig::windowPackets
  /// Sends: 0 as much as it can; else sessions of Pareto size, this many seconds apart in the mean.
  double every = 0;
  double meanBytes = 10000, shape = 1.5;
  bool connections = false;       ///< a connection for each session; else all through one
};

struct NetworkConfig {
  std::string name;               ///< of the experiment
  Setup queue;                    ///< of the bottleneck; its rate is the link's
  Disc disc;                      ///< with --queue ns3; empty type: ns-3 has none
  double delay = 0.01;            ///< of the bottleneck link, s
  double duration = 1;
  uint32_t packetBytes = 1500;    ///< the Ethernet frame of a full segment, without FCS
  uint32_t windowPackets = 44;    ///< of the receivers
  double slowStart = 0;           ///< first threshold, bytes; 0: none
  std::string tcp = "newreno";
  double minRto = 0.2;            ///< s; --min-rto
  double threshold = 0;           ///< of Pr(Q <= threshold), bytes
  std::vector<Flow> flows;
  /// Jumbo frames between the routers, made and split at edges of their own; the queue counts each as one frame.
  std::optional<EdgeLimits> edges;
  double edgeRate = 1e8;          ///< of the links between edge and router, bit/s
  Disc back;                      ///< of the bottleneck link's other direction; empty type: a queue that drops nothing
  double half = 0;                ///< s; with edges: results of the time before and after it
  std::string extra;              ///< more members for the result's JSON object, each with a comma before it
};

/// Parameters that every experiment has: queue, seed, duration, out, sample, core, model.
void commonOptions(Options &options, double duration, const char *core = "network");

/// Parameters of TCP that every experiment has: first window, acknowledgements.
void tcpOptions(Options &options);
/// ns-3 has them from here on.
void setTcp(const Options &options);

/// Parameters of every experiment with `runNetwork`: the least retransmission timer, which has another default in the data center, and those of tcpOptions.
void networkOptions(Options &options);

/// Refuses RED's thresholds, in packets, that are not min < max <= limit. `names`: of the parameters that say them.
void checkThresholds(const Options &options, const std::string &names, double min, double max, double limit);
/// Refuses a `--spread` that ns-3's RED does not have: geometric.
void checkSpread(const Options &options);
/// RED's `exempt_first` in the papers' experiments: on with ns-2's wait, off with the other spreadings.
std::string exemptFirst(const Options &options);

/// Refuses common parameters that would be ignored. `runNetwork` does it.
void checkCommon(const Options &options);

/// User and system time, s, of all threads.
double processorTime(const rusage &usage);

/// Where a result goes: a file, which is written whole or not at all; what is no file, a device or a pipe; or, with an empty path,
/// standard output. Throws std::runtime_error, before the run if the file cannot be there.
class ResultFile {
 public:
  explicit ResultFile(const std::string &path);
  void write(const std::string &json) const;

 private:
  [[noreturn]] void fail() const;
  std::string path_;
  bool whole_ = false;
};

/// Of a run with the RTL the member `rtl` of the result's `core`, with a comma before it: the SHA-256 of the Verilog that the
/// cycle model was built from.
std::string rtlMember(const Options &options);

/// Throws std::runtime_error if the library is not of this program's sources.
void checkSources();

/// The result's member `sources`, with a comma before it: what the library says (`librarySources`).
std::string sourcesMember();

/// Builds the network, runs it, writes the result to --out. Answers the program's exit code; what fails is one line.
int runNetwork(const Options &options, NetworkConfig config);

}  // namespace weirsim
