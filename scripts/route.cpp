// Routes a placed ECP5 design by negotiation. What it is for, and the words: route.py.
//
//   route DATABASE GRADE IN OUT TARGET_NS ENOUGH_NS ROUNDS SECONDS
//
// DATABASE is nextpnr's of the device, GRADE its number of the speed in there. No round begins after SECONDS. Paths may take TARGET_NS at first,
// and less once they do, down to ENOUGH_NS.
//
// IN, words apart by white space. A pin is a wire as nextpnr names it, X1/Y2/NAME, or a place and a port, X1/Y2/BEL:PORT.
//   how many wires are taken, slices have a rule, nets, outputs and connections there are;
//   of each taken wire its name;
//   of each rule column, row, slice 0 to 3 and the rule: which inputs of its LUTs may change places;
//   of each net its number, the pin that it begins at, how many connections it has, and of each the pin and the connection's number;
//   of each output of a cell the ns from the clock to it or -1;
//   of each connection the output, the ns that it takes where no net has it, the ns that it has to be early before the clock or -1, how many outputs of its cell follow
//   from it, and of each its number and the ns to it.
// OUT: of each connection the ns that it takes; of each net that has wires of its own alone, its number and the wires as nextpnr has them in an attribute ROUTING.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <queue>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace {

// The price of a wire is its delay times what a ns is worth to the connection, and (hop + perNs * delay) * (1 + history) * (1 + sharing * others): what it takes away from the others.
// With a hop of a few hundredths, as if delay alone were scarce, there are more wires, and of a full `ten-gig` 1 500 stay in dispute.
constexpr float hop = 0.3f, perNs = 0.1f;
// Sharing becomes dearer from round to round, slowly: at 1.3 a round a `ten-gig` had 120 wires in dispute for good, and at 1.12 none. Beyond `dearest` all would go around all.
constexpr float sharingAtFirst = 0.5f, dearer = 1.12f, dearest = 10, historyStep = 1;
// What a ns is worth: c / (1 - c) where c is `most` * (path / target)^4; of a path that is late `again` times as much as the round before, up to `mostAgain`.
constexpr float most = 0.9f, again = 1.3f, mostAgain = 10;
constexpr int exponent = 4;
constexpr float reachable = 1.05f;    ///< of the slowest path by the table of least delays: no less is wanted at first, for whoever wants what cannot be has all connections fight for it
constexpr float stricter = 0.99f;     ///< of the slowest path, once none is late: what is wanted next
constexpr float slack = 0.06f;        ///< ns beyond the least of the table, which is of the fastest inputs: a late connection that takes no more stays where it is
constexpr float eagerness = 1.1f;     ///< of the search: above 1 it looks at fewer wires and may miss the cheapest way
constexpr float precious = 5;          ///< connections to which a ns is worth more (paths of 0.98 of the target) are searched for without, and from all that their net has
constexpr int margin = 12;            ///< tiles around source and sink that a connection may take
constexpr size_t manyNodes = 150;     ///< of a net with more, only what is within `nearTiles` is begun from
constexpr int nearTiles = 8;
constexpr int patience = 12;          ///< rounds without a better one once all is legal
constexpr int reachX = 64, reachY = 50;  ///< columns and rows that the table of least delays covers; beyond, so many ns a tile:
constexpr float beyondX = 0.03f, beyondY = 0.035f;

enum Rule : char { anyInput, noInput, ofPairs };

/// nextpnr's database, as ecp5/archdefs and chipdb of 0.11 lay it out: 32-bit pointers are relative to where they are.
class Database {
 public:
  struct Slice {
    size_t at;
    uint32_t n;
  };
  struct Type {
    Slice bels, wires, pips;
  };
  struct Pip {
    uint32_t from, to;
    uint16_t delay;
    int x, y;         ///< where it is
    int fromX, fromY, toX, toY;
    int permutation;  ///< of a LUT's inputs: 0x4000 and LUT, input and wire
  };
  int width, height;
  std::vector<int> type;        ///< of tiles
  std::vector<uint32_t> first;  ///< of tiles: the number of the first wire
  std::vector<float> base, perLoad;  ///< ns of pips by their class

  Database(const char *path, size_t grade) {
    std::ifstream in(path, std::ios::binary);
    bytes_.assign(std::istreambuf_iterator<char>(in), {});
    if (bytes_.size() < 100) throw std::runtime_error(std::string("no database in ") + path);
    const size_t root = follow(0);
    width = get<int32_t>(root), height = get<int32_t>(root + 4);
    const Slice locations = slice(root + 16), tiles = slice(root + 24), grades = slice(root + 72);
    if (width <= 0 || height <= 0 || width > 255 || height > 255 || tiles.n != static_cast<uint32_t>(width * height))
      throw std::runtime_error(std::string(path) + " is laid out otherwise than nextpnr 0.11's");
    if (grade >= grades.n) throw std::runtime_error("grade " + std::to_string(grade) + " of " + std::to_string(grades.n));
    for (uint32_t k = 0; k < locations.n; ++k) {
      const size_t at = locations.at + 24 * k;
      types_.push_back({slice(at), slice(at + 8), slice(at + 16)});
    }
    uint32_t wires = 0;
    for (uint32_t t = 0; t < tiles.n; ++t) {
      type.push_back(get<int32_t>(tiles.at + 4 * t));
      first.push_back(wires), wires += of(t).wires.n;
    }
    first.push_back(wires);
    const Slice classes = slice(grades.at + 16 * grade + 8);
    for (uint32_t c = 0; c < classes.n; ++c) {
      base.push_back(static_cast<float>(get<int32_t>(classes.at + 16 * c + 4)) / 1000);
      perLoad.push_back(static_cast<float>(get<int32_t>(classes.at + 16 * c + 12)) / 1000);
    }
  }

