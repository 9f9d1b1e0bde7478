// Anneals a legal placement for the ECP5: wires become shorter, those of slow paths most of all. What it is for, and the words: refine.py.
//
//   refine IN OUT TARGET_NS PASSES SEED
//
// What is wanted of paths is TARGET_NS, or half of the slowest one at first if that is more.
//
// IN, numbers apart by white space:
//   how many cells, outputs, wires and clusters there are;
//   of each cell kind, column, row, place, cluster, flags, control set, enable, whether it takes M, whether clock and LSR are
//   inverted, the cell at its FXA or -1;
//   of each output of a cell that cell, and the ns from the clock to it or -1;
//   of each wire the output, the cell that it leads to, the ns that it always takes or -1, its kind, the ns that it has to be early before the clock or -1,
//   how many outputs of its cell follow from it, and of each its number and the ns to it.
// OUT: of each cell column, row and place; of each wire the slowest path through it, ns, 0 if there is none.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

enum Kind { comb, flipFlop, ramWrite, fixedCell };
enum Flags { carry = 1, lutRam = 2, mux5 = 4, mux6 = 8, clockInverted = 16, writeInverted = 32, blocked = 64 };
enum WireKind { general, betweenLuts };
/// What a cluster takes up: half a slice, a slice, or more.
enum Form { still, half, slice, wide };

constexpr int columns = 127, rows = 97, places = 8, kinds = 3;
constexpr size_t longestList = 200;  ///< pins of a net whose length counts

// The schedule. A temperature is in parts of the cost that one net has on average.
constexpr double hottest = 3, coldest = 0.002;
constexpr int movesOfCluster = 4;           ///< in a pass
constexpr double farthest = 80, nearest = 2;  ///< tiles that a move reaches, at the hottest and at the end
constexpr double aimed = 0.4, ofTiles = 0.05, ofWide = 0.5, towards = 0.25;  ///< shares of moves: of cells whose wires weigh much; of the others: whole tiles, to the other end of a wire; of wide clusters: whole tiles
constexpr int about = 3;                                       ///< tiles around what a move aims at
// The cost: half of it is length, half delay, weighed by (path / target)^12; nine tenths of a weight are that of the pass before, or paths would take turns at being slow.
constexpr double shareOfDelay = 0.5, exponent = 12, steepest = 2, inertia = 0.9;
constexpr float urgent = 0.5f;  ///< wires of less weight are not aimed at
// Weights are of the beginning of a pass: in it a wire of a fast path could become as long as it likes. So what it takes more than then, beyond a third of its path's slack or
// `spare`, ns, weighs `beyond`: as a path of 1.19 times the target.
constexpr float shareOfSlack = 0.35f, spare = 0.2f, beyond = 8;
// What a wire takes, ns: the means of a routed `ten-gig` (2b8ef1d, 153 444 wires to LUTs; a wire is off by 0.17 ns, root of the mean square), by columns and rows between its ends.
constexpr float shortest = 0.305f, inTile = 0.205f, acrossTile = 0.031f, downTile = 0.039f;
constexpr std::array<float, 19> acrossNs{0,     0.09f, 0.13f, 0.21f, 0.24f, 0.28f, 0.28f, 0.30f, 0.32f, 0.37f,
                                         0.44f, 0.45f, 0.45f, 0.49f, 0.50f, 0.56f, 0.63f, 0.66f, 0.67f};
constexpr std::array<float, 19> downNs{0,     0.12f, 0.16f, 0.26f, 0.30f, 0.33f, 0.33f, 0.38f, 0.38f, 0.46f,
                                       0.53f, 0.56f, 0.56f, 0.60f, 0.60f, 0.71f, 0.73f, 0.76f, 0.76f};

struct Spot {
  int16_t x, y, z;
  bool operator==(const Spot &o) const { return x == o.x && y == o.y && z == o.z; }
  int tile() const { return y * columns + x; }
};

struct Cell {
  int kind, cluster, flags, control, enable, takesM, clockInverted, lsrInverted, fxa;
};

struct Output {
  int cell;
  float start;
};

struct Wire {
  int output, from, to, kind;
  float always, setup;
  int first, last;  ///< of `arcs`
};

struct Arc {
  int output;
  float ns;
};

