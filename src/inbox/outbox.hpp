#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/uuid.hpp"
#include "event/record.hpp"
#include "inbox/connection.hpp"

struct pg_result;

namespace inboxd::inbox {

struct Statement;

/// The right to send the outbox. Every function that changes something is guarded by it.
struct RelayLease {
  base::Uuid owner;
  std::int64_t fence = 0;
};

/// A published message. Views into OutboxRows.
struct OutboxRow {
  std::int64_t id = 0;
  base::Uuid message_id;
  std::string_view topic;
  event::MaybeBytes key, payload;
  std::string_view headers;  ///< packed
  event::Microseconds published_at = 0;
  bool is_behind = false;    ///< a stopped message's: it must wait
  std::optional<std::int64_t> lane;  ///< in which it waited
  bool is_alone = false;     ///< to send in a batch of its own

  /// In the producer. Headers cost it several times their size.
  std::size_t bytes() const {
    return (key ? key->size() : 0) + (payload ? payload->size() : 0) + headers.size() * 4 + topic.size();
  }
};

/// Messages as they came from the server.
class OutboxRows final {
 public:
  explicit OutboxRows(std::shared_ptr<pg_result> result) : result_{std::move(result)} {}
  int size() const;
  OutboxRow at(int row) const;

 private:
  std::shared_ptr<pg_result> result_;
};

struct IdRange {
  std::int64_t first = 0, last = 0;
  bool operator==(const IdRange&) const = default;
};

/// How much to read at once.
struct OutboxBite {
  std::int64_t rows = 0;
  std::int64_t bytes = 0;
};

/// Runs a statement that reads the rows in these ranges of ids and above `after`, in order.
std::shared_ptr<pg_result> read_ids(Connection& connection, const Statement& statement,
                                    const std::vector<IdRange>& ranges, std::int64_t after, OutboxBite bite);

/// Takes the lease if it is free. Returns the id below which no message is left; nullopt: another process has it.
std::optional<std::int64_t> take_relay(Connection& connection, const RelayLease& lease,
                                       std::chrono::milliseconds length, std::size_t message_bytes);
enum class Renewal {
  done,
  lost,    ///< another process may have the lease
  behind,  ///< messages are below the low-water mark: the database has lost commits
};
/// `checks`: look for messages below the low-water mark.
Renewal renew_relay(Connection& connection, const RelayLease& lease, std::chrono::milliseconds length,
                    std::int64_t low_water, bool checks);
void release_relay(Connection& connection, const RelayLease& lease, std::int64_t low_water);

/// Where dead letters of all handlers are published.
std::set<std::string, std::less<>> dead_letter_topics(Connection& connection);

/// The messages in these ranges and above `after`, in order of id.
OutboxRows read_outbox(Connection& connection, const std::vector<IdRange>& ranges, std::int64_t after, OutboxBite bite);
/// The transactions older than `before` that run.
std::set<std::int64_t> running_transactions(Connection& connection, std::int64_t before);
/// The messages of lanes that are due to be tried again, in order; not of lanes `in_flight`.
OutboxRows read_due_lanes(Connection& connection, const RelayLease& lease, OutboxBite bite,
                          const std::vector<std::int64_t>& in_flight);

/// A message that all replicas have.
struct SentMessage {
  std::int64_t id = 0;
  base::Uuid message_id;
  std::optional<std::int64_t> lane;  ///< in which it waited
};
/// The transaction that deleted messages, and the oldest transaction that ran then.
struct RelayTransaction {
  std::int64_t id = 0, oldest = 0;
  std::size_t deleted = 0;  ///< of messages in no lane; fewer than sent: the database has lost commits
};
/// nullopt: the lease was lost.
std::optional<RelayTransaction> delete_sent(Connection& connection, const RelayLease& lease,
                                            const std::vector<SentMessage>& messages);

/// A message that must wait.
struct SetAside {
  enum class Why {
    behind,         ///< another message of its lane waits
    refused,        ///< it stops its key
    topic_refused,  ///< it stops its topic
    suspect,        ///< it was in a refused batch: it is tried alone
  };
  std::int64_t id = 0;
  Why why = Why::behind;
  std::string error = {};                               ///< of a refused message
  std::optional<std::chrono::milliseconds> retry = {};  ///< nullopt: an operator decides
};
/// False: the lease was lost.
bool set_aside(Connection& connection, const RelayLease& lease, const std::vector<SetAside>& messages);

}  // namespace inboxd::inbox