  uint32_t wires() const { return first.back(); }
  size_t tiles() const { return type.size(); }
  size_t types() const { return types_.size(); }
  size_t tile(int x, int y) const {
    if (x < 0 || y < 0 || x >= width || y >= height) throw std::runtime_error("no tile X" + std::to_string(x) + "/Y" + std::to_string(y));
    return static_cast<size_t>(y * width + x);
  }
  const Type &of(size_t tile) const { return types_[static_cast<size_t>(type[tile])]; }
  const Type &typeNumber(size_t number) const { return types_[number]; }
  std::string wireName(const Type &type, uint32_t index) const { return text(type.wires.at + 32 * index); }

  /// What leads on from a wire.
  void down(size_t tile, uint32_t index, const std::function<void(const Pip &)> &take) const {
    const int x = static_cast<int>(tile) % width, y = static_cast<int>(tile) / width;
    const Slice list = slice(of(tile).wires.at + 32 * index + 16);
    for (uint32_t p = 0; p < list.n; ++p) {
      const size_t at = list.at + 8 * p;
      Pip pip;
      pip.x = x + get<int16_t>(at), pip.y = y + get<int16_t>(at + 2);
      const size_t info = of(this->tile(pip.x, pip.y)).pips.at + 20 * static_cast<size_t>(get<int32_t>(at + 4));
      pip.from = first[tile] + index, pip.fromX = x, pip.fromY = y;
      pip.toX = pip.x + get<int16_t>(info + 4), pip.toY = pip.y + get<int16_t>(info + 6);
      pip.to = first[this->tile(pip.toX, pip.toY)] + static_cast<uint32_t>(get<int16_t>(info + 10));
      pip.delay = static_cast<uint16_t>(get<int16_t>(info + 12));
      pip.permutation = get<int16_t>(info + 16);
      take(pip);
    }
  }

  /// The wires at a bel, by tile and index; none if there is no such bel.
  std::vector<std::pair<size_t, uint32_t>> belWires(int x, int y, const std::string &name) const {
    std::vector<std::pair<size_t, uint32_t>> found;
    const Slice bels = of(tile(x, y)).bels;
    for (uint32_t b = 0; b < bels.n; ++b) {
      const size_t at = bels.at + 20 * b;
      if (text(at) != name) continue;
      const Slice pins = slice(at + 12);
      for (uint32_t p = 0; p < pins.n; ++p) {
        const size_t pin = pins.at + 16 * p;
        found.emplace_back(tile(x + get<int16_t>(pin), y + get<int16_t>(pin + 2)), static_cast<uint32_t>(get<int32_t>(pin + 4)));
      }
    }
    return found;
  }

 private:
  template <class T>
  T get(size_t at) const {
    if (at + sizeof(T) > bytes_.size()) throw std::runtime_error("the database ends before its data");
    T value;
    std::memcpy(&value, &bytes_[at], sizeof value);
    return value;
  }
  size_t follow(size_t at) const { return at + static_cast<size_t>(static_cast<int64_t>(get<int32_t>(at))); }
  Slice slice(size_t at) const { return {follow(at), get<uint32_t>(at + 4)}; }
  std::string text(size_t at) const {
    const size_t begin = follow(at);
    if (begin >= bytes_.size()) throw std::runtime_error("the database ends before its data");
    return std::string(&bytes_[begin]);
  }
  std::vector<char> bytes_;
  std::vector<Type> types_;
};

/// Names of wires in tiles, and the wires by them.
class Names {
 public:
  std::vector<std::string> all;
  explicit Names(const Database &db) : db_(db), kinds_(db.types()), indices_(db.types()) {
    std::unordered_map<std::string, uint16_t> numbers;
    for (size_t t = 0; t < db.types(); ++t)
      for (uint32_t w = 0; w < db.typeNumber(t).wires.n; ++w) {
        const std::string name = db.wireName(db.typeNumber(t), w);
        const auto [it, fresh] = numbers.emplace(name, static_cast<uint16_t>(all.size()));
        if (fresh) all.push_back(name);
        if (all.size() > UINT16_MAX) throw std::runtime_error("the device has too many names of wires");
        kinds_[t].push_back(it->second);
        indices_[t].emplace(name, w);
      }
  }
  uint16_t kind(size_t tile, uint32_t index) const { return kinds_[static_cast<size_t>(db_.type[tile])][index]; }
  const std::string &name(size_t tile, uint32_t index) const { return all[kind(tile, index)]; }

