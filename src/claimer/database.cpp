#include "claimer/database.hpp"

#include <algorithm>
#include <memory>

#include "inbox/connection.hpp"
#include "inbox/settle.hpp"

namespace inboxd::dispatcher {
namespace {

/// A question's statements. Throws.
struct Statements {
  inbox::Connection& connection;
  const base::Uuid& owner;

  Answer operator()(const RenewLeases& it) const { return inbox::renew(connection, owner, it.keys, it.lease); }
  Answer operator()(const ReleaseLeases& it) const {
    inbox::release_leases(connection, owner, it.keys);
    return std::monostate{};
  }
  Answer operator()(const ReleaseClaims& it) const {
    inbox::release_claims(connection, owner, it.handler_id, it.fences, it.since);
    return std::monostate{};
  }
  Answer operator()(const SettleSkipped& it) const {
    inbox::settle_skipped(connection, owner, it.keys);
    return std::monostate{};
  }
  Answer operator()(const RenewSequences& it) const {
    return inbox::renew_sequences(connection, owner, it.handler_id, it.keys, it.lease);
  }
  Answer operator()(const FindLostSequences& it) const {
    return inbox::find_lost_sequences(connection, owner, it.handler_id, it.keys);
  }
  Answer operator()(const ReleaseSequences& it) const {
    inbox::release_sequences(connection, owner, it.handler_id, it.keys);
    return std::monostate{};
  }

  Answer operator()(const WriteHold& it) const {
    inbox::write_hold(connection, owner, it.handler_id, it.news);
    return std::monostate{};
  }
  Answer operator()(const ReadHolds& it) const {
    return inbox::read_holds(connection, owner, it.handlers, it.may_try, it.trial);
  }

  Answer operator()(const TakeTokens& it) const {
    return inbox::take_tokens(connection, it.handler_id, it.per_second, it.wanted);
  }
  Answer operator()(const ShareCalls& it) const {
    return inbox::share_calls(connection, owner, it.handler_id, it.calls);
  }

  Answer operator()(const FindDue& it) const { return inbox::find_due(connection, it.handlers, it.not_before); }
  Answer operator()(const ReadDue& it) const {
    return inbox::read_due(connection, it.handler_id, it.from, it.asks_writers);
  }
  Answer operator()(const TakeSequences& it) const {
    return inbox::take_sequences(connection, owner, it.handler_id, it.fence, it.lease, it.wanted, it.orphans, it.order);
  }
  Answer operator()(const ReadLanes& it) const {
    return inbox::read_lanes(connection, it.handler_id, it.sequence, it.after, it.limit);
  }
  Answer operator()(const CheckLanes& it) const {
    CheckLanes::Result out;
    out.lanes = inbox::check_lanes(connection, it.handler_id, it.lanes);
    if (!it.owned.empty()) out.lost = inbox::find_lost_sequences(connection, owner, it.handler_id, it.owned);
    return out;
  }
  Answer operator()(const TurnWindow& it) const {
    return inbox::turn_window(connection, owner, it.handler_id, it.plan);
  }
  Answer operator()(const Claim& it) const {
    inbox::ClaimRequest ours = it.request;
    ours.owner = owner;
    return Claim::Result{inbox::claim(connection, ours)};
  }
  Answer operator()(const ClaimInOrder& it) const {
    inbox::ClaimInOrderRequest ours = it.request;
    ours.claim.owner = owner;
    return inbox::claim_in_order(connection, ours);
  }
};

}  // namespace

AskDatabase ask_database(const config::Database& database, base::Uuid owner, inbox::Watchdog& watchdog,
                         base::Logger& log) {
  const auto connection = std::make_shared<inbox::Connection>(database, "dispatcher", watchdog, log);
  connection->prefer_indexes();
  return [connection, owner, deadline = database.deadline](const Request& request, const VisitLimit& limit) {
    connection->set_deadline(std::min(limit.longest.value_or(deadline), deadline));
    connection->set_end(limit.end);
    auto answer = inbox::ask([&] { return std::visit(Statements{*connection, owner}, request); });
    const int session = connection->generation();
    if (auto* const failure = std::get_if<inbox::DatabaseFailure>(&answer)) return Reply{std::move(*failure), session};
    return Reply{std::move(std::get<Answer>(answer)), session};
  };
}

}  // namespace inboxd::dispatcher
