#pragma once
#include <functional>
#include <string>
#include <vector>

#include "integration/support/inbox.hpp"
#include "statements.hpp"

/// The statements that change deliveries, sequences, lanes and dead letters, and one state of the database in which
/// each of them has work.
namespace inboxd::support::writers {

/// The statements of one transaction.
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
  bool needs_ended_leases = false;        ///< of the sequences
};

/// A sequential handler with two shards. Each place p has rows 100 * p + 1 to 7: two leased runs, one that waits, a
/// blocked lane (head, then a row behind it), a lane with a leased head, and a row behind that. They are stored in
/// descending order, so that no plan finds them in the order of their ids. Dead letters of each place: one that parks a
/// key, one parked behind it, and one in no lane. A handler without order has two leased rows and one due.
class State {
 public:
  State();
  void reset(bool with_ended_leases);
  /// Why the state is not one that a crash or a commit may leave; empty: it is right.
  std::string complaint();
  std::vector<Writer> writers();

  Inbox& inbox() { return inbox_; }
  Database& database() { return inbox_.database(); }
  std::string shard(int place) const { return std::to_string(shards_.at(static_cast<std::size_t>(place))); }

 private:
  std::vector<Writer> settling();
  std::vector<Writer> claiming();
  std::vector<Writer> operating();
  std::vector<Writer> registering();
  Step settle(const std::string& arrays) const;

  Inbox inbox_;
  std::string handler_, single_;
  std::vector<std::int32_t> shards_;
  const std::string owner_ = inbox_.owner.text();
  const std::string other_ = base::random_uuid().text();
};

}  // namespace inboxd::support::writers