  /// The wire of a pin, as IN has them.
  uint32_t wire(const std::string &pin) const {
    int x = 0, y = 0, length = 0;
    if (std::sscanf(pin.c_str(), "X%d/Y%d/%n", &x, &y, &length) != 2 || !length) throw std::runtime_error("no pin: " + pin);
    const size_t tile = db_.tile(x, y);
    const std::string rest = pin.substr(static_cast<size_t>(length));
    const size_t colon = rest.find(':');
    if (colon == std::string::npos) {
      const auto &names = indices_[static_cast<size_t>(db_.type[tile])];
      const auto found = names.find(rest);
      if (found == names.end()) throw std::runtime_error("no wire " + pin);
      return db_.first[tile] + found->second;
    }
    for (const auto &[at, index] : db_.belWires(x, y, rest.substr(0, colon)))
      if (port(name(at, index)) == rest.substr(colon + 1)) return db_.first[at] + index;
    throw std::runtime_error("no wire at pin " + pin);
  }

 private:
  /// Of a wire's name as JADA3_EBR or G_JCLKI_DCC0: what is between.
  static std::string port(std::string name) {
    if (name.rfind("G_", 0) == 0) name.erase(0, 2);
    if (name.rfind("J", 0) == 0) name.erase(0, 1);
    return name.substr(0, name.rfind('_'));
  }
  const Database &db_;
  std::vector<std::vector<uint16_t>> kinds_;
  std::vector<std::unordered_map<std::string, uint32_t>> indices_;
};

struct Connection {
  uint32_t wire;
  int timing;
  float worth = 0, more = 1, least = 0;
  int node = -1;  ///< of its net's tree
};

struct Node {
  uint32_t wire;
  int parent;
  uint16_t delay;  ///< class of the pip from there
  uint16_t loads;
  float ns;
};

struct Net {
  long number;
  uint32_t source;
  std::vector<Connection> sinks;
  std::vector<Node> tree;  ///< parents before children
};

/// What IN has: the wires by their numbers in the database.
struct Problem {
  struct Timed {
    int output;
    float ns, setup;
    int first, last;  ///< of `arcs`
  };
  struct Arc {
    int output;
    float ns;
  };
  std::vector<char> taken, rules;  ///< rules: four a tile
  std::vector<Net> nets;
  std::vector<float> starts;
  std::vector<Timed> timed;
  std::vector<Arc> arcs;

  Problem(const char *path, const Database &db, const Names &names) : taken(db.wires()), rules(4 * db.tiles(), anyInput) {
    std::ifstream in(path);
    size_t takenWires, ruled, netCount, outputs, connections;
    in >> takenWires >> ruled >> netCount >> outputs >> connections;
    if (!in) throw std::runtime_error(std::string("no numbers in ") + path);
    std::string pin;
    for (; takenWires > 0 && in >> pin; --takenWires) taken[names.wire(pin)] = 1;
    for (; ruled > 0 && in; --ruled) {
      int x, y, slice, rule;
      in >> x >> y >> slice >> rule;
      if (!in) break;
      if (slice < 0 || slice > 3 || rule < anyInput || rule > ofPairs) throw std::runtime_error("no rule: " + std::to_string(rule) + " of slice " + std::to_string(slice));
      rules[4 * db.tile(x, y) + static_cast<size_t>(slice)] = static_cast<char>(rule);
    }
    nets.resize(netCount);
    for (Net &net : nets) {
      size_t count = 0;
      if (in >> net.number >> pin >> count) net.source = names.wire(pin), net.sinks.resize(count);
      for (Connection &sink : net.sinks)
        if (in >> pin >> sink.timing) sink.wire = names.wire(pin);
    }
    starts.resize(outputs), timed.resize(connections);
    for (float &start : starts) in >> start;
    for (Timed &t : timed) {
      int count = 0;
      in >> t.output >> t.ns >> t.setup >> count;
      t.first = static_cast<int>(arcs.size());
      for (Arc arc; count > 0 && in >> arc.output >> arc.ns; --count) arcs.push_back(arc);
      t.last = static_cast<int>(arcs.size());
    }
    if (!in) throw std::runtime_error(std::string(path) + " ends before its numbers");
    for (const Timed &t : timed) below(t.output, outputs, "output");
    for (const Arc &arc : arcs) below(arc.output, outputs, "output");
    for (const Net &net : nets)
      for (const Connection &sink : net.sinks) below(sink.timing, connections, "connection");
    for (const Net &net : nets) {
      taken[net.source] = 0;
      for (const Connection &sink : net.sinks) taken[sink.wire] = 0;
    }
  }

 private:
  static void below(int number, size_t count, const char *what) {
    if (number < 0 || static_cast<size_t>(number) >= count) throw std::runtime_error("no " + std::string(what) + " " + std::to_string(number) + " of " + std::to_string(count));
  }
};

/// Arrival and what is left, of all connections.
class Timing {
 public:
  std::vector<float> ns, path;  ///< of connections: what they take, and the slowest path through them
  float slowest = 0;

