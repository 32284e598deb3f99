// The end of a handler's transaction: it settles the events and commits. A COMMIT in doubt is resolved.
#include <algorithm>
#include <charconv>
#include <thread>

#include "inbox/answer.hpp"
#include "inbox/settle_arrays.hpp"
#include "statements.hpp"
#include "transaction/database_transaction.hpp"

namespace inboxd::transaction {
namespace {

using std::chrono::milliseconds;
using Effect = inbox::Connection::Access::Effect;

/// Raised by function inbox.require_all_settled.
constexpr std::string_view lease_lost = "IL001";
/// Between two queries for the outcome of a COMMIT: doubled each time. `cut` interrupts the wait within a step.
constexpr milliseconds initial_wait{100};
constexpr milliseconds last_wait{5'000};
constexpr milliseconds wait_step{50};

/// The leases of all settlements except `ours` are lost.
CommitEnd lost_except(const std::vector<std::int64_t>& ours, const std::vector<inbox::Settlement>& settlements) {
  CommitEnd end;
  end.kind = CommitEnd::Kind::lost;
  for (const inbox::Settlement& settlement : settlements) {
    const bool is_ours = std::find(ours.begin(), ours.end(), settlement.key.delivery_id) != ours.end();
    if (!is_ours) end.lost.push_back(settlement.key);
  }
  return end;
}

CommitEnd in_doubt(CommitEnd end) {
  end.was_in_doubt = true;
  return end;
}

}  // namespace

/// `is_own`: a statement of the daemon was rejected. COMMIT is no such statement: it also runs the handler's deferred
/// constraints. If the daemon's data counts as poison, the database's encoding lacks characters of the handler's error
/// texts: waiting does not help, so the next try writes them in ASCII.
CommitEnd::Kind DatabaseTransaction::kind_of_refusal(std::string_view sqlstate, bool is_own) {
  if (is_repeated_state(sqlstate)) return CommitEnd::Kind::repeat;
  if (is_own && inbox::fault_of(sqlstate) == inbox::Fault::poison) {
    return std::exchange(writes_ascii_, true) ? CommitEnd::Kind::refused : CommitEnd::Kind::repeat;
  }
  if (is_own) return CommitEnd::Kind::unsettled;
  return sqlstate == out_of_memory ? CommitEnd::Kind::repeat : CommitEnd::Kind::refused;
}

/// Returns to the daemon's role and settings.
void DatabaseTransaction::add_leaving(inbox::Pipeline& pipeline) {
  const std::string timeout = std::to_string(settings_.deadline.count());
  inbox::WireParameters parameters;
  parameters.add(timeout);
  add_role(pipeline, "");
  add_own(pipeline, inbox::statements::tx_leave, parameters);
}

void DatabaseTransaction::add_settlements(inbox::Pipeline& pipeline,
                                          const std::vector<inbox::Settlement>& settlements) {
  inbox::DoneArrays done;
  inbox::SettledArrays others;
  bool any_done = false;
  std::vector<const inbox::Settlement*> parts;
  // Beside a failed event, parts go into its statement: another worker may share their rows and its own, and two
  // statements would lock them in another order than that worker does.
  const bool any_others =
      std::any_of(settlements.begin(), settlements.end(), [](const auto& one) { return !inbox::only_done(one); });
  for (const inbox::Settlement& settlement : settlements) {
    if (inbox::is_all_done(settlement)) {
      done.add(settlement);
      any_done = true;
    } else if (any_others) {
      others.add(settlement);
    } else {
      parts.push_back(&settlement);
    }
  }
  const auto add_arrays = [&](auto& arrays, const inbox::Statement& statement) {
    inbox::WireParameters parameters;
    parameters.add(owner_);
    arrays.each([&](inbox::ArrayParameter& array) { parameters.add(array.finish()); });
    add_own(pipeline, statement, parameters);
  };
  // First the statement that may lock sequences, as all settlements. Deliveries are locked in order of their ids.
  if (any_others) add_arrays(others, inbox::statements::tx_settle);
  std::sort(parts.begin(), parts.end(), [](const inbox::Settlement* a, const inbox::Settlement* b) {
    return a->key.delivery_id < b->key.delivery_id;
  });
  for (const inbox::Settlement* part : parts) {
    const std::string id = std::to_string(part->key.delivery_id), fence = std::to_string(part->key.fence),
                      offsets = part->done.text(), count = std::to_string(part->done.count());
    inbox::WireParameters parameters;
    parameters.add(owner_);
    for (const std::string* text : {&id, &fence, &offsets, &count}) parameters.add(*text);
    add_own(pipeline, inbox::statements::tx_settle_part, parameters);
  }
  if (any_done) add_arrays(done, inbox::statements::tx_settle_done);
}

CommitEnd DatabaseTransaction::commit(const std::vector<inbox::Settlement>& settlements) {
  CommitEnd end;
  const auto failure = inbox::failure_of([&] {
    std::vector<inbox::Settlement> ascii;
    if (writes_ascii_) inbox::make_ascii(ascii = settlements);
    end = try_commit(writes_ascii_ ? ascii : settlements);
    if (end.kind == CommitEnd::Kind::committed) writes_ascii_ = false;
    if (std::exchange(has_published_, false) && on_published_) on_published_();
  });
  if (!failure) return end;
  reset_transaction();
  if (failure->fault == inbox::Fault::in_doubt) {
    change(TransactionState::in_doubt);
    end = resolve_in_doubt(settlements);
    change(TransactionState::idle);
    return end;
  }
  connection_.close();  // its transaction may still be open, with the handler's writes
  end.kind = CommitEnd::Kind::repeat;
  end.error = error_of(*failure);
  return end;
}

CommitEnd DatabaseTransaction::try_commit(const std::vector<inbox::Settlement>& settlements) {
  const bool ran = timeout_ms_ && !statements_run_.empty();
  const bool resets_session = ran && is_session_check_due();
  const auto limit = settings_.deadline + milliseconds{ran ? *timeout_ms_ : 0};
  std::size_t first_own = 0, committed = 0;
  SessionReset reset;
  const Sent sent = send(Effect::writes, limit, false, [&](inbox::Pipeline& pipeline) {
    // The handler's deferred triggers run under its role, search path and timeout.
    if (ran) add_own(pipeline, inbox::statements::tx_constraints, {});
    first_own = pipeline.size();
    if (!timeout_ms_) {
      pipeline.run("begin isolation level read committed");
      change(TransactionState::begun);
      timeout_ms_ = 0;
    }
    // tx_enter changed it. The default comes from the session's options, which the user may set.
    if (frame_.lock_wait.count() > 0) pipeline.run("set local lock_timeout to default");
    add_leaving(pipeline);
    add_settlements(pipeline, settlements);
    committed = pipeline.run("commit");
    if (resets_session) reset = add_session_reset(pipeline);
    // With a pooler other clients use the session next: it must not keep our statements.
    if (!settings_.prepare) add_deallocations(pipeline, cache_.names());
  });
  const bool ended_otherwise = committed < sent.results.size() && inbox::is_good(sent.results[committed].get()) &&
                               std::string_view{PQcmdStatus(sent.results[committed].get())} != "COMMIT";
  const auto bad = std::find_if(sent.results.begin(), sent.results.end(),
                                [](const Result& result) { return !inbox::is_good(result.get()); });
  CommitEnd end;
  if (ended_otherwise)
    throw inbox::DatabaseError{{inbox::Fault::reconnect, "", "COMMIT ended the transaction without committing"}};
  if (bad > sent.results.begin() + static_cast<std::ptrdiff_t>(committed)) {
    if (resets_session) read_session_reset(sent.results, reset);
    if (!settings_.prepare) cache_.clear();
    reset_transaction();
    return end;
  }
  SqlError error = error_elsewhere(bad->get());
  roll_back();
  const auto place = static_cast<std::size_t>(bad - sent.results.begin());
  const bool is_own = place >= first_own && place < committed;
  // Elsewhere a trigger of the application may have raised the same SQLSTATE.
  if (is_own && error.sqlstate == lease_lost) return lost_except(still_pending(settlements).ours, settlements);
  end.kind = kind_of_refusal(error.sqlstate, is_own);
  if (end.kind == CommitEnd::Kind::repeat && inbox::fault_of(error.sqlstate) == inbox::Fault::reconnect)
    connection_.close();
  if (end.kind == CommitEnd::Kind::unsettled) connection_.close();  // a new session has no stale plans
  end.error = std::move(error);
  return end;
}

/// Queries which of the settlements are still pending, and the owner of their leases. Throws.
DatabaseTransaction::StillPending DatabaseTransaction::still_pending(
    const std::vector<inbox::Settlement>& settlements) {
  inbox::ArrayParameter id{inbox::ArrayParameter::Type::int8}, fence{inbox::ArrayParameter::Type::int8},
      settled{inbox::ArrayParameter::Type::text};
  for (const inbox::Settlement& settlement : settlements) {
    id.add(settlement.key.delivery_id);
    fence.add(settlement.key.fence);
    settled.add(inbox::settled_offsets(settlement).text());
  }
  StillPending pending;
  const Sent sent = send(Effect::reads, settings_.deadline, false, [&](inbox::Pipeline& pipeline) {
    add_leaving(pipeline);  // a handler's function may have changed the session
    inbox::WireParameters parameters;
    parameters.add(owner_);
    for (inbox::ArrayParameter* array : {&id, &fence, &settled}) parameters.add(array->finish());
    add_own(pipeline, inbox::statements::tx_still_pending, parameters);
  });
  if (const PGresult* const bad = first_failure(sent.results)) {
    throw inbox::DatabaseError{
        {inbox::fault_of(error_of(bad).sqlstate), error_of(bad).sqlstate, error_of(bad).message}};
  }
  const PGresult* const rows = sent.results.back().get();
  for (int i = 0; i < PQntuples(rows); ++i) {
    std::int64_t delivery = 0;
    const std::string_view text = PQgetvalue(rows, i, 0);
    std::from_chars(text.data(), text.data() + text.size(), delivery);
    (PQgetvalue(rows, i, 1)[0] == 't' ? pending.ours : pending.others).push_back(delivery);
  }
  return pending;
}

/// All settlements belong to the same transaction: if any is still pending, nothing was committed.
CommitEnd DatabaseTransaction::end_of(const StillPending& pending, const std::vector<inbox::Settlement>& settlements) {
  if (pending.ours.empty()) return pending.others.empty() ? CommitEnd{} : lost_except({}, settlements);
  CommitEnd end;
  end.kind = CommitEnd::Kind::repeat;
  end.error = error_with(lost_connection, "the connection broke during COMMIT; nothing was committed");
  return end;
}

/// After a COMMIT in doubt: if a delivery is still pending, under any lease, nothing was committed; otherwise
/// everything was. The query waits until the old session has ended. Until it succeeds, nothing runs again.
CommitEnd DatabaseTransaction::resolve_in_doubt(const std::vector<inbox::Settlement>& settlements) {
  log_.warn("transaction.commit_in_doubt", {{"worker", purpose_}, {"deliveries", settlements.size()}});
  for (milliseconds wait = initial_wait;; wait = std::min(wait * 2, last_wait)) {
    // The outcome stays unknown here. The leases expire, and the next claim sees in the rows whether it committed.
    if (is_cut()) return in_doubt(lost_except({}, settlements));
    auto answer = inbox::ask([&] { return end_of(still_pending(settlements), settlements); });
    if (auto* const end = std::get_if<CommitEnd>(&answer)) return in_doubt(std::move(*end));
    const auto& failure = std::get<inbox::DatabaseFailure>(answer);
    connection_.close();  // the state of the session is unknown
    if (failure.fault == inbox::Fault::stop) {
      log_.error("transaction.outcome_refused", {{"error", failure.message}});
    } else {
      log_.debug("transaction.outcome_unknown", {{"error", failure.message}});
    }
    wait_unless_cut(wait);
  }
}

/// Ends early once the connection is cut.
void DatabaseTransaction::wait_unless_cut(milliseconds wait) const {
  const auto until = Clock::now() + wait;
  while (!is_cut() && Clock::now() < until) std::this_thread::sleep_for(wait_step);
}

}  // namespace inboxd::transaction
