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

namespace inboxd::admin {

/// Something that an operation can be told: an option or a word of the command line, later a field of a request.
struct Parameter {
  enum class Kind {
    flag,
    text,
    texts,                                     ///< may be given several times
    number,
    time,                                      ///< RFC 3339, or a duration: so long ago
  };
  enum class Place {
    option,                                    ///< --name VALUE
    word,                                      ///< stands by itself, in the order of the parameters
    optional_word,
  };
  std::string name;
  Kind kind = Kind::text;
  std::string help;
  std::string placeholder = {};                ///< how help calls the value: NAME
  Place place = Place::option;
  std::optional<std::int64_t> default_number = {};
  std::int64_t least = 0;                      ///< numbers
  std::int64_t most = 0;
};

/// What was given, checked. Asking for a name or kind that the operation did not declare is a bug and throws.
class Arguments {
 public:
  bool flag(std::string_view name) const;
  std::optional<std::string> text(std::string_view name) const;
  std::vector<std::string> texts(std::string_view name) const;
  /// With the parameter's default.
  std::optional<std::int64_t> number(std::string_view name) const;
  std::optional<event::Microseconds> time(std::string_view name) const;

  void set_flag(std::string_view name, bool value);

  /// What was given, by name, as texts: to be read again elsewhere.
  const std::map<std::string, std::vector<std::string>>& given() const { return given_; }

  /// What was given, as a person would type it, without `yes` and `dry-run`: for the audit.
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

/// Reads what was given by name; a flag is there or not, whatever its value. Times are counted from `now`. The problem
/// says what would be right.
base::Result<Arguments> read_arguments(const std::vector<Parameter>& parameters,
                                       const std::map<std::string, std::vector<std::string>>& given,
                                       event::Microseconds now);

}  // namespace inboxd::admin