  explicit Timing(const Problem &problem)
      : ns(problem.timed.size()), path(problem.timed.size()), problem_(problem), from_(problem.starts.size()), at_(from_.size()), need_(from_.size()) {
    std::vector<int> missing(from_.size()), ready;
    for (size_t i = 0; i < ns.size(); ++i) {
      ns[i] = std::max(0.0f, problem.timed[i].ns);
      from_[static_cast<size_t>(problem.timed[i].output)].push_back(i);
    }
    for (const auto &arc : problem.arcs) ++missing[static_cast<size_t>(arc.output)];
    for (size_t o = 0; o < from_.size(); ++o)
      if (!missing[o]) ready.push_back(static_cast<int>(o));
    while (!ready.empty()) {
      const size_t o = static_cast<size_t>(ready.back());
      ready.pop_back(), order_.push_back(o);
      for (size_t i : from_[o])
        for (int a = problem.timed[i].first; a < problem.timed[i].last; ++a)
          if (const int to = arc(a).output; !--missing[static_cast<size_t>(to)]) ready.push_back(to);
    }
    if (order_.size() < from_.size()) throw std::runtime_error("the design has a loop without a register");
  }

  void update() {
    for (size_t o = 0; o < at_.size(); ++o) at_[o] = problem_.starts[o] >= 0 ? problem_.starts[o] : -never;
    slowest = 0;
    for (size_t o : order_)
      for (size_t i : from_[o]) {
        const auto &t = problem_.timed[i];
        const float arrives = at_[o] + ns[i];
        for (int a = t.first; a < t.last; ++a) {
          float &next = at_[static_cast<size_t>(arc(a).output)];
          next = std::max(next, arrives + arc(a).ns);
        }
        if (t.setup >= 0) slowest = std::max(slowest, arrives + t.setup);
      }
    for (size_t k = order_.size(); k-- > 0;) {
      const size_t o = order_[k];
      need_[o] = never;
      for (size_t i : from_[o]) {
        const auto &t = problem_.timed[i];
        float by = t.setup >= 0 ? slowest - t.setup : never;
        for (int a = t.first; a < t.last; ++a) by = std::min(by, need_[static_cast<size_t>(arc(a).output)] - arc(a).ns);
        path[i] = at_[o] >= 0 && by < never / 2 ? slowest - (by - ns[i] - at_[o]) : 0;
        need_[o] = std::min(need_[o], by - ns[i]);
      }
    }
  }

 private:
  static constexpr float never = 1e6f;
  const Problem::Arc &arc(int a) const { return problem_.arcs[static_cast<size_t>(a)]; }
  const Problem &problem_;
  std::vector<std::vector<size_t>> from_;
  std::vector<size_t> order_;
  std::vector<float> at_, need_;
};

/// Wires and what leads from one to the next, without what is taken and what a LUT's rule forbids.
class Fabric {
 public:
  struct Wire {
    float price, ns, history;
    uint32_t search, from;  ///< the last search that came here, and from where
    uint16_t delay, kind;
    uint16_t used;
    uint8_t x, y;
  };
  std::vector<Wire> wires;
  std::vector<uint32_t> begin, pips;
  std::vector<float> base, perLoad, withOne;  ///< ns of classes of pips; the last with one load

  Fabric(const Database &db, const Names &names, const Problem &problem) : wires(db.wires()), begin(db.wires() + 1) {
    const std::vector<uint16_t> classes = merge(db);
    if (db.wires() > 1u << wireBits || base.size() > 1u << (32 - wireBits)) throw std::runtime_error("the device has too many wires");
    for (size_t tile = 0; tile < db.tiles(); ++tile)
      for (uint32_t w = 0; w < db.of(tile).wires.n; ++w) {
        const uint32_t wire = db.first[tile] + w;
        begin[wire] = static_cast<uint32_t>(pips.size());
        wires[wire] = {0, 0, 0, 0, 0, 0, names.kind(tile, w), 0, static_cast<uint8_t>(static_cast<int>(tile) % db.width), static_cast<uint8_t>(static_cast<int>(tile) / db.width)};
        if (problem.taken[wire]) continue;
        db.down(tile, w, [&](const Database::Pip &pip) {
          if (!problem.taken[pip.to] && allowed(pip, problem.rules[4 * db.tile(pip.x, pip.y) + static_cast<size_t>(pip.permutation >> 5 & 3)]))
            pips.push_back(pip.to | static_cast<uint32_t>(classes[pip.delay]) << wireBits);
        });
      }
    begin[db.wires()] = static_cast<uint32_t>(pips.size());
  }
  static uint32_t to(uint32_t pip) { return pip & ((1u << wireBits) - 1); }
  static uint32_t delay(uint32_t pip) { return pip >> wireBits; }