struct Box {
  int16_t x0, x1, y0, y1;
  int length() const { return x1 - x0 + y1 - y0; }
  bool touches(Spot s) const { return s.x == x0 || s.x == x1 || s.y == y0 || s.y == y1; }
  void extend(Spot s) {
    x0 = std::min(x0, s.x), x1 = std::max(x1, s.x), y0 = std::min(y0, s.y), y1 = std::max(y1, s.y);
  }
};

/// Lists of numbers, one after the other.
class Lists {
 public:
  explicit Lists(const std::vector<std::vector<int>> &lists) {
    begins_.push_back(0);
    for (const auto &list : lists) {
      all_.insert(all_.end(), list.begin(), list.end());
      begins_.push_back(all_.size());
    }
  }
  struct Range {
    const int *first, *end_;
    const int *begin() const { return first; }
    const int *end() const { return end_; }
    size_t size() const { return static_cast<size_t>(end_ - first); }
    int operator[](size_t i) const { return first[i]; }
  };
  Range operator[](size_t i) const { return {all_.data() + begins_[i], all_.data() + begins_[i + 1]}; }

 private:
  std::vector<int> all_;
  std::vector<size_t> begins_;
};

class Random {
 public:
  explicit Random(uint64_t seed) : state_(0x9E3779B97F4A7C15 * (2 * seed + 1)) {}
  uint64_t next() {
    state_ ^= state_ << 13, state_ ^= state_ >> 7, state_ ^= state_ << 17;
    return state_;
  }
  int below(size_t n) { return static_cast<int>((next() >> 32) * uint64_t{n} >> 32); }
  int within(int reach) { return below(2 * static_cast<size_t>(reach) + 1) - reach; }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

/// What does not change.
struct Netlist {
  std::vector<Cell> cells;
  std::vector<Output> outputs;
  std::vector<Wire> wires;
  std::vector<Arc> arcs;
  std::vector<Spot> start;
  std::vector<std::vector<int>> members;  ///< of clusters

  explicit Netlist(const char *path) {
    std::ifstream in(path);
    size_t count[4];
    for (size_t &n : count) in >> n;
    cells.resize(count[0]), start.resize(count[0]), outputs.resize(count[1]), wires.resize(count[2]), members.resize(count[3]);
    for (size_t i = 0; i < cells.size(); ++i) {
      Cell &c = cells[i];
      in >> c.kind >> start[i].x >> start[i].y >> start[i].z >> c.cluster >> c.flags >> c.control >> c.enable >> c.takesM >> c.clockInverted >>
          c.lsrInverted >> c.fxa;
      if (c.kind < fixedCell) members.at(static_cast<size_t>(c.cluster)).push_back(static_cast<int>(i));
    }
    for (Output &o : outputs) in >> o.cell >> o.start;
    for (Wire &w : wires) {
      int follow;
      in >> w.output >> w.to >> w.always >> w.kind >> w.setup >> follow;
      w.from = outputs.at(static_cast<size_t>(w.output)).cell;
      w.first = static_cast<int>(arcs.size());
      for (Arc a; follow-- > 0 && in >> a.output >> a.ns;) arcs.push_back(a);
      w.last = static_cast<int>(arcs.size());
    }
    if (!in) throw std::runtime_error(std::string(path) + " ends too early");
  }
};

/// Where everything is, and whether it may be there: the rules of nextpnr's `slices_compatible`.
class Placement {
 public:
  std::vector<Spot> spots;

  explicit Placement(const Netlist &net) : net_(net), at_(columns * rows), logic_(columns * rows), forms_(net.members.size()) { reset(net.start); }

  /// Puts all cells anew.
  void reset(const std::vector<Spot> &all) {
    spots = all;
    std::fill(logic_.begin(), logic_.end(), 0);
    for (auto &tile : at_)
      for (auto &place : tile) place.fill(-1);
    for (size_t i = 0; i < spots.size(); ++i) {
      const int kind = net_.cells[i].kind, cell = static_cast<int>(i);
      if (kind == fixedCell) continue;
      logic_.at(static_cast<size_t>(spots[i].tile())) = 1;
      int &here = at(spots[i], kind);
      if (here >= 0) throw std::runtime_error("two cells are in one place");
      here = cell;
    }
    for (int t = 0; t < columns * rows; ++t)
      if (!legal(t)) throw std::runtime_error("the placement breaks a rule at column " + std::to_string(t % columns) + ", row " + std::to_string(t / columns));
    for (size_t c = 0; c < forms_.size(); ++c) forms_[c] = formOf(net_.members[c]);
  }

