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

/// How a statement sees the call's events. Trusting: in place, and all of their payloads are taken for JSON.
enum class Sight { none, in_place, trusting, sent };

/// A handler's statement as the server knows it.
struct PreparedSql {
  std::string name;
  SentText sent;
  std::vector<Oid> types;  ///< of the handler's own parameters
  ResultShape shape;
  bool lingers = false;           ///< what it does is met by other calls of the transaction
  std::uint64_t used = 0;         ///< when it was used last, by a count
  std::uint64_t transaction = 0;  ///< in which it was prepared
  int runs = 0;                   ///< that went well
  int clean = 0;                  ///< how often the session was looked at after it and was clean
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

  void add(const Key& key, PreparedSql statement) {
    if (known_.size() >= limit) {
      auto oldest = known_.begin();
      for (auto at = known_.begin(); at != known_.end(); ++at) {
        if (at->second.used < oldest->second.used) oldest = at;
      }
      erase(oldest->first);
    }
    statement.used = ++clock_;
    known_[key] = std::move(statement);
  }
  void erase(const Key& key) {
    const auto at = known_.find(key);
    disown(at->second.name);
    known_.erase(at);
  }
  /// The session has a statement of this name that nobody will use.
  void disown(std::string name) { disowned_.push_back(std::move(name)); }

  /// What the session has and nobody uses: to be deallocated by the caller, now.
  std::vector<std::string> take_disowned() { return std::exchange(disowned_, {}); }
  /// All that the session has.
  std::vector<std::string> names() const {
    std::vector<std::string> names = disowned_;
    for (const auto& [key, statement] : known_) names.push_back(statement.name);
    return names;
  }
  /// The session has nothing any more.
  void clear() {
    known_.clear();
    disowned_.clear();
  }

 private:
  std::map<Key, PreparedSql> known_;
  std::vector<std::string> disowned_;
  std::string prefix_ = "handler_";
  std::uint64_t clock_ = 0;
  std::uint64_t names_ = 0;
};

}  // namespace inboxd::inbox