 private:
  static constexpr int wireBits = 22;
  /// Whether a LUT's input may come over another wire than its own: as nextpnr permutes them, all, or those of a carry cell in pairs, or none of a RAM.
  static bool allowed(const Database::Pip &pip, char rule) {
    if (!(pip.permutation & 0x4000) || rule == anyInput) return true;
    return rule == ofPairs && (pip.permutation >> 3 & 1) == (pip.permutation >> 1 & 1);
  }
  /// Classes of the same delays become one, for there are more than needed. Returns of each which.
  std::vector<uint16_t> merge(const Database &db) {
    std::vector<uint16_t> classes;
    for (size_t c = 0; c < db.base.size(); ++c) {
      size_t k = 0;
      while (k < base.size() && (base[k] != db.base[c] || perLoad[k] != db.perLoad[c])) ++k;
      if (k == base.size()) base.push_back(db.base[c]), perLoad.push_back(db.perLoad[c]), withOne.push_back(db.base[c] + db.perLoad[c]);
      classes.push_back(static_cast<uint16_t>(k));
    }
    return classes;
  }
};

/// The least that any way takes to an input of a slice, by the kind of wire, and how many columns and rows away it is: from 25 tiles backwards through all the device.
class Ahead {
 public:
  Ahead(const Database &db, const Names &names, const Fabric &fabric) : table_(names.all.size() * span, {unknown, unknown}) {
    std::vector<uint32_t> begin(db.wires() + 1), from(fabric.pips.size());
    std::vector<uint16_t> delay(fabric.pips.size());
    for (uint32_t pip : fabric.pips) ++begin[Fabric::to(pip) + 1];
    for (uint32_t w = 0; w < db.wires(); ++w) begin[w + 1] += begin[w];
    std::vector<uint32_t> fill(begin.begin(), begin.end() - 1);
    for (uint32_t w = 0; w < db.wires(); ++w)
      for (uint32_t p = fabric.begin[w]; p < fabric.begin[w + 1]; ++p) {
        const uint32_t at = fill[Fabric::to(fabric.pips[p])]++;
        from[at] = w, delay[at] = static_cast<uint16_t>(Fabric::delay(fabric.pips[p]));
      }
    using Entry = std::pair<float, uint32_t>;
    std::vector<float> least(db.wires());
    for (int sample = 0; sample < 2 * samples * samples; ++sample) {
      const bool price = sample % 2;
      const int column = db.width * (2 * (sample / 2 % samples) + 1) / (2 * samples), row = db.height * (2 * (sample / 2 / samples) + 1) / (2 * samples);
      std::priority_queue<Entry, std::vector<Entry>, std::greater<Entry>> queue;
      std::fill(least.begin(), least.end(), 1e9f);
      const auto [x, y] = tileWithSlices(db, names, column, row);
      const size_t tile = db.tile(x, y);
      for (uint32_t w = 0; w < db.of(tile).wires.n; ++w)
        if (isInput(names.name(tile, w))) least[db.first[tile] + w] = 0, queue.push({0, db.first[tile] + w});
      while (!queue.empty()) {
        const auto [value, wire] = queue.top();
        queue.pop();
        if (value > least[wire]) continue;
        note(fabric.wires[wire], x, y, value, price);
        for (uint32_t p = begin[wire]; p < begin[wire + 1]; ++p) {
          const float ns = fabric.withOne[delay[p]], next = value + (price ? hop + perNs * ns : ns);
          if (next < least[from[p]]) least[from[p]] = next, queue.push({next, from[p]});
        }
      }
    }
  }

  /// From a wire to an input at a tile: ns times what one is worth, and the price without others.
  float operator()(const Fabric::Wire &wire, int x, int y, float worth) const {
    const int dx = x - wire.x, dy = y - wire.y, nearX = std::clamp(dx, -reachX, reachX), nearY = std::clamp(dy, -reachY, reachY);
    const float more = beyondX * static_cast<float>(std::abs(dx - nearX)) + beyondY * static_cast<float>(std::abs(dy - nearY));
    const Least &least = table_[wire.kind * span + index(nearX, nearY)];
    if (least.ns == unknown) return (worth + 1) * (beyondX * static_cast<float>(std::abs(nearX) + std::abs(nearY)) + more);
    return worth * (static_cast<float>(least.ns) / 1000 + more) + static_cast<float>(least.price) / 1000 + more;
  }
  /// The ns alone.
  float ns(const Fabric::Wire &wire, int x, int y) const { return (*this)(wire, x, y, 1) - (*this)(wire, x, y, 0); }

 private:
  struct Least {
    uint16_t ns, price;  ///< thousandths
  };
  static constexpr uint16_t unknown = UINT16_MAX;
  static constexpr int samples = 5;
  static constexpr size_t span = (2 * reachX + 1) * (2 * reachY + 1);
  static size_t index(int dx, int dy) { return static_cast<size_t>((dy + reachY) * (2 * reachX + 1) + dx + reachX); }
  static bool isInput(const std::string &name) {
    const size_t n = name.size();
    if (n < 8 || name.compare(n - 6, 6, "_SLICE") != 0) return false;
    const std::string port = name.substr(0, n - 7);
    return port == "A" || port == "B" || port == "C" || port == "D" || port == "M" || port == "CE" || port == "LSR" || port == "WRE";
  }
  static std::pair<int, int> tileWithSlices(const Database &db, const Names &names, int column, int row) {
    for (int away = 0; away < db.width + db.height; ++away)
      for (int y = std::max(0, row - away); y <= std::min(db.height - 1, row + away); ++y)
        for (int x : {column - (away - std::abs(y - row)), column + (away - std::abs(y - row))})
          if (x >= 0 && x < db.width)
            for (uint32_t w = 0; w < db.of(db.tile(x, y)).wires.n; ++w)
              if (isInput(names.name(db.tile(x, y), w))) return {x, y};
    throw std::runtime_error("the device has no slices");
  }
  void note(const Fabric::Wire &wire, int x, int y, float value, bool price) {
    const int dx = x - wire.x, dy = y - wire.y;
    if (std::abs(dx) > reachX || std::abs(dy) > reachY) return;
    Least &least = table_[wire.kind * span + index(dx, dy)];
    uint16_t &of = price ? least.price : least.ns;
    of = static_cast<uint16_t>(std::min<long>(of, std::lround(1000 * value)));
  }
  std::vector<Least> table_;
};

