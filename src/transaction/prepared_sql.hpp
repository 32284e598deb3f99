#pragma once
#include <libpq-fe.h>

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "transaction/handler_sql.hpp"
#include "transaction/sql_rows.hpp"
#include "transaction/sql_text.hpp"

namespace inboxd::transaction {

/// How a statement reads the call's events: not at all, in the database (in_place), or sent with it. `trusting`: in the
/// database, assuming that all payloads are JSON.
enum class EventSource { none, in_place, trusting, sent };

/// A handler's statement, prepared in the session.
struct PreparedSql {
  std::string name;
  SentText sent;
  std::vector<Oid> types;  ///< of the handler's own parameters
  ResultShape shape;
  bool leaves_state = false;      ///< that later calls of the transaction would see
  bool publishes = false;         ///< it names inbox.publish: the relay is woken
  std::uint64_t used = 0;         ///< the cache's clock at its last use
  std::uint64_t transaction = 0;  ///< the transaction that prepared it
  int runs = 0;                   ///< successful runs
  int clean_checks = 0;           ///< session checks after it that found nothing
};

/// The prepared statements of a session. Evicts the least recently used.
class PreparedSqlCache final {
 public:
  static constexpr std::size_t limit = 256;
  using Key = std::tuple<std::string, EventSource, std::size_t>;  ///< text, source, number of parameters

  PreparedSql* find(const Key& key) {
    const auto at = known_.find(key);
    if (at == known_.end()) return nullptr;
    at->second.used = ++clock_;
    return &at->second;
  }

  /// A new name for the next prepared statement.
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
    discard(at->second.name);
    known_.erase(at);
  }
  /// The session has a statement of this name that is not used any more.
  void discard(std::string name) { discarded_.push_back(std::move(name)); }

  /// The discarded statements; the caller deallocates them now.
  std::vector<std::string> take_discarded() { return std::exchange(discarded_, {}); }
  /// All statements of the session.
  std::vector<std::string> names() const {
    std::vector<std::string> names = discarded_;
    for (const auto& [key, statement] : known_) names.push_back(statement.name);
    return names;
  }
  /// The session has ended.
  void clear() {
    known_.clear();
    discarded_.clear();
  }

 private:
  std::map<Key, PreparedSql> known_;
  std::vector<std::string> discarded_;
  std::string prefix_ = "handler_";
  std::uint64_t clock_ = 0;
  std::uint64_t names_ = 0;
};

inline PreparedSqlCache::Key key_of(const SqlStatement& statement, EventSource source) {
  return {std::string{statement.text}, source, statement.values.size()};
}

}  // namespace inboxd::transaction