  int &at(Spot s, int kind) { return at_[static_cast<size_t>(s.tile())][static_cast<size_t>(s.z)][static_cast<size_t>(kind)]; }
  int at(Spot s, int kind) const { return at_[static_cast<size_t>(s.tile())][static_cast<size_t>(s.z)][static_cast<size_t>(kind)]; }
  Form form(int cluster) const { return forms_[static_cast<size_t>(cluster)]; }
  bool hasSlices(int x, int y) const { return x >= 0 && y >= 0 && x < columns && y < rows && logic_[static_cast<size_t>(y * columns + x)]; }

  void swap(const std::vector<Spot> &a, const std::vector<Spot> &b) {
    for (size_t i = 0; i < a.size(); ++i)
      for (int kind = 0; kind < kinds; ++kind) {
        int &p = at(a[i], kind), &q = at(b[i], kind);
        std::swap(p, q);
        if (p >= 0) spots[static_cast<size_t>(p)] = a[i];
        if (q >= 0) spots[static_cast<size_t>(q)] = b[i];
      }
  }

  bool legal(int tile) const {
    const auto &here = at_[static_cast<size_t>(tile)];
    for (size_t s = 0; s < 4; ++s)
      if (!legalSlice(here, s)) return false;
    // one control set a tile
    int control = -1, clock = -1, lsr = -1;
    for (size_t z = 0; z < 4; ++z)
      if (const Cell *c = cell(here[z][comb]); c && c->flags & lutRam) {
        const int clockNow = (c->flags & Flags::clockInverted) != 0, lsrNow = (c->flags & writeInverted) != 0;
        if (clock >= 0 && (clockNow != clock || lsrNow != lsr)) return false;
        clock = clockNow, lsr = lsrNow;
      }
    for (const auto &place : here)
      if (const Cell *c = cell(place[flipFlop])) {
        if (clock >= 0 && (c->clockInverted != clock || c->lsrInverted != lsr)) return false;
        if (control >= 0 && c->control != control) return false;
        control = c->control;
      }
    return true;
  }
  /// Whether a flip-flop may come to a place, as far as its control set and its enable are concerned.
  bool takes(Spot s, int cell, bool alone) const {
    const Cell &c = net_.cells[static_cast<size_t>(cell)];
    const auto &here = at_[static_cast<size_t>(s.tile())];
    for (size_t z = 0; z < places; ++z) {
      const int other = here[z][flipFlop];
      if (other < 0 || other == cell || static_cast<int>(z) == s.z) continue;
      const Cell &o = net_.cells[static_cast<size_t>(other)];
      if (o.control != c.control || (alone && static_cast<int>(z) == (s.z ^ 1) && o.enable != c.enable)) return false;
    }
    return true;
  }

 private:
  using Tile = std::array<std::array<int, kinds>, places>;
  const Netlist &net_;
  std::vector<Tile> at_;
  std::vector<char> logic_;  ///< tiles that have slices, as far as the placement shows
  std::vector<Form> forms_;

  const Cell *cell(int number) const { return number < 0 ? nullptr : &net_.cells[static_cast<size_t>(number)]; }

  bool legalSlice(const Tile &here, size_t s) const {
    const bool writes = s == 2 && here[4][ramWrite] >= 0;
    const Cell *first = nullptr;
    for (size_t l = 0; l < 2; ++l) {
      bool m = false;
      if (const Cell *c = cell(here[2 * s + l][comb])) {
        const int f = c->flags;
        if (writes && !(f & blocked)) return false;
        if (f & lutRam && s > 1) return false;
        if (f & mux5 && l != 0) return false;
        if (f & mux6) {
          const Cell *x = cell(c->fxa);
          if (l != 1 || (x && x->flags & mux5 && s % 2 != 0)) return false;
        }
        m = f & (mux5 | mux6);
        const Cell *c0 = cell(here[2 * s][comb]);
        if (l == 1 && c0 && (c0->flags ^ f) & carry) return false;
      }
      if (const Cell *c = cell(here[2 * s + l][flipFlop])) {
        if ((m && c->takesM) || (first && first->enable != c->enable)) return false;
        first = c;
      }
    }
    return true;
  }

