// The end of a handler's transaction: what became of its events is recorded in it, and it is committed, or known not to
// be.
#include <algorithm>
#include <charconv>
#include <thread>

#include "inbox/database_transaction.hpp"
#include "inbox/settle_arrays.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using std::chrono::milliseconds;
using Effect = Connection::Access::Effect;

/// What function inbox.demand raises.
constexpr std::string_view lease_lost = "IL001";
/// Between two tries to learn what became of a COMMIT: doubled each time. Being cut is noticed within a step.
constexpr milliseconds first_wait{100};
constexpr milliseconds last_wait{5'000};
constexpr milliseconds wait_step{50};

/// The leases of all but `ours` were lost.
CommitEnd end_without(const std::vector<std::int64_t>& ours, const std::vector<Settlement>& settlements) {
  CommitEnd end;
  end.kind = CommitEnd::Kind::lost;
  for (const Settlement& settlement : settlements) {
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

/// `ours`: what the daemon records was refused. COMMIT itself may still run what the handler deferred. Refused for what
/// it holds are a handler's texts, in an encoding that lacks their characters: nobody mends that while we wait.
CommitEnd::Kind DatabaseTransaction::kind_of_refusal(std::string_view sqlstate, bool ours) {
  if (is_repeated_state(sqlstate)) return CommitEnd::Kind::repeat;
  if (ours && fault_of(sqlstate) == Fault::poison) {
    return std::exchange(writes_plain_, true) ? CommitEnd::Kind::refused : CommitEnd::Kind::repeat;
  }
  if (ours) return CommitEnd::Kind::unsettled;
  return sqlstate == out_of_memory ? CommitEnd::Kind::repeat : CommitEnd::Kind::refused;
}

/// As the daemon again: the settling. Parameters must live until it is sent, hence the texts are kept by the caller.
void DatabaseTransaction::add_leaving(Pipeline& pipeline) {
  const std::string timeout = std::to_string(settings_.deadline.count());
  WireParameters parameters;
  parameters.add(timeout);
  add_daemons(pipeline, statements::tx_leave, parameters);
}

void DatabaseTransaction::add_settlements(Pipeline& pipeline, const std::vector<Settlement>& settlements) {
  DoneArrays done;
  SettledArrays others;
  bool any_done = false, any_others = false;
  for (const Settlement& settlement : settlements) {
    const bool only_done = settlement.retries.empty() && settlement.dead.empty() && settlement.failures.empty();
    if (is_all_done(settlement)) {
      done.add(settlement);
      any_done = true;
    } else if (only_done) {
      const std::string id = std::to_string(settlement.key.delivery_id), fence = std::to_string(settlement.key.fence),
                        offsets = settlement.done.text(), count = std::to_string(settlement.done.count());
      WireParameters parameters;
      parameters.add(owner_);
      for (const std::string* text : {&id, &fence, &offsets, &count}) parameters.add(*text);
      add_daemons(pipeline, statements::tx_settle_part, parameters);
    } else {
      others.add(settlement);
      any_others = true;
    }
  }
  const auto add_arrays = [&](auto& arrays, const Statement& statement) {
    WireParameters parameters;
    parameters.add(owner_);
    arrays.each([&](ArrayParameter& array) { parameters.add(array.finish()); });
    add_daemons(pipeline, statement, parameters);
  };
  if (any_others) add_arrays(others, statements::tx_settle);
  if (any_done) add_arrays(done, statements::tx_settle_done);
}

CommitEnd DatabaseTransaction::commit(const std::vector<Settlement>& settlements) {
  CommitEnd end;
  try {
    std::vector<Settlement> plain;
    if (writes_plain_) make_plain(plain = settlements);
    end = try_commit(writes_plain_ ? plain : settlements);
    if (end.kind == CommitEnd::Kind::committed) writes_plain_ = false;
  } catch (...) {
    const DatabaseFailure failure = inbox::describe_any(std::current_exception());
    forget_transaction();
    if (failure.fault == Fault::in_doubt) return resolve(settlements);
    connection_.close();  // what was not sent may have left its transaction open, with the handler's writes
    end.kind = CommitEnd::Kind::repeat;
    end.error = error_of(failure);
  }
  return end;
}

CommitEnd DatabaseTransaction::try_commit(const std::vector<Settlement>& settlements) {
  const bool looks = begun_ && session_is_due();
  const bool ran = begun_ && !run_.empty();
  const auto limit = settings_.deadline + milliseconds{ran ? timeout_ms_ : 0};
  std::size_t ours = 0, committed = 0;
  Look look;
  const Sent sent = send(Effect::writes, limit, false, [&](Pipeline& pipeline) {
    // Deferred triggers are the handler's part: they run under its role, its search path and its time.
    if (ran) add_daemons(pipeline, statements::tx_constraints, {});
    ours = pipeline.size();
    if (!begun_) pipeline.run("begin isolation level read committed");
    begun_ = true;
    add_leaving(pipeline);
    add_settlements(pipeline, settlements);
    committed = pipeline.run("commit");
    if (looks) look = add_look(pipeline);
    // Behind a pooler a session is ours for one transaction: it must not be left with our statements.
    if (!settings_.prepare) add_forgetting(pipeline, cache_.names());
  });
  const bool ended_otherwise = committed < sent.results.size() && is_good(sent.results[committed].get()) &&
                               std::string_view{PQcmdStatus(sent.results[committed].get())} != "COMMIT";
  const auto bad = std::find_if(sent.results.begin(), sent.results.end(),
                                [](const Result& result) { return !is_good(result.get()); });
  CommitEnd end;
  if (ended_otherwise) throw DatabaseError{{Fault::reconnect, "", "COMMIT ended the transaction without committing"}};
  if (bad > sent.results.begin() + static_cast<std::ptrdiff_t>(committed)) {
    if (looks) judge_session(sent.results, look);
    if (!settings_.prepare) cache_.clear();
    forget_transaction();
    return end;
  }
  SqlError error = error_elsewhere(bad->get());
  roll_back();
  const auto place = static_cast<std::size_t>(bad - sent.results.begin());
  const bool is_ours = place >= ours && place < committed;
  // Before and behind that it is the application's own word, whose trigger may raise what it likes.
  if (is_ours && error.sqlstate == lease_lost) return end_without(still_owed(settlements).ours, settlements);
  end.kind = kind_of_refusal(error.sqlstate, is_ours);
  if (end.kind == CommitEnd::Kind::repeat && fault_of(error.sqlstate) == Fault::reconnect) connection_.close();
  if (end.kind == CommitEnd::Kind::unsettled) connection_.close();  // the next session has no plans that are stale
  end.error = std::move(error);
  return end;
}

/// Asks which of the settlements are still owed, and by whom. Throws.
DatabaseTransaction::Owed DatabaseTransaction::still_owed(const std::vector<Settlement>& settlements) {
  ArrayParameter id{ArrayParameter::Type::int8}, fence{ArrayParameter::Type::int8}, settled{ArrayParameter::Type::text};
  for (const Settlement& settlement : settlements) {
    id.add(settlement.key.delivery_id);
    fence.add(settlement.key.fence);
    settled.add(leaving(settlement).text());
  }
  Owed owed;
  const Sent sent = send(Effect::reads, settings_.deadline, false, [&](Pipeline& pipeline) {
    add_leaving(pipeline);  // whatever an earlier handler's function has made of the session
    WireParameters parameters;
    parameters.add(owner_);
    for (ArrayParameter* array : {&id, &fence, &settled}) parameters.add(array->finish());
    add_daemons(pipeline, statements::tx_still_owed, parameters);
  });
  if (const PGresult* const bad = first_failure(sent.results)) {
    throw DatabaseError{{fault_of(error_of(bad).sqlstate), error_of(bad).sqlstate, error_of(bad).message}};
  }
  const PGresult* const rows = sent.results.back().get();
  for (int i = 0; i < PQntuples(rows); ++i) {
    std::int64_t delivery = 0;
    const std::string_view text = PQgetvalue(rows, i, 0);
    std::from_chars(text.data(), text.data() + text.size(), delivery);
    (PQgetvalue(rows, i, 1)[0] == 't' ? owed.ours : owed.others).push_back(delivery);
  }
  return owed;
}

/// All settlements are in one transaction: one that is still owed tells that nothing was committed.
CommitEnd DatabaseTransaction::end_of(const Owed& owed, const std::vector<Settlement>& settlements) {
  if (owed.ours.empty()) return owed.others.empty() ? CommitEnd{} : end_without({}, settlements);
  CommitEnd end;
  end.kind = CommitEnd::Kind::repeat;
  end.error = error_with(lost_connection, "the connection broke during COMMIT; nothing was committed");
  return end;
}

/// After a COMMIT in doubt: where any of it is still owed, by whomever, nothing was committed; what is gone was
/// settled. The question waits for a session that is still at it. Nothing is run again before it is answered.
CommitEnd DatabaseTransaction::resolve(const std::vector<Settlement>& settlements) {
  log_.warn("dispatcher: the connection broke during a handler's COMMIT, asking what became of it",
            {{"worker", purpose_}, {"deliveries", settlements.size()}});
  for (milliseconds wait = first_wait;; wait = std::min(wait * 2, last_wait)) {
    // Nobody will know; the leases run out, and whoever takes the events finds the truth in the rows.
    if (is_cut()) return in_doubt(end_without({}, settlements));
    try {
      return in_doubt(end_of(still_owed(settlements), settlements));
    } catch (...) {
      const auto failure = inbox::describe_any(std::current_exception());
      forget_transaction();
      connection_.close();  // whatever the session is in, the next one is not
      const bool needs_somebody = failure.fault == Fault::stop;
      log_.write(needs_somebody ? base::LogLevel::error : base::LogLevel::debug,
                 "dispatcher: what became of a COMMIT is not known yet", {{"error", failure.message}});
    }
    pause(wait);
  }
}

/// Or until nobody waits for it any more.
void DatabaseTransaction::pause(milliseconds wait) const {
  const auto until = Clock::now() + wait;
  while (!is_cut() && Clock::now() < until) std::this_thread::sleep_for(wait_step);
}

}  // namespace inboxd::inbox
