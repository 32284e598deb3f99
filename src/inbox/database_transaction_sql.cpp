// A handler's statements: prepared under the daemon's role, run under the handler's.
#include <endian.h>

#include <algorithm>
#include <array>

#include "inbox/arrays.hpp"
#include "inbox/database_transaction.hpp"
#include "statements.hpp"

namespace inboxd::inbox {
namespace {

using std::chrono::milliseconds;
using Effect = Connection::Access::Effect;

/// The server ends a statement at the call's deadline; the socket is cut where it has not said so for this much longer.
constexpr milliseconds grace{2'000};
/// The session is looked at after each statement for its first runs, then every so often.
constexpr int looks_at_a_statement = 3;
constexpr std::chrono::seconds look_every{1};

/// What a plan says that was made before the table, or the rights, changed.
bool is_stale_plan(std::string_view sqlstate) { return sqlstate == "0A000" || sqlstate == "42501"; }

SqlError plain_error(std::string sqlstate, std::string message) {
  SqlError error;
  error.sqlstate = std::move(sqlstate);
  error.message = std::move(message);
  return error;
}

std::unique_ptr<SqlResult> result_with(SqlError error) {
  auto result = std::make_unique<SqlResult>();
  result->error = std::move(error);
  return result;
}

PreparedSqlCache::Key key_of(const SqlStatement& statement, Sight sight) {
  return {std::string{statement.text}, sight, statement.values.size()};
}

/// Relation `events`, its parameters numbered behind the handler's.
std::string events_expression(const std::string& text, std::size_t before) {
  std::string out;
  for (std::size_t at = text.find("events as"); at < text.size(); ++at) {
    if (text[at] != '$') {
      out += text[at];
      continue;
    }
    std::size_t number = 0;
    while (at + 1 < text.size() && text[at + 1] >= '0' && text[at + 1] <= '9') {
      number = number * 10 + static_cast<std::size_t>(text[++at] - '0');
    }
    out += "$" + std::to_string(number + before);
  }
  return out;
}

/// The parameters of tx_events, and of tx_events_sent.
constexpr std::size_t place_parameters = 6;
constexpr std::size_t sent_parameters = 14;

std::size_t event_parameters(Sight sight) {
  if (sight == Sight::none) return 0;
  return sight == Sight::sent ? sent_parameters : place_parameters;
}

void add_array(SqlParameters& to, ArrayParameter& array) {
  const auto bytes = array.finish();
  to.add_bytes({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, 1);
}

std::string wire_time(event::Microseconds time) {
  const std::uint64_t wire = htobe64(static_cast<std::uint64_t>(time - postgres_epoch_us));
  return {reinterpret_cast<const char*>(&wire), sizeof wire};
}

/// Which events, as neighbouring offsets.
void add_places(SqlParameters& to, std::span<const CallEvent> events) {
  using Type = ArrayParameter::Type;
  ArrayParameter shard{Type::int4}, first{Type::int8}, end{Type::int8}, attempt{Type::int4};
  event::Microseconds from = events.empty() ? 0 : events.front().event->received_at, until = from;
  for (std::size_t i = 0; i < events.size();) {
    const CallEvent& begin = events[i];
    std::int64_t next = begin.event->offset;
    for (; i < events.size() && events[i].event->shard_id == begin.event->shard_id &&
           events[i].attempt == begin.attempt && events[i].event->offset == next;
         ++i, ++next) {
      from = std::min(from, events[i].event->received_at);
      until = std::max(until, events[i].event->received_at);
    }
    shard.add(begin.event->shard_id);
    first.add(begin.event->offset);
    end.add(next);
    attempt.add(begin.attempt);
  }
  for (ArrayParameter* array : {&shard, &first, &end}) add_array(to, *array);
  to.add_bytes(wire_time(from), 1);
  to.add_bytes(wire_time(until), 1);
  add_array(to, attempt);
}

/// Their columns, in the order of tx_events_sent.
void add_columns(SqlParameters& to, std::span<const CallEvent> events) {
  using Type = ArrayParameter::Type;
  ArrayParameter id{Type::uuid}, source_id{Type::text}, topic{Type::text}, partition{Type::int4}, offset{Type::int8},
      type{Type::text}, source{Type::text}, subject{Type::text}, key{Type::bytea}, payload{Type::bytea},
      headers{Type::bytea}, occurred{Type::timestamptz}, received{Type::timestamptz}, attempt{Type::int4};
  for (const CallEvent& each : events) {
    const event::Event& event = *each.event;
    id.add(event.event_id);
    source_id.add(event.source_id);
    topic.add(each.topic);
    partition.add(each.partition);
    offset.add(event.offset);
    type.add(event.event_type);
    source.add(event.source);
    subject.add(event.subject);
    key.add(event.key);
    payload.add(event.payload);
    headers.add(event.headers);
    occurred.add_time(event.occurred_at);
    received.add_time(event.received_at);
    attempt.add(each.attempt);
  }
  for (ArrayParameter* array : {&id, &source_id, &topic, &partition, &offset, &type, &source, &subject, &key, &payload,
                                &headers, &occurred, &received, &attempt}) {
    add_array(to, *array);
  }
}

void add_events(SqlParameters& to, Sight sight, std::span<const CallEvent> events) {
  if (sight == Sight::in_place) add_places(to, events);
  if (sight == Sight::sent) add_columns(to, events);
}

Sight sight_of(const SqlStatement& statement, std::span<const CallEvent> events) {
  if (!statement.with_events) return Sight::none;
  if (events.empty() || static_cast<std::int64_t>(events.size()) > most_events_sent) return Sight::in_place;
  std::size_t bytes = 0;
  for (const CallEvent& each : events) {
    if (!each.has_content) return Sight::in_place;
    bytes += event::size_of(*each.event);
  }
  return bytes <= most_bytes_sent ? Sight::sent : Sight::in_place;
}

std::span<const CallEvent> part_of(const std::vector<CallEvent>& events, std::size_t first, std::size_t count) {
  first = std::min(first, events.size());
  return std::span{events}.subspan(first, std::min(count, events.size() - first));
}

SqlError without_position(SqlError error) {
  error.position = 0;
  return error;
}

}  // namespace

// No 08…: a server that says so speaks of another connection, of a function's own. Ours is lost by what it does not
// say.
bool is_repeated_state(std::string_view sqlstate) {
  constexpr std::array<std::string_view, 10> states{"40001", "40P01", "55P03", "53100", "53300",
                                                    "25006", "26000", "42P05", "57P01", "57P02"};
  return std::find(states.begin(), states.end(), sqlstate) != states.end();
}

std::unique_ptr<SqlResult> DatabaseTransaction::execute(const SqlStatement& statement) {
  if (over_) {
    SqlError error = first_error_.value_or(plain_error("25P02", "no statement can be run any more in this call"));
    error.will_repeat = must_repeat_;
    return result_with(std::move(error));
  }
  if (failed_) {
    return result_with(plain_error("25P02", "a statement failed before; roll back to a savepoint first"));
  }
  if (auto why = refused_because(statement.text)) {
    return failed(plain_error("0A000", "refused: the handler " + *why));
  }
  if (Clock::now() >= frame_.deadline) {
    over_ = true;
    return failed(plain_error("57014", "the call is past its deadline"));
  }
  ran_ = true;
  try {
    return run(statement);
  } catch (...) {
    return lost(inbox::describe(std::current_exception()));
  }
}

std::unique_ptr<SqlResult> DatabaseTransaction::run(const SqlStatement& statement) {
  const auto events = part_of(frame_.events, statement.first, statement.count);
  const Sight sight = sight_of(statement, events);
  const auto key = key_of(statement, sight);
  if (!connection_.is_open() || generation_ != connection_.generation()) cache_.clear();
  if (cache_.find(key) == nullptr) {
    if (auto error = prepare(statement, sight)) return failed(std::move(*error));
  }
  PreparedSql& prepared = *cache_.find(key);
  SqlParameters parameters;
  if (auto error = parameters.add(statement.values, prepared.types)) return failed(std::move(*error));
  add_events(parameters, sight, events);
  const auto limit = std::chrono::ceil<milliseconds>(frame_.deadline - Clock::now()) + grace;
  const Sent sent = send(Effect::reads, limit, true, [&](Pipeline& pipeline) {
    pipeline.execute(prepared.name, parameters.wire(), prepared.shape.binary ? 1 : 0);
  });
  run_.push_back(key);
  if (const PGresult* const bad = first_failure(sent.results)) {
    SqlError error = error_of(bad);
    const bool own = bad == sent.results[sent.own].get();
    error.position = own ? prepared.sent.position_of(error.position) : 0;
    const bool stale = own && prepared.runs > 0 && is_stale_plan(error.sqlstate);
    if (stale) {
      pending_.push_back("deallocate \"" + prepared.name + "\"");
      cache_.erase(key);
    }
    if (!own) error.will_repeat = true;  // not even BEGIN and the settings went
    return failed(std::move(error), stale);
  }
  if (PQtransactionStatus(access_.raw) != PQTRANS_INTRANS) {
    misdeed_ = "ended the transaction, which is the daemon's to end";
    over_ = true;
    begun_ = false;
  }
  ++prepared.runs;
  return rows_of(sent.results[sent.own], prepared.shape);
}

/// Has the server read a statement: under the daemon's role, since the handler's has no right to name what is in the
/// inbox; whether it may touch its tables is looked at when it runs.
std::optional<SqlError> DatabaseTransaction::prepare(const SqlStatement& statement, Sight sight) {
  PreparedSql prepared;
  prepared.sent.text = std::string{statement.text};
  if (statement.with_events) {
    const Statement& relation = sight == Sight::sent ? statements::tx_events_sent : statements::tx_events;
    auto merged =
        with_expression(statement.text, events_expression(access_.text_of(relation), statement.values.size()));
    if (!merged) {
      return plain_error("0A000",
                         "this statement cannot see relation events: it must be INSERT, UPDATE, DELETE, MERGE, "
                         "SELECT, VALUES or WITH");
    }
    prepared.sent = std::move(*merged);
  }
  prepared.name = cache_.next_name();
  const bool switches = statement.with_events && !settings_.handler_role.empty();
  std::size_t parsed = 0;
  const auto limit = std::chrono::ceil<milliseconds>(frame_.deadline - Clock::now()) + grace;
  const Sent sent = send(Effect::reads, limit, true, [&](Pipeline& pipeline) {
    if (switches) add_role(pipeline, "none");
    parsed = pipeline.prepare(prepared.name, prepared.sent.text);
    pipeline.describe(prepared.name);
    if (switches) add_role(pipeline, settings_.handler_role);
  });
  if (const PGresult* const bad = first_failure(sent.results)) {
    SqlError error = error_of(bad);
    const bool own = bad == sent.results[parsed].get();
    error.position = own ? prepared.sent.position_of(error.position) : 0;
    if (!own) error.will_repeat = true;
    return error;
  }
  const PGresult* const description = sent.results[parsed + 1].get();
  const int ours = static_cast<int>(event_parameters(sight));
  for (int i = 0; i < PQnparams(description) - ours; ++i) prepared.types.push_back(PQparamtype(description, i));
  prepared.shape = shape_of(description);
  const std::string gone = cache_.add(key_of(statement, sight), std::move(prepared));
  if (!gone.empty()) pending_.push_back("deallocate \"" + gone + "\"");
  return std::nullopt;
}

std::unique_ptr<SqlResult> DatabaseTransaction::failed(SqlError error, bool stale_plan) {
  failed_ = true;
  if (error.will_repeat || stale_plan || is_repeated_state(error.sqlstate)) {
    error.will_repeat = over_ = must_repeat_ = true;
  }
  if (fault_of(error.sqlstate) == Fault::reconnect && must_repeat_)
    connection_.close();  // a standby, a pooler's session
  first_error_ = error;
  return result_with(std::move(error));
}

std::unique_ptr<SqlResult> DatabaseTransaction::lost(const DatabaseFailure& failure) {
  SqlError error = plain_error(failure.sqlstate.empty() ? "08006" : failure.sqlstate, failure.message);
  error.will_repeat = true;
  return failed(std::move(error));
}

// ---- checks

std::unique_ptr<SqlResult> DatabaseTransaction::describe(const SqlStatement& statement,
                                                         std::chrono::milliseconds limit) {
  begin_call({{}, Clock::now() + limit, true});
  auto result = std::make_unique<SqlResult>();
  if (auto why = refused_because(statement.text)) {
    result->error = plain_error("0A000", "refused: a handler that " + *why);
    return result;
  }
  const Sight sight = statement.with_events ? Sight::in_place : Sight::none;
  result->error = prepare(statement, sight);
  if (!result->error) {
    const PreparedSql& prepared = *cache_.find(key_of(statement, sight));
    result->columns = prepared.shape.columns;
    result->error = explain(statement, prepared);
  }
  roll_back();
  return result;
}

/// Rights are looked at when a plan is opened, so it is: EXPLAIN opens it and runs nothing.
std::optional<SqlError> DatabaseTransaction::explain(const SqlStatement& statement, const PreparedSql& prepared) {
  if (!with_expression(statement.text, "")) return std::nullopt;  // no plan: DO, CALL, SET LOCAL and the like
  std::string nulls;
  const std::size_t count = prepared.types.size() + (statement.with_events ? place_parameters : 0);
  for (std::size_t i = 0; i < count; ++i) nulls += i == 0 ? "(null" : ", null";
  if (count > 0) nulls += ")";
  const Sent sent = send(Effect::reads, settings_.deadline, true, [&](Pipeline& pipeline) {
    pipeline.run("explain execute \"" + prepared.name + "\"" + nulls);
  });
  const PGresult* const bad = first_failure(sent.results);
  return bad == nullptr ? std::nullopt : std::optional{without_position(error_of(bad))};
}

// ---- the session

bool DatabaseTransaction::session_is_due() const {
  if (run_.empty()) return false;
  if (Clock::now() - last_look_ >= look_every) return true;
  auto& cache = const_cast<PreparedSqlCache&>(cache_);
  return std::any_of(run_.begin(), run_.end(), [&](const PreparedSqlCache::Key& key) {
    const PreparedSql* const found = cache.find(key);
    return found != nullptr && found->clean < looks_at_a_statement;
  });
}

/// Before COMMIT, while the event can still be made to fail for it.
void DatabaseTransaction::look_at_session() {
  try {
    const Sent sent = send(Effect::reads, settings_.deadline, false, [&](Pipeline& pipeline) {
      const bool switches = !settings_.handler_role.empty();
      if (switches) add_role(pipeline, "none");
      add_daemons(pipeline, statements::tx_session_held, {});
      if (switches) add_role(pipeline, settings_.handler_role);
    });
    if (const PGresult* const bad = first_failure(sent.results)) {
      failed(without_position(error_of(bad)));
      return;
    }
    for (const Result& result : sent.results) {
      const bool is_answer =
          PQntuples(result.get()) == 1 && std::string_view{PQfname(result.get(), 0)} == "session_held";
      if (is_answer && PQgetisnull(result.get(), 0, 0) == 0) misdeed_ = PQgetvalue(result.get(), 0, 0);
    }
  } catch (...) {
    lost(inbox::describe(std::current_exception()));
  }
}

/// After COMMIT: what outlived the transaction is undone already, and told.
void DatabaseTransaction::judge_session(const PGresult* result) {
  last_look_ = Clock::now();
  if (!is_good(result)) {
    connection_.close();
    return;
  }
  if (PQgetisnull(result, 0, 0) != 0) return note_clean();
  log_.warn("dispatcher: the handler changed its session, which is the daemon's; it was put right",
            {{"worker", purpose_}, {"what", PQgetvalue(result, 0, 0)}});
}

void DatabaseTransaction::note_clean() {
  for (const auto& key : run_) {
    if (PreparedSql* const found = cache_.find(key)) ++found->clean;
  }
}

}  // namespace inboxd::inbox
