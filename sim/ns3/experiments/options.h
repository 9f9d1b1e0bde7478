// Parameters of an experiment: declared with a default and a line of help, set on the command line, written to the result.

#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace weirsim {

/// `--name value` or `--name=value`; `--help`, `--version`. Everything that is not declared, or is not a value of its kind, ends the program with
/// one line and code 2.
class Options {
 public:
  /// `about` is the first line of --help.
  Options(std::string program, std::string about) : program_(std::move(program)), about_(std::move(about)) {}

  void number(const std::string &name, double value, double least, double most, const std::string &help);
  /// A whole number.
  void integer(const std::string &name, double value, double least, double most, const std::string &help);
  void text(const std::string &name, const std::string &value, const std::vector<std::string> &choices,
            const std::string &help);
  void parse(int count, char **words);

  double number(const std::string &name) const;
  uint64_t whole(const std::string &name) const;
  const std::string &text(const std::string &name) const;
  /// JSON object of all values.
  std::string json() const;
  /// Ends the program if the parameter was given and nothing looks at it: it is of `what` only.
  void only(const std::string &name, bool applies, const std::string &what) const;
  /// Ends the program: one line, code 2.
  [[noreturn]] void refuse(const std::string &why) const;

 private:
  struct Option {
    std::string name, value, help;
    bool numeric, whole;
    double least, most;
    std::vector<std::string> choices;
    bool given = false;
  };
  Option *find(const std::string &name);
  const Option &at(const std::string &name) const;
  void set(Option &option, const std::string &value) const;
  [[noreturn]] void help() const;
  /// The SHA-256 of the sources, as in a result.
  [[noreturn]] void version() const;

  std::string program_, about_;
  std::vector<Option> options_;
};

/// A number that JSON knows, 12 digits; null for what is not finite.
std::string jsonNumber(double value);
std::string jsonText(const std::string &text);

}  // namespace weirsim
