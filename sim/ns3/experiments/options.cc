#include "options.h"

#include "../weir/sources.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

namespace weirsim {

namespace {

/// The shortest decimal that reads as that number, without an exponent: ns-3's attributes know none.
std::string plain(double value) {
  char text[400];
  return {text, std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr};
}

std::string join(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &w : words) text += (text.empty() ? "" : ", ") + w;
  return text;
}

}  // namespace

std::string jsonNumber(double value) {
  if (!std::isfinite(value)) return "null";
  char text[40];
  std::snprintf(text, sizeof text, "%.12g", value);
  return text;
}

std::string jsonText(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

void Options::number(const std::string &name, double value, double least, double most, const std::string &help) {
  options_.push_back({name, jsonNumber(value), help, true, false, least, most, {}});
}

void Options::integer(const std::string &name, double value, double least, double most, const std::string &help) {
  options_.push_back({name, jsonNumber(value), help, true, true, least, most, {}});
}

void Options::text(const std::string &name, const std::string &value, const std::vector<std::string> &choices,
                   const std::string &help) {
  options_.push_back({name, value, help, false, false, 0, 0, choices});
}

Options::Option *Options::find(const std::string &name) {
  for (Option &o : options_)
    if (o.name == name) return &o;
  return nullptr;
}

const Options::Option &Options::at(const std::string &name) const {
  for (const Option &o : options_)
    if (o.name == name) return o;
  throw std::logic_error("no option " + name);
}

void Options::set(Option &o, const std::string &value) const {
  if (o.given) refuse("--" + o.name + " is given twice");
  o.value = value, o.given = true;
  if (o.numeric) {
    char *end = nullptr;
    const double v = std::strtod(value.c_str(), &end);
    if (value.empty() || *end || !std::isfinite(v)) refuse("--" + o.name + " must be a number, not '" + value + "'");
    if (v < o.least || v > o.most)
      refuse("--" + o.name + "=" + value + " must be " + jsonNumber(o.least) + " to " + jsonNumber(o.most));
    if (o.whole && v != std::floor(v)) refuse("--" + o.name + "=" + value + " must be a whole number");
    o.value = plain(v);
  } else if (!o.choices.empty()) {
    bool known = false;
    for (const std::string &c : o.choices) known |= c == value;
    if (!known) refuse("--" + o.name + " must be one of " + join(o.choices) + ", not '" + value + "'");
  }
}

void Options::parse(int count, char **words) {
  for (int i = 1; i < count; ++i) {
    std::string word = words[i];
    if (word == "--help") help();
    if (word == "--version") version();
    if (word.rfind("--", 0) != 0) refuse("'" + word + "' is not a parameter; see --help");
    const size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    Option *o = find(name);
    if (!o) refuse("unknown parameter --" + name + "; see --help");
    if (equals == std::string::npos && i + 1 >= count) refuse("--" + name + " needs a value");
    set(*o, equals == std::string::npos ? words[++i] : word.substr(equals + 1));
  }
}

double Options::number(const std::string &name) const { return std::strtod(at(name).value.c_str(), nullptr); }
uint64_t Options::whole(const std::string &name) const { return static_cast<uint64_t>(std::llround(number(name))); }
const std::string &Options::text(const std::string &name) const { return at(name).value; }

std::string Options::json() const {
  std::string out = "{";
  for (const Option &o : options_) {
    if (o.name == "out") continue;
    out += (out.size() > 1 ? ", " : "") + jsonText(o.name) + ": " +
           (o.numeric ? jsonNumber(std::strtod(o.value.c_str(), nullptr)) : jsonText(o.value));
  }
  return out + "}";
}

void Options::only(const std::string &name, bool applies, const std::string &what) const {
  if (!applies && at(name).given) refuse("--" + name + " is of " + what + " only");
}

void Options::refuse(const std::string &why) const {
  std::fprintf(stderr, "%s: %s\n", program_.c_str(), why.c_str());
  std::exit(2);
}

void Options::version() const {
  std::printf("%s\n", librarySources().c_str());
  std::exit(0);
}

void Options::help() const {
  std::printf("%s: %s\n", program_.c_str(), about_.c_str());
  for (const Option &o : options_)
    std::printf("  --%-16s %s%s%s (%s)\n", o.name.c_str(), o.help.c_str(), o.choices.empty() ? "" : ": ",
                join(o.choices).c_str(), o.value.c_str());
  std::exit(0);
}

}  // namespace weirsim