  Form formOf(const std::vector<int> &ones) const {
    if (ones.empty()) return still;
    const Spot a = spots[static_cast<size_t>(ones[0])];
    Form form = half;
    for (int i : ones) {
      const Spot b = spots[static_cast<size_t>(i)];
      const Cell &c = net_.cells[static_cast<size_t>(i)];
      if (a.tile() != b.tile() || a.z / 2 != b.z / 2 || c.kind == ramWrite || c.flags & (carry | lutRam | blocked)) return wide;
      if (a.z != b.z || c.flags & (mux5 | mux6)) form = slice;
    }
    return form;
  }
};

/// Delays by the means above, the slowest path through each wire, and what the wire weighs.
class Timing {
 public:
  std::vector<float> weight, ns, limit, path;  ///< of wires; `limit`: ns from which on more weighs `beyond`; `path`: the slowest through it, ns, 0 if there is none
  float slowest = 0;
  double late = 0;  ///< the sum of what paths are above the target

  Timing(const Netlist &net, const Placement &placement, float target)
      : weight(net.wires.size()), ns(net.wires.size()), limit(net.wires.size(), -never), path(net.wires.size()), net_(net), placement_(placement), target_(target), arrives_(net.outputs.size()), needs_(net.outputs.size()), wiresOf_(of(net)) {
    std::vector<int> left(net.outputs.size()), ready;
    for (const Arc &a : net.arcs) ++left[static_cast<size_t>(a.output)];
    for (size_t o = 0; o < left.size(); ++o)
      if (!left[o]) ready.push_back(static_cast<int>(o));
    while (!ready.empty()) {
      const int o = ready.back();
      ready.pop_back(), order_.push_back(o);
      for (int w : wiresOf_[static_cast<size_t>(o)])
        for (const Arc &a : arcs(w))
          if (!--left[static_cast<size_t>(a.output)]) ready.push_back(a.output);
    }
  }

  float delay(int wire) const {
    const Wire &w = net_.wires[static_cast<size_t>(wire)];
    if (w.always >= 0) return w.always;
    const Spot a = placement_.spots[static_cast<size_t>(w.from)], b = placement_.spots[static_cast<size_t>(w.to)];
    const size_t dx = static_cast<size_t>(std::abs(a.x - b.x)), dy = static_cast<size_t>(std::abs(a.y - b.y));
    if (dx == 0 && dy == 0) return w.kind == betweenLuts ? inTile : shortest;
    return shortest + far(acrossNs, dx, acrossTile) + far(downNs, dy, downTile);
  }

  void update() {
    for (size_t o = 0; o < arrives_.size(); ++o) arrives_[o] = net_.outputs[o].start >= 0 ? net_.outputs[o].start : never;
    slowest = 0, late = 0;
    for (int o : order_)
      for (int w : wiresOf_[static_cast<size_t>(o)]) {
        const float at = arrives_[static_cast<size_t>(o)] + (ns[static_cast<size_t>(w)] = delay(w));
        for (const Arc &a : arcs(w)) arrives_[static_cast<size_t>(a.output)] = std::max(arrives_[static_cast<size_t>(a.output)], at + a.ns);
        if (const float setup = net_.wires[static_cast<size_t>(w)].setup; setup >= 0) slowest = std::max(slowest, at + setup), late += std::max(0.0f, at + setup - target_);
      }
    if (fresh_) target_ = std::max(target_, slowest / 2);
    for (size_t i = order_.size(); i-- > 0;) weigh(static_cast<size_t>(order_[i]));
    fresh_ = false;
  }

 private:
  static constexpr float never = -1e9f;
  const Netlist &net_;
  const Placement &placement_;
  float target_;
  std::vector<float> arrives_, needs_;
  Lists wiresOf_;
  std::vector<int> order_;
  bool fresh_ = true;

