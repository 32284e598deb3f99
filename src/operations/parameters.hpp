#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "event/record.hpp"

namespace inboxd::operations {

struct Parameter {
  enum class Kind {
    flag,
    text,
    texts,
    number,
    time,   ///< RFC 3339, or a duration: that long ago
    bytes,  ///< the content of a file on the command line, a string over HTTP; the audit has its size
  };
  enum class Place {
    option,  ///< --name VALUE
    word,    ///< by itself, in the order of the parameters
    optional_word,
  };
  std::string name;
  Kind kind = Kind::text;
  std::string help;
  std::string placeholder = {};  ///< the value's name in help: NAME
  Place place = Place::option;
  std::optional<std::int64_t> default_number = {};
  std::int64_t least = 0;  ///< numbers
  std::int64_t most = 0;
  bool is_hidden = false;  ///< the audit and the log do not have the value
};

/// Checked arguments. To ask for a name or kind that the operation did not declare is a bug and throws.
class Arguments {
 public:
  bool flag(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  std::optional<std::string> bytes(std::string_view name) const;
  std::optional<std::int64_t> number(std::string_view name) const;
  std::optional<event::Microseconds> time(std::string_view name) const;

  void set_flag(std::string_view name, bool value);
  void set_text(std::string_view name, std::string value);

  /// The arguments as texts, by name, for another process to read.
  const std::map<std::string, std::vector<std::string>>& given() const { return given_; }

  /// The arguments as typed, without `yes` and `dry-run`: for the audit.
  const std::string& asked() const { return asked_; }

 private:
  friend base::Result<Arguments> read_arguments(const std::vector<Parameter>& parameters,
                                                const std::map<std::string, std::vector<std::string>>& given,
                                                event::Microseconds now);
  using Value = std::variant<std::monostate, bool, std::string, std::vector<std::string>, std::int64_t>;
  template <class T>
  const T* find(std::string_view name) const;

  std::map<std::string, Value, std::less<>> values_;
  std::map<std::string, std::vector<std::string>> given_;
  std::string asked_;
};

/// Checks texts by name; a flag's value is ignored. Times ago count back from `now`. The problem has the remedy.
base::Result<Arguments> read_arguments(const std::vector<Parameter>& parameters,
                                       const std::map<std::string, std::vector<std::string>>& given,
                                       event::Microseconds now);

// Parameters that several operations share; `help` is a verb: `received`.
Parameter limit_parameter(std::int64_t default_number);
Parameter since_parameter(std::string help);
Parameter until_parameter(std::string help);
Parameter rate_parameter();
/// --key and --key-hex.
std::vector<Parameter> key_parameters();
Parameter dry_run_parameter();
Parameter yes_parameter();

}  // namespace inboxd::operations
