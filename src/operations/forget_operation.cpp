#include <algorithm>

#include "inbox/routing_lock.hpp"
#include "operations/key_argument.hpp"
#include "operations/operation_table.hpp"
#include "operations/partition_queries.hpp"
#include "operations/stored_event_rows.hpp"
#include "statements.hpp"

namespace inboxd::operations {
namespace {

constexpr const char* forget_verb = "events forget";
/// Events that a statement looks at: about 50 ms.
constexpr int events_looked_at = 20'000;
/// Events of a transaction, and other rows of a transaction.
constexpr std::size_t events_erased = 200;
constexpr int rows_erased = 500;
/// How long to wait for events that are leased: their calls end, or their instance releases them.
constexpr int max_waits = 10;
constexpr std::chrono::milliseconds wait{1'000};

struct KeyedEvent {
  std::int32_t shard_id = 0;
  std::int64_t offset = 0;
  event::Microseconds received_at = 0;
  bool is_leased = false;  ///< an instance has it in memory
};

struct Progressed {
  std::int64_t events = 0;
  std::int64_t skipped = 0;  ///< deliveries
  std::vector<KeyedEvent> leased;
  std::int64_t dead_letters = 0;
  std::int64_t records = 0;   ///< in quarantine
  std::int64_t messages = 0;  ///< not sent yet

  std::int64_t all() const { return events + dead_letters + records + messages; }
};

/// Events with the key among the next events of a shard, after `offset`, which becomes the last that was looked at;
/// nullopt: there was none.
std::vector<KeyedEvent> next_events(inbox::Connection& connection, std::int32_t shard_id,
                                    std::optional<std::int64_t>& offset, const std::string& key) {
  const pqxx::params parameters{shard_id, offset, bytes_parameter(key), events_looked_at};
  std::vector<KeyedEvent> out;
  for (const auto& found : inbox::run_read(connection, inbox::statements::op_forget_find, parameters)) {
    inbox::RowReader row{found};
    offset = row.maybe_int8();
    const auto place = row.maybe_int8();
    if (!place) break;
    const auto received_at = row.int8();
    out.push_back({shard_id, *place, received_at, row.flag()});
  }
  return out;
}

/// Finds the events of a key, a shard at a time, and does something with the events of each portion. False: stopped in
/// between.
template <class Each>
bool find_all(Context& context, const std::string& key, Each each) {
  for (const auto& partition : read_partitions(*context.connection, {})) {
    std::optional<std::int64_t> offset = -1;
    while (true) {
      if (context.pause(std::chrono::milliseconds{0})) return false;
      const auto events = next_events(*context.connection, partition.shard_id, offset, key);
      if (!offset) break;
      if (!events.empty()) each(events);
    }
  }
  return true;
}

/// Runs a statement that changes rows which a replay reads, in a transaction that may be repeated after any error.
pqxx::row change_rows(inbox::Connection& connection, const inbox::Statement& statement,
                      const pqxx::params& parameters) {
  auto& access = connection.access();
  pqxx::result out;
  access.transaction([&](pqxx::work& tx) {
    inbox::share_routing(access, tx);
    access.run_in(tx, inbox::statements::op_dead_lock, pqxx::params{});
    out = access.run_in(tx, statement, parameters);
    return true;
  });
  return out[0];
}

void erase(Context& context, const std::vector<KeyedEvent>& events, Progressed& sum) {
  for (std::size_t begin = 0; begin < events.size(); begin += events_erased) {
    std::vector<std::int32_t> shards;
    std::vector<std::int64_t> offsets;
    inbox::ArrayParameter received{inbox::ArrayParameter::Type::timestamptz};
    for (std::size_t i = begin; i < std::min(begin + events_erased, events.size()); ++i) {
      shards.push_back(events[i].shard_id);
      offsets.push_back(events[i].offset);
      received.add_time(events[i].received_at);
    }
    const pqxx::params parameters{context.actor, array_parameter(shards), array_parameter(offsets), received.finish()};
    const auto row = change_rows(*context.connection, inbox::statements::op_forget_events, parameters);
    sum.events += row[0].as<std::int64_t>();
    sum.skipped += row[1].as<std::int64_t>();
    const auto leased = row[2].as_sql_array<std::int32_t>();
    for (auto i = leased.cbegin(); i != leased.cend(); ++i) {
      sum.leased.push_back(events.at(begin + static_cast<std::size_t>(*i) - 1));
    }
    context.progress({"erased", sum.events, 0});
  }
}

pqxx::row erase_some(Context& context, const inbox::Statement& statement, const std::string& key) {
  return change_rows(*context.connection, statement, pqxx::params{context.actor, bytes_parameter(key), rows_erased});
}

/// Records in quarantine and unsent messages. False: stopped in between.
bool erase_rest(Context& context, const std::string& key, Progressed& sum) {
  while (true) {
    const auto row = erase_some(context, inbox::statements::op_forget_quarantine, key);
    const auto records = row[0].as<std::int64_t>(), messages = row[1].as<std::int64_t>();
    if (records + messages == 0) return true;
    sum.records += records;
    sum.messages += messages;
    if (context.pause(std::chrono::milliseconds{0})) return false;
  }
}

/// Content moves from quarantine to events, from events to dead letters, and from dead letters to messages: in this
/// order none is missed. False: stopped in between.
bool erase_all(Context& context, const std::string& key, Progressed& sum) {
  if (!erase_rest(context, key, sum)) return false;
  if (!find_all(context, key, [&](const auto& events) { erase(context, events, sum); })) return false;
  for (int waits = 0; !sum.leased.empty() && waits < max_waits; ++waits) {
    if (context.pause(wait)) return false;
    erase(context, std::exchange(sum.leased, {}), sum);
  }
  while (const auto some = erase_some(context, inbox::statements::op_forget_dead, key)[0].as<std::int64_t>()) {
    sum.dead_letters += some;
    if (context.pause(std::chrono::milliseconds{0})) return false;
  }
  return erase_rest(context, key, sum);
}

Document document_of(const Progressed& sum, bool dry_run) {
  return {{"dry_run", dry_run},
          {"events", sum.events},
          {"leased", sum.leased.size()},
          {"dead_letters", sum.dead_letters},
          {"records", sum.records},
          {"messages", sum.messages}};
}

Answer show(Context& context, const std::string& key) {
  Progressed sum;
  const bool is_whole = find_all(context, key, [&](const std::vector<KeyedEvent>& events) {
    for (const auto& event : events) {
      ++sum.events;
      if (event.is_leased) sum.leased.push_back(event);
    }
  });
  const auto rows = inbox::run_read(*context.connection, inbox::statements::op_forget_count, bytes_parameter(key));
  inbox::RowReader row{rows[0]};
  sum.dead_letters = row.int8();
  sum.records = row.int8();
  sum.messages = row.int8();
  Document document = document_of(sum, true);
  if (!is_whole) return {base::ExitCode::try_again, std::move(document), std::string{forget_verb} + ": stopped"};
  if (sum.all() > 0) return {base::ExitCode::done, std::move(document), ""};
  return {base::ExitCode::no, std::move(document), std::string{forget_verb} + ": nothing has that key"};
}

}  // namespace

Answer functions::events_forget(Context& context, const Arguments& arguments) {
  auto given = read_key(forget_verb, arguments);
  if (given.refusal) return std::move(*given.refusal);
  if (!given.key) return {base::ExitCode::usage, nullptr, std::string{forget_verb} + ": pass --key or --key-hex"};
  if (arguments.flag("dry-run")) return show(context, *given.key);
  Progressed sum;
  const bool is_whole = erase_all(context, *given.key, sum);
  Document document = document_of(sum, false);
  document["skipped"] = sum.skipped;
  document["interrupted"] = !is_whole || !sum.leased.empty();
  if (!is_whole) {
    return {base::ExitCode::try_again, std::move(document), std::string{forget_verb} + ": stopped; repeat the command"};
  }
  if (!sum.leased.empty()) {
    return {
        base::ExitCode::try_again, std::move(document),
        std::string{forget_verb} + ": " + std::to_string(sum.leased.size()) +
            " events are leased and may be running; repeat the command, or pause their handlers first: inboxd handlers "
            "pause"};
  }
  if (sum.all() > 0) return {base::ExitCode::done, std::move(document), ""};
  return {base::ExitCode::no, std::move(document), std::string{forget_verb} + ": nothing has that key"};
}

}  // namespace inboxd::operations