  static float far(const std::array<float, 19> &ns, size_t tiles, float more) {
    return tiles < ns.size() ? ns[tiles] : ns.back() + static_cast<float>(tiles - ns.size() + 1) * more;
  }
  static Lists of(const Netlist &net) {
    std::vector<std::vector<int>> wires(net.outputs.size());
    for (size_t w = 0; w < net.wires.size(); ++w) wires[static_cast<size_t>(net.wires[w].output)].push_back(static_cast<int>(w));
    return Lists(wires);
  }
  struct Arcs {
    const Arc *first, *end_;
    const Arc *begin() const { return first; }
    const Arc *end() const { return end_; }
  };
  Arcs arcs(int wire) const {
    const Wire &w = net_.wires[static_cast<size_t>(wire)];
    return {net_.arcs.data() + w.first, net_.arcs.data() + w.last};
  }
  /// The wires of an output, and by when it has to be known.
  void weigh(size_t output) {
    float need = -never;
    for (int wire : wiresOf_[output]) {
      const size_t w = static_cast<size_t>(wire);
      const float setup = net_.wires[w].setup;
      float by = setup >= 0 ? slowest - setup : -never;
      for (const Arc &a : arcs(wire)) by = std::min(by, needs_[static_cast<size_t>(a.output)] - a.ns);
      const bool counts = arrives_[output] >= 0 && by < -never / 2;
      path[w] = counts ? slowest - (by - ns[w] - arrives_[output]) : 0;
      const double now = std::pow(std::clamp<double>(path[w] / target_, 0.0, steepest), exponent);
      weight[w] = static_cast<float>(fresh_ ? now : inertia * weight[w] + (1 - inertia) * now);
      limit[w] = counts ? ns[w] + std::max(spare, shareOfSlack * (target_ - path[w])) : -never;
      need = std::min(need, by - ns[w]);
    }
    needs_[output] = need;
  }
};

class Annealer {
 public:
  Annealer(const Netlist &net, float target, uint64_t seed)
      : net_(net), placement_(net), timing_(net, placement_, target), random_(seed), wiresOf_(wiresOfCells(net)), pins_(pinsOfNets(net)), netsOf_(netsOfCells(net)), boxes_(net.outputs.size()), trial_(net.outputs.size()), whole_(net.outputs.size()),
        seenWire_(net.wires.size()), seenNet_(net.outputs.size()), found_(net.members.size()) {
    for (size_t i = 0; i < net.members.size(); ++i)
      if (!net.members[i].empty()) movable_.push_back(static_cast<int>(i));
    for (size_t n = 0; n < boxes_.size(); ++n) boxes_[n] = box(n);
  }

  std::vector<Spot> run(int passes) {
    const double cool = std::pow(coldest / hottest, 1.0 / passes), shrink = std::pow(nearest / farthest, 1.5 / passes);
    reach_ = farthest, temperature_ = hottest / static_cast<double>(net_.outputs.size());
    double best = 0;
    std::vector<Spot> kept;
    for (int pass = 0; pass <= passes; ++pass) {
      timing_.update();
      double delay = 0, length = 0;
      for (size_t w = 0; w < net_.wires.size(); ++w) delay += timing_.weight[w] * timing_.ns[w];
      for (const Box &b : boxes_) length += b.length();
      if (const double cost = timing_.slowest * paths + timing_.late; kept.empty() || cost < best) best = cost, kept = placement_.spots;
      if (pass % (passes / 20 + 1) == 0 || pass == passes)
        std::printf("pass %d: slowest %.2f ns, %.0f ns above the target in all, wires %.0f tiles\n", pass, timing_.slowest, timing_.late, length), std::fflush(stdout);
      findUrgent();
      perDelay_ = delay > 0 ? shareOfDelay / delay : 0, perTile_ = length > 0 ? (1 - shareOfDelay) / length : 0;
      for (size_t n = pass < passes ? movesOfCluster * movable_.size() : 0; n > 0; --n) move();
      temperature_ *= cool, reach_ = std::max(nearest, reach_ * shrink);
    }
    placement_.reset(kept);  // also looks whether it is legal
    timing_.update();
    return kept;
  }
  /// Of each wire, the slowest path through it in the placement that `run` has found, ns.
  const std::vector<float> &slowestPaths() const { return timing_.path; }

 private:
  static constexpr double paths = 2000;  ///< that the slowest one counts for
  const Netlist &net_;
  Placement placement_;
  Timing timing_;
  Random random_;
  Lists wiresOf_, pins_, netsOf_;
  std::vector<Box> boxes_, trial_;
  std::vector<char> whole_;
  std::vector<int> seenWire_, seenNet_, found_, movable_, moved_, clusters_, wires_, nets_;
  std::vector<float> delays_;
  std::vector<int> urgent_;      ///< wires
  std::vector<double> urgency_;  ///< of them, each with all before it
  std::vector<Spot> from_, to_, before_;
  int stamp_ = 0;
  double reach_ = 0, temperature_ = 0, perDelay_ = 0, perTile_ = 0;