class Router {
 public:
  Router(const Database &db, const Names &names, Problem &problem, float target)
      : fabric_(db, names, problem), ahead_(db, names, fabric_), problem_(problem), timing_(problem), nodeOf_(db.wires(), -1) {
    for (Net &net : problem.nets)
      for (Connection &sink : net.sinks) {
        const auto &at = fabric_.wires[sink.wire];
        sink.least = timing_.ns[index(sink)] = ahead_.ns(fabric_.wires[net.source], at.x, at.y);
      }
    timing_.update();
    target_ = std::max(target, reachable * timing_.slowest);
    for (size_t i = 0; i < problem.nets.size(); ++i) order_.push_back(i);
    std::stable_sort(order_.begin(), order_.end(), [&](size_t a, size_t b) { return problem.nets[a].sinks.size() > problem.nets[b].sinks.size(); });
  }

  /// Rounds until no wire is shared and all paths are fast enough, or do not become faster, or time is over. Leaves the best of the legal ones, if there was one, or the last.
  void run(float enough, int rounds, double seconds) {
    const auto began = std::chrono::steady_clock::now();
    std::printf("least by the table: slowest %.2f ns; wanted: %.2f ns\n", static_cast<double>(timing_.slowest), static_cast<double>(target_));
    std::vector<std::vector<Node>> best;
    std::vector<float> bestDelays;
    float bestNs = 0;
    int since = 0;
    bool legal = false;
    for (int round = 1; round <= rounds; ++round) {
      const size_t connections = routeAll(round);
      const size_t shared = settle();
      timing_.update();
      std::printf("round %d: %zu connections, %zu wires shared, slowest %.2f ns\n", round, connections, shared, static_cast<double>(timing_.slowest));
      std::fflush(stdout);
      since += legal;
      if (!shared && (!legal || timing_.slowest < bestNs)) {
        legal = true, best.clear(), bestNs = timing_.slowest, bestDelays = timing_.ns, since = 0;
        for (const Net &net : problem_.nets) best.push_back(net.tree);
      }
      if (legal && (bestNs <= enough || since >= patience)) break;
      if (legal && bestNs <= target_) target_ = std::max(enough, stricter * bestNs);
      if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count() > seconds) break;
      sharing_ = std::min(dearest, sharing_ * dearer);
    }
    if (!legal) return;
    for (size_t i = 0; i < best.size(); ++i) problem_.nets[i].tree.swap(best[i]);
    for (auto &wire : fabric_.wires) wire.used = 0;
    for (const Net &net : problem_.nets)
      for (const Node &node : net.tree) ++fabric_.wires[node.wire].used;
    timing_.ns.swap(bestDelays);
    std::printf("legal: slowest %.2f ns\n", static_cast<double>(bestNs));
  }

  const std::vector<float> &ns() const { return timing_.ns; }
  bool alone(const Net &net) const {
    return std::all_of(net.tree.begin(), net.tree.end(), [&](const Node &n) { return fabric_.wires[n.wire].used <= 1; });
  }

 private:
  struct Entry {
    float estimate, price;
    uint32_t wire;
    bool operator<(const Entry &o) const { return estimate > o.estimate; }
  };
  static size_t index(const Connection &sink) { return static_cast<size_t>(sink.timing); }
  bool late(const Connection &sink) const { return timing_.path[index(sink)] > target_ && timing_.ns[index(sink)] > sink.least + slack; }

  size_t routeAll(int round) {
    for (Net &net : problem_.nets)
      for (Connection &sink : net.sinks) {
        const float path = timing_.path[index(sink)], c = most * std::pow(std::min(1.0f, path / target_), static_cast<float>(exponent));
        if (round > 1 && path > target_) sink.more = std::min(mostAgain, sink.more * again);
        sink.worth = c / (1 - c) * sink.more;
      }
    size_t connections = 0;
    for (size_t i : order_) {
      Net &net = problem_.nets[i];
      if (round == 1 || !alone(net) || std::any_of(net.sinks.begin(), net.sinks.end(), [&](const Connection &s) { return late(s); })) connections += route(net);
    }
    return connections;
  }

  /// What is shared becomes dearer for good. Returns how many wires that are.
  size_t settle() {
    size_t shared = 0;
    for (auto &wire : fabric_.wires)
      if (wire.used > 1) ++shared, wire.history += historyStep * static_cast<float>(wire.used - 1);
    return shared;
  }

  /// Takes away what is shared or late, and finds ways anew. Returns for how many connections.
  size_t route(Net &net) {
    cut(net);
    std::vector<Connection *> open;
    for (Connection &sink : net.sinks)
      if (sink.node < 0) open.push_back(&sink);
    std::sort(open.begin(), open.end(), [](const Connection *a, const Connection *b) { return std::make_pair(-a->worth, a->wire) < std::make_pair(-b->worth, b->wire); });
    for (Connection *sink : open) {
      if (nodeOf_[sink->wire] < 0 && !search(net, *sink, true) && !search(net, *sink, false))
        throw std::runtime_error("net " + std::to_string(net.number) + " has no way to X" + std::to_string(fabric_.wires[sink->wire].x) + "/Y" + std::to_string(fabric_.wires[sink->wire].y));
      sink->node = nodeOf_[sink->wire];
    }
    for (const Node &node : net.tree) nodeOf_[node.wire] = -1;
    measure(net);
    return open.size();
  }

  void cut(Net &net) {
    std::vector<char> kept(net.tree.size());
    for (Connection &sink : net.sinks) {
      bool stays = sink.node >= 0 && !late(sink);
      for (int n = sink.node; stays && n >= 0; n = net.tree[static_cast<size_t>(n)].parent) stays = fabric_.wires[net.tree[static_cast<size_t>(n)].wire].used <= 1;
      if (!stays) sink.node = -1;
      for (int n = sink.node; n >= 0 && !kept[static_cast<size_t>(n)]; n = net.tree[static_cast<size_t>(n)].parent) kept[static_cast<size_t>(n)] = 1;
    }
    std::vector<int> moved(net.tree.size(), -1);
    std::vector<Node> tree;
    for (size_t n = 0; n < net.tree.size(); ++n) {
      Node node = net.tree[n];
      if (!kept[n] && node.parent >= 0) {
        --fabric_.wires[node.wire].used;
        continue;
      }
      moved[n] = static_cast<int>(tree.size());
      if (node.parent >= 0) node.parent = moved[static_cast<size_t>(node.parent)];
      tree.push_back(node);
    }
    for (Connection &sink : net.sinks)
      if (sink.node >= 0) sink.node = moved[static_cast<size_t>(sink.node)];
    net.tree.swap(tree);
    if (net.tree.empty()) net.tree.push_back({net.source, -1, 0, 0, 0}), ++fabric_.wires[net.source].used;
    for (size_t n = 0; n < net.tree.size(); ++n) nodeOf_[net.tree[n].wire] = static_cast<int>(n);
  }

  /// The cheapest way (A*) from what the net has to a sink, within a margin or anywhere; false if there is none.
  bool search(Net &net, const Connection &sink, bool within) {
    auto &wires = fabric_.wires;
    const int x = wires[sink.wire].x, y = wires[sink.wire].y;
    const float worth = sink.worth, eager = worth > precious ? 1 : eagerness;
    ++search_, heap_.clear();
    const bool many = within && worth <= precious && net.tree.size() > manyNodes;
    for (size_t n = 0; n < net.tree.size(); ++n) {
      const Node &node = net.tree[n];
      Fabric::Wire &wire = wires[node.wire];
      if (many && n && (std::abs(wire.x - x) > nearTiles || std::abs(wire.y - y) > nearTiles)) continue;
      wire.search = search_, wire.ns = node.ns, wire.price = worth * node.ns;
      heap_.push_back({wire.price + eager * ahead_(wire, x, y, worth), wire.price, node.wire});
    }
    std::make_heap(heap_.begin(), heap_.end());
    const Fabric::Wire &source = wires[net.source];
    const int around = within ? margin : 255, left = std::min<int>(source.x, x) - around, right = std::max<int>(source.x, x) + around;
    const int top = std::min<int>(source.y, y) - around, bottom = std::max<int>(source.y, y) + around;
    bool found = false;
    while (!heap_.empty() && !found) {
      std::pop_heap(heap_.begin(), heap_.end());
      const Entry entry = heap_.back();
      heap_.pop_back();
      const float ns = wires[entry.wire].ns;
      if (entry.price > wires[entry.wire].price) continue;
      found = entry.wire == sink.wire;
      for (uint32_t p = fabric_.begin[entry.wire]; !found && p < fabric_.begin[entry.wire + 1]; ++p) {
        const uint32_t pip = fabric_.pips[p], to = Fabric::to(pip);
        Fabric::Wire &wire = wires[to];
        if (wire.x < left || wire.x > right || wire.y < top || wire.y > bottom) continue;
        const float takes = fabric_.withOne[Fabric::delay(pip)];
        const float price = entry.price + worth * takes + (hop + perNs * takes) * (1 + wire.history) * (1 + sharing_ * static_cast<float>(wire.used));
        if ((wire.search == search_ && wire.price <= price) || nodeOf_[to] >= 0) continue;
        wire.search = search_, wire.price = price, wire.ns = ns + takes, wire.from = entry.wire, wire.delay = static_cast<uint16_t>(Fabric::delay(pip));
        heap_.push_back({price + (to == sink.wire ? 0 : eager * ahead_(wire, x, y, worth)), price, to});
        std::push_heap(heap_.begin(), heap_.end());
      }
    }
    if (found) add(net, sink.wire);
    return found;
  }

  void add(Net &net, uint32_t wire) {
    std::vector<uint32_t> way;
    for (; nodeOf_[wire] < 0; wire = fabric_.wires[wire].from) way.push_back(wire);
    int parent = nodeOf_[wire];
    for (size_t i = way.size(); i-- > 0;) {
      Fabric::Wire &at = fabric_.wires[way[i]];
      net.tree.push_back({way[i], parent, at.delay, 0, at.ns});
      parent = nodeOf_[way[i]] = static_cast<int>(net.tree.size()) - 1;
      ++at.used;
    }
  }

  /// What the connections take: a pip's delay grows with what its wire drives.
  void measure(Net &net) {
    for (Node &node : net.tree) node.loads = 0;
    for (const Node &node : net.tree)
      if (node.parent >= 0) ++net.tree[static_cast<size_t>(node.parent)].loads;
    for (Node &node : net.tree)
      if (node.parent >= 0) {
        const Node &parent = net.tree[static_cast<size_t>(node.parent)];
        node.ns = parent.ns + fabric_.base[node.delay] + static_cast<float>(parent.loads) * fabric_.perLoad[node.delay];
      }
    for (const Connection &sink : net.sinks) timing_.ns[index(sink)] = net.tree[static_cast<size_t>(sink.node)].ns;
  }

  Fabric fabric_;
  Ahead ahead_;
  Problem &problem_;
  Timing timing_;
  float target_ = 0, sharing_ = sharingAtFirst;
  std::vector<size_t> order_;
  std::vector<int> nodeOf_;  ///< of wires: the node in the tree of the net that is routed
  uint32_t search_ = 0;
  std::vector<Entry> heap_;
};

