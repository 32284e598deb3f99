#pragma once
#include <functional>
#include <string>
#include <vector>

#include "integration/support/inbox.hpp"
#include "statements.hpp"

/// The statements that change deliveries, sequences, lanes and dead letters, and a state of the database in which each
/// of them has work.
namespace inboxd::support::writers {

/// The statements of a transaction.
struct Step {
  std::string sql;
  Session::Parameters parameters = {};
};
using Steps = std::vector<Step>;

struct Writer {
  std::string name;
  std::function<Steps(int place)> steps;  ///< place 0 or 1: of which shard
  bool is_of_owner = false;               ///< on leased rows of its own: no two at once on the same rows
  bool drops_events = false;              ///< on purpose
  bool needs_ended_leases = false;        ///< of the sequences, or of the relay
  bool of_events = true;                  ///< locks rows of deliveries, events and handlers
  bool of_messages = false;               ///< locks rows of the outbox
};

/// A sequential handler with two shards. Each place p has rows 100 * p + 1 to 7: two leased runs, a waiting run, a
/// blocked lane (head, then another row), and a lane with a leased head, then another row. They are stored in
/// descending order, so that no plan finds them in the order of their ids. Dead letters of each place: one parks a key,
/// the second is parked by it, and the third is in no lane. A running back-fill of the handler has yet to deliver
/// offsets 18 and 19. A handler without order has two leased rows and a due row. The outbox has messages 100 * p + 1
/// and 2 of each place to send, and 11 and 12 in a stopped lane; the relay's lease is the owner's.
class State {
 public:
  State();
  void reset(bool with_ended_leases);
  /// Why no crash or commit may leave this state; empty: it is right.
  std::string complaint();
  std::vector<Writer> writers();
  /// Statements that lock a row that several writers want.
  std::vector<std::string> wanted_rows() const;
  /// Removes the dead rows of many resets.
  void vacuum();

  Inbox& inbox() { return inbox_; }
  Database& database() { return inbox_.database(); }
  std::string shard(int place) const { return std::to_string(shards_.at(static_cast<std::size_t>(place))); }

 private:
  std::vector<Writer> settling();
  std::vector<Writer> claiming();
  std::vector<Writer> operating();
  std::vector<Writer> registering();
  std::vector<Writer> storing();  // storing_writers.cpp
  std::vector<Writer> sending();  // sending_writers.cpp
  Step settle(const std::string& arrays) const;
  void create_functions();
  static std::string complaint_query();
  std::string reset_messages(const std::string& lease) const;

  Inbox inbox_;
  std::string handler_, single_;
  std::vector<std::int32_t> shards_;
  const std::string owner_ = inbox_.owner.text();
  const std::string other_ = base::random_uuid().text();
};

}  // namespace inboxd::support::writers