  static Lists wiresOfCells(const Netlist &net) {
    std::vector<std::vector<int>> wires(net.cells.size());
    for (size_t w = 0; w < net.wires.size(); ++w) {
      if (net.wires[w].always >= 0) continue;
      wires[static_cast<size_t>(net.wires[w].to)].push_back(static_cast<int>(w));
      if (net.wires[w].from != net.wires[w].to) wires[static_cast<size_t>(net.wires[w].from)].push_back(static_cast<int>(w));
    }
    return Lists(wires);
  }
  static std::vector<std::vector<int>> pinLists(const Netlist &net) {
    std::vector<std::vector<int>> pins(net.outputs.size());
    for (const Wire &w : net.wires) pins[static_cast<size_t>(w.output)].push_back(w.to);
    for (size_t n = 0; n < pins.size(); ++n) {
      if (!pins[n].empty()) pins[n].push_back(net.outputs[n].cell);
      std::sort(pins[n].begin(), pins[n].end());
      pins[n].erase(std::unique(pins[n].begin(), pins[n].end()), pins[n].end());
      if (pins[n].size() < 2 || pins[n].size() > longestList) pins[n].clear();
    }
    return pins;
  }
  static Lists pinsOfNets(const Netlist &net) { return Lists(pinLists(net)); }
  static Lists netsOfCells(const Netlist &net) {
    std::vector<std::vector<int>> nets(net.cells.size());
    const auto pins = pinLists(net);
    for (size_t n = 0; n < pins.size(); ++n)
      for (int cell : pins[n]) nets[static_cast<size_t>(cell)].push_back(static_cast<int>(n));
    return Lists(nets);
  }

  Spot spot(int cell) const { return placement_.spots[static_cast<size_t>(cell)]; }
  Box box(size_t output) const {
    const auto pins = pins_[output];
    if (pins.size() == 0) return {0, 0, 0, 0};
    const Spot s = spot(pins[0]);
    Box b{s.x, s.x, s.y, s.y};
    for (int cell : pins) b.extend(spot(cell));
    return b;
  }

  /// Wires are aimed at by their weights and by what they take.
  void findUrgent() {
    urgent_.clear(), urgency_.clear();
    double sum = 0;
    for (size_t w = 0; w < net_.wires.size(); ++w)
      if (net_.wires[w].always < 0 && timing_.weight[w] >= urgent && timing_.ns[w] > shortest)
        urgent_.push_back(static_cast<int>(w)), urgency_.push_back(sum += timing_.weight[w] * (timing_.ns[w] - shortest));
  }

  /// A cell at one end of such a wire, and where it would go: to the middle of all its cluster's wires by their weights, or along that one. -1: it cannot move.
  int aim(Spot &target) {
    const size_t i = static_cast<size_t>(std::upper_bound(urgency_.begin(), urgency_.end(), random_.unit() * urgency_.back()) - urgency_.begin());
    const Wire &wire = net_.wires[static_cast<size_t>(urgent_[std::min(i, urgent_.size() - 1)])];
    const bool back = random_.next() >> 63;
    const int cell = back ? wire.to : wire.from;
    if (net_.cells[static_cast<size_t>(cell)].kind == fixedCell) return -1;
    const Spot here = spot(cell), other = spot(back ? wire.from : wire.to);
    const int cluster = net_.cells[static_cast<size_t>(cell)].cluster;
    double x = 0, y = 0, weight = 0;
    if (random_.next() >> 63) {
      for (int one : net_.members[static_cast<size_t>(cluster)])
        for (int w : wiresOf_[static_cast<size_t>(one)]) {
          const Wire &its = net_.wires[static_cast<size_t>(w)];
          const Spot end = spot(its.to == one ? its.from : its.to);
          const double weighs = timing_.weight[static_cast<size_t>(w)];
          x += weighs * end.x, y += weighs * end.y, weight += weighs;
        }
      x /= weight, y /= weight;
    } else {
      const double part = random_.unit();
      x = here.x + part * (other.x - here.x), y = here.y + part * (other.y - here.y);
    }
    const Spot first = spot(net_.members[static_cast<size_t>(cluster)][0]);
    target = {static_cast<int16_t>(first.x + std::lround(x - here.x)), static_cast<int16_t>(first.y + std::lround(y - here.y)), 0};
    return cluster;
  }