/// A net's wires as nextpnr writes them: wire, the pip to it, strength.
std::string routing(const Database &db, const Names &names, const Net &net) {
  auto tileOf = [&](uint32_t wire) { return static_cast<size_t>(std::upper_bound(db.first.begin(), db.first.end(), wire) - db.first.begin()) - 1; };
  auto nameOf = [&](uint32_t wire) -> const std::string & { return names.name(tileOf(wire), wire - db.first[tileOf(wire)]); };
  std::string all;
  for (const Node &node : net.tree) {
    const int tile = static_cast<int>(tileOf(node.wire));
    all += (all.empty() ? "X" : ";X") + std::to_string(tile % db.width) + "/Y" + std::to_string(tile / db.width) + "/" + nameOf(node.wire) + ";";
    if (node.parent >= 0) {
      const uint32_t from = net.tree[static_cast<size_t>(node.parent)].wire;
      std::string pipName;
      db.down(tileOf(from), from - db.first[tileOf(from)], [&](const Database::Pip &pip) {
        if (pip.to == node.wire && pipName.empty())
          pipName = "X" + std::to_string(pip.x) + "/Y" + std::to_string(pip.y) + "/" + std::to_string(pip.fromX - pip.x) + "_" + std::to_string(pip.fromY - pip.y) + "_" + nameOf(from) +
                    "->" + std::to_string(pip.toX - pip.x) + "_" + std::to_string(pip.toY - pip.y) + "_" + nameOf(node.wire);
      });
      all += pipName;
    }
    all += ";1";
  }
  return all;
}

}  // namespace

