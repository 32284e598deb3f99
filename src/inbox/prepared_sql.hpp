#pragma once
#include <libpq-fe.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "inbox/sql_rows.hpp"
#include "inbox/sql_text.hpp"

namespace inboxd::inbox {

/// How a statement sees the call's events.
enum class Sight { none, in_place, sent };

/// A handler's statement as the server knows it.
struct PreparedSql {
  std::string name;
  SentText sent;
  std::vector<Oid> types;  ///< of the handler's own parameters
  ResultShape shape;
  bool lingers = false;    ///< what it does is met by other calls of the transaction
  std::uint64_t used = 0;  ///< when it was used last, by a count
  int runs = 0;            ///< that went well
  int clean = 0;           ///< how often the session was looked at after it and was clean; less than 0: a suspect
};

/// The statements that a session knows, by their text; the ones used longest ago are forgotten. Private to this room.
class PreparedSqlCache final {
 public:
  static constexpr std::size_t limit = 256;
  using Key = std::tuple<std::string, Sight, std::size_t>;  ///< the text; how many parameters

  PreparedSql* find(const Key& key) {
    const auto at = known_.find(key);
    if (at == known_.end()) return nullptr;
    at->second.used = ++clock_;
    return &at->second;
  }

  /// A new name, for a statement that is to be prepared.
  std::string next_name() { return prefix_ + std::to_string(++names_); }
  void set_prefix(std::string prefix) { prefix_ = std::move(prefix); }

  /// Keeps a statement; the name of one that has to go for it, or empty.
  std::string add(const Key& key, PreparedSql statement) {
    std::string gone;
    if (known_.size() >= limit) {
      auto oldest = known_.begin();
      for (auto at = known_.begin(); at != known_.end(); ++at) {
        if (at->second.used < oldest->second.used) oldest = at;
      }
      gone = oldest->second.name;
      known_.erase(oldest);
    }
    statement.used = ++clock_;
    known_[key] = std::move(statement);
    return gone;
  }
  void erase(const Key& key) { known_.erase(key); }

  /// Forgets all; returns their names.
  std::vector<std::string> clear() {
    std::vector<std::string> names;
    for (const auto& [key, statement] : known_) names.push_back(statement.name);
    known_.clear();
    return names;
  }

 private:
  std::map<Key, PreparedSql> known_;
  std::string prefix_ = "handler_";
  std::uint64_t clock_ = 0;
  std::uint64_t names_ = 0;
};

}  // namespace inboxd::inbox