  void move() {
    Spot target{};
    const bool aims = !urgent_.empty() && random_.unit() < aimed;
    const int cluster = aims ? aim(target) : movable_[static_cast<size_t>(random_.below(movable_.size()))];
    if (cluster < 0) return;
    const std::vector<int> &ones = net_.members[static_cast<size_t>(cluster)];
    const Form form = placement_.form(cluster);
    const bool tile = form == wide ? random_.unit() < ofWide : !aims && random_.unit() < ofTiles;
    if (!choose(ones, form, tile, aims, target) || !regions(ones, form, tile, target) || !contents(form, tile)) return;
    placement_.swap(from_, to_);
    if ((!tile && !(legal(from_) && legal(to_))) || !accepted()) placement_.swap(from_, to_);
  }

  /// A place for the cluster's first cell; about the target, if the move aims at one.
  bool choose(const std::vector<int> &ones, Form form, bool tile, bool aims, Spot &target) {
    const Spot aimedAt = target;
    const Spot here = spot(ones[0]);
    const int reach = std::max(1, static_cast<int>(reach_));
    int register_ = -1;
    if (!tile && form != wide)
      for (int cell : ones)
        if (net_.cells[static_cast<size_t>(cell)].kind == flipFlop) register_ = cell;
    for (int attempt = register_ >= 0 ? 6 : 2; attempt > 0; --attempt) {
      int x = here.x + random_.within(reach), y = here.y + random_.within(reach);
      if (aims) {
        x = aimedAt.x + random_.within(about), y = aimedAt.y + random_.within(about);
      } else if (random_.unit() < towards) {
        const int cell = ones[static_cast<size_t>(random_.below(ones.size()))];
        const auto wires = wiresOf_[static_cast<size_t>(cell)];
        if (wires.size() == 0) continue;
        const Wire &w = net_.wires[static_cast<size_t>(wires[static_cast<size_t>(random_.below(wires.size()))])];
        const Spot other = spot(w.to == cell ? w.from : w.to);
        x = other.x + random_.within(about), y = other.y + random_.within(about);
        if (const double part = random_.unit(); std::abs(x - here.x) > reach || std::abs(y - here.y) > reach)
          x = here.x + static_cast<int>((x - here.x) * part), y = here.y + static_cast<int>((y - here.y) * part);
      }
      if (!placement_.hasSlices(x, y)) continue;
      target = {static_cast<int16_t>(x), static_cast<int16_t>(y), static_cast<int16_t>(random_.below(places))};
      if (register_ < 0 || placement_.takes(target, register_, form == half)) return true;
    }
    return false;
  }

  /// The places that change with those of the target.
  bool regions(const std::vector<int> &ones, Form form, bool tile, Spot target) {
    const Spot here = spot(ones[0]);
    from_.clear(), to_.clear();
    const auto add = [&](Spot a, int za, int zb, int dx, int dy) {
      from_.push_back({a.x, a.y, static_cast<int16_t>(za)});
      to_.push_back({static_cast<int16_t>(a.x + dx), static_cast<int16_t>(a.y + dy), static_cast<int16_t>(zb)});
    };
    const int dx = target.x - here.x, dy = target.y - here.y;
    if ((form == wide || tile) && dx == 0 && dy == 0) return false;
    if (tile) {
      for (int cell : ones) {
        const Spot s = spot(cell), first{s.x, s.y, 0};
        if (std::find(from_.begin(), from_.end(), first) != from_.end()) continue;
        if (!placement_.hasSlices(s.x + dx, s.y + dy)) return false;
        for (int z = 0; z < places; ++z) add(s, z, z, dx, dy);
      }
    } else if (form == half) {
      add(here, here.z, target.z, dx, dy);
    } else if (form == slice) {
      for (int l = 0; l < 2; ++l) add(here, (here.z & ~1) + l, (target.z & ~1) + l, dx, dy);
    } else {
      for (int cell : ones) {
        const Spot s = spot(cell), even{s.x, s.y, static_cast<int16_t>(s.z & ~1)};
        if (std::find(from_.rbegin(), from_.rend(), even) != from_.rend()) continue;
        if (!placement_.hasSlices(s.x + dx, s.y + dy)) return false;
        for (int l = 0; l < 2; ++l) add(s, even.z + l, even.z + l, dx, dy);
      }
    }
    if (form == wide && dy == 0)
      for (Spot s : to_)
        if (std::find(from_.begin(), from_.end(), s) != from_.end()) return false;
    return !(from_[0] == to_[0]);
  }