int main(int argc, char **argv) {
  if (argc != 9) {
    std::fprintf(stderr, "usage: route DATABASE GRADE IN OUT TARGET_NS ENOUGH_NS ROUNDS SECONDS\n");
    return 2;
  }
  try {
    const Database db(argv[1], std::stoul(argv[2]));
    const Names names(db);
    Problem problem(argv[3], db, names);
    const float target = std::stof(argv[5]);
    const float enough = std::stof(argv[6]);
    const int rounds = std::stoi(argv[7]);
    if (!(enough > 0) || !(target >= enough) || rounds < 1) throw std::runtime_error("TARGET_NS is ENOUGH_NS or more, that more than 0, ROUNDS 1 or more");
    Router router(db, names, problem, target);
    router.run(enough, rounds, std::stod(argv[8]));
    std::ofstream out(argv[4]);
    for (float ns : router.ns()) out << ns << '\n';
    size_t shared = 0;
    for (const Net &net : problem.nets) {
      if (router.alone(net))
        out << net.number << ' ' << routing(db, names, net) << '\n';
      else
        ++shared;
    }
    if (shared) std::printf("%zu nets still share wires and are not routed\n", shared);
    if (!out.flush()) throw std::runtime_error(std::string("cannot write ") + argv[4]);
  } catch (const std::exception &error) {
    std::fprintf(stderr, "route: %s\n", error.what());
    return 1;
  }
  return 0;
}