  /// The cells that move: clusters as a whole, none of them wider than what is moved.
  bool contents(Form form, bool tile) {
    moved_.clear(), before_.clear();
    return contents(from_, form, tile) && contents(to_, form, tile);
  }
  bool contents(const std::vector<Spot> &spots, Form form, bool tile) {
    clusters_.clear();
    for (Spot s : spots)
      for (int kind = 0; kind < kinds; ++kind)
        if (const int cell = placement_.at(s, kind); cell >= 0) {
          moved_.push_back(cell), before_.push_back(s);
          const int cluster = net_.cells[static_cast<size_t>(cell)].cluster;
          if (found_[static_cast<size_t>(cluster)]++ == 0) clusters_.push_back(cluster);
        }
    bool ok = true;
    for (int cluster : clusters_) {
      const size_t c = static_cast<size_t>(cluster);
      ok &= found_[c] == static_cast<int>(net_.members[c].size()) && (tile || placement_.form(cluster) <= form);
      found_[c] = 0;
    }
    return ok;
  }

  bool legal(const std::vector<Spot> &spots) const {
    int last = -1;
    for (Spot s : spots) {
      if (s.tile() != last && !placement_.legal(s.tile())) return false;
      last = s.tile();
    }
    return true;
  }

  float over(size_t wire, float ns) const { return std::max(0.0f, ns - timing_.limit[wire]); }

  /// What has been moved stays: it costs less, or by chance.
  bool accepted() {
    ++stamp_;
    wires_.clear(), delays_.clear(), nets_.clear();
    double more = 0, longer = 0;
    for (size_t i = 0; i < moved_.size(); ++i) {
      const size_t cell = static_cast<size_t>(moved_[i]);
      for (int wire : wiresOf_[cell]) {
        const size_t w = static_cast<size_t>(wire);
        if (seenWire_[w] == stamp_) continue;
        seenWire_[w] = stamp_;
        const float ns = timing_.delay(wire);
        if (ns == timing_.ns[w]) continue;
        wires_.push_back(wire), delays_.push_back(ns);
        more += timing_.weight[w] * (ns - timing_.ns[w]) + beyond * (over(w, ns) - over(w, timing_.ns[w]));
      }
      for (int net : netsOf_[cell]) {
        const size_t n = static_cast<size_t>(net);
        if (seenNet_[n] != stamp_) seenNet_[n] = stamp_, trial_[n] = boxes_[n], whole_[n] = 0, nets_.push_back(net);
        if (boxes_[n].touches(before_[i])) whole_[n] = 1;
        trial_[n].extend(placement_.spots[cell]);
      }
    }
    for (int net : nets_) {
      const size_t n = static_cast<size_t>(net);
      if (whole_[n]) trial_[n] = box(n);
      longer += trial_[n].length() - boxes_[n].length();
    }
    const double worse = more * perDelay_ + longer * perTile_;
    if (worse > 0 && random_.unit() >= std::exp(-worse / temperature_)) return false;
    for (size_t i = 0; i < wires_.size(); ++i) timing_.ns[static_cast<size_t>(wires_[i])] = delays_[i];
    for (int net : nets_) boxes_[static_cast<size_t>(net)] = trial_[static_cast<size_t>(net)];
    return true;
  }
};

}  // namespace

int main(int argc, char **argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: refine IN OUT TARGET_NS PASSES SEED\n");
    return 2;
  }
  try {
    const Netlist net(argv[1]);
    Annealer annealer(net, std::stof(argv[3]), std::stoull(argv[5]));
    std::ofstream out(argv[2]);
    for (const Spot &s : annealer.run(std::stoi(argv[4]))) out << s.x << ' ' << s.y << ' ' << s.z << '\n';
    for (float ns : annealer.slowestPaths()) out << ns << '\n';
    if (!out.flush()) throw std::runtime_error(std::string("cannot write ") + argv[2]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "refine: %s\n", error.what());
    return 1;
  }
}
