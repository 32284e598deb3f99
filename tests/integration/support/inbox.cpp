#include "integration/support/inbox.hpp"

#include <functional>
#include <numeric>
#include <regex>
#include <stdexcept>
#include <string_view>

#include "inbox/migrations.hpp"
#include "support/test_environment.hpp"

namespace inboxd::support {
namespace {

constexpr int days_ahead = 2;

}  // namespace

Inbox::Inbox() : Inbox{needed("INBOXD_TEST_PG")} {}

Inbox::Inbox(const std::string& url, const std::string& direct) : database_{direct.empty() ? url : direct} {
  settings_.url = url;
  settings_.schema = database_.schema();
  connection_ = connect();
  const auto migrated = inbox::migrate(*connection_, settings_.schema, [](const inbox::Migration&) {});
  if (!migrated.ok()) throw std::runtime_error{migrated.problem().message};
  inbox::make_partitions(*connection_, days_ahead);
}

std::unique_ptr<inbox::Connection> Inbox::connect(const std::string& purpose) {
  return std::make_unique<inbox::Connection>(settings_, purpose, watchdog_, log_);
}

std::unique_ptr<inbox::Connection> Inbox::connect(const config::Database& settings) {
  return std::make_unique<inbox::Connection>(settings, "test", watchdog_, log_);
}

std::unique_ptr<transaction::HandlerTransaction> Inbox::transaction() { return transaction(settings_); }

std::unique_ptr<transaction::HandlerTransaction> Inbox::transaction(const config::Database& settings) {
  return transaction::database_transactions(settings, owner, watchdog_, log_)("test");
}

std::unique_ptr<transaction::SqlDescriber> Inbox::describer(const config::Database& settings) {
  return transaction::database_describer(settings, watchdog_, log_);
}

std::int32_t Inbox::add_handler(const std::string& name, const std::vector<std::string>& topics,
                                const std::vector<std::string>& types, config::StartAt start) {
  config::Handler handler;
  handler.name = name;
  handler.mode = config::Mode::single;
  handler.topics = topics;
  handler.types = types;
  handler.start = start;
  inbox::register_handlers(*connection_, {handler});
  return static_cast<std::int32_t>(database_.number("select handler_id from inbox.handler where name = $1", {name}));
}

std::int32_t Inbox::add_shard(const std::string& topic, int partition, std::int64_t next) {
  inbox::write_first_positions(*connection_, {{topic, "incarnation", partition, next}});
  return inbox::find_position(*connection_, topic, partition)->shard_id;
}

std::int64_t Inbox::position(const std::string& topic, int partition) {
  return inbox::find_position(*connection_, topic, partition)->next_offset;
}

void Inbox::halt(std::int32_t shard_id, const std::string& reason, std::optional<event::OffsetRange> gap) {
  const auto place = inbox::read_positions(*connection_, {shard_id})->at(0);
  inbox::ShardPosition at;
  at.shard_id = shard_id;
  at.epoch = place.epoch;
  at.next_offset = place.next_offset;
  inbox::halt_shard(*connection_, at, reason, gap);
}

std::int64_t Inbox::pending_events() {
  std::vector<std::string> names;
  for (const auto& handler : inbox::read_routing(*connection_).handlers) names.push_back(handler.name);
  return inbox::count_pending(*connection_, names);
}

Batch::Batch(Inbox& inbox, std::optional<base::Uuid> owner) {
  batch_.owner = owner.value_or(inbox.owner);
  batch_.fence = base::random_fence();
  batch_.routing_version = inbox.routing_version();
}

Batch& Batch::at(std::int32_t shard, std::int64_t expected, std::int32_t epoch) {
  batch_.steps.push_back({shard, epoch, expected, expected, 0});
  offsets_ = {};
  return *this;
}

Batch& Batch::event(const base::Uuid& id, std::string_view payload, std::string_view type) {
  auto& step = batch_.steps.back();
  event::Event event;
  event.shard_id = step.shard_id;
  event.offset = step.next;
  event.event_id = id;
  event.payload = arena_.copy(payload);
  event.event_type = arena_.copy(type);
  event.digest = static_cast<std::int64_t>(std::hash<std::string_view>{}(payload));
  batch_.events.push_back(event);
  offsets_.add(step.next++);
  return *this;
}

Batch& Batch::events(int count, std::string_view payload, std::string_view type) {
  for (int i = 0; i < count; ++i) event(base::random_uuid(), payload, type);
  return *this;
}

Batch& Batch::skip(std::int64_t count) {
  batch_.steps.back().next += count;
  return *this;
}

Batch& Batch::reject(const std::string& reason) {
  auto& step = batch_.steps.back();
  inbox::QuarantinedRecord record;
  record.shard_id = step.shard_id;
  record.offset = step.next++;
  record.reason = reason;
  record.detail = "a test's";
  record.payload = "raw";
  record.payload_size = 3;
  batch_.rejected.push_back(record);
  return *this;
}

Batch& Batch::deliver_to(std::int32_t handler, milliseconds lease) {
  batch_.runs.push_back({handler, batch_.steps.back().shard_id, offsets_, lease});
  return *this;
}

inbox::DatabaseFailure failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (...) {
    return inbox::describe(std::current_exception());
  }
  throw std::runtime_error{"it was expected to fail"};
}

inbox::Claimed claim_due(inbox::Connection& connection, std::int32_t handler, const base::Uuid& owner,
                         std::int64_t events, milliseconds lease, int rows) {
  inbox::ClaimRequest request;
  request.handler_id = handler;
  request.owner = owner;
  request.lease = lease;
  request.events = events;
  request.rows = rows;
  return inbox::claim(connection, request);
}

inbox::Settlement all_done(const inbox::LeasedRun& run) {
  inbox::Settlement out;
  out.key = run.key;
  out.done = run.pending;
  out.whole = true;
  return out;
}

void Inbox::end_sessions(std::int64_t others) {
  connection_->close();
  database_.session().close();
  wait_until("no other statistics are to come", [&] { return sessions() == others; });
}

std::int64_t Inbox::sessions() {
  return database_.number(
      "select count(*) from pg_stat_activity where application_name like 'inboxd%' and "
      "query like '%' || $1 || '%'",
      {database_.schema()});
}

void make_old_day(Inbox& inbox, const std::string& day) {
  inbox.database().run(
      "do $$ declare d date := '" + day +
      "'; begin set local timezone = 'UTC'; execute format('create table inbox.event_%s partition of inbox.event for "
      "values from (%L) to (%L)', to_char(d, 'YYYYMMDD'), d::timestamptz, (d + 1)::timestamptz); "
      // as make_partitions does
      "execute format('alter table inbox.event_%s replica identity full', to_char(d, 'YYYYMMDD')); end $$");
  const std::string noon = "'" + day + " 12:00:00+00'";
  const std::string is_recent = " received_from > now() - interval '1 year'";
  inbox.database().run(
      "with gone as (delete from inbox.event where received_at > now() - interval '1 year' returning *) insert into "
      "inbox.event select shard_id, \"offset\", event_id, source_id, event_type, source, subject, key, payload, "
      "headers, occurred_at, kafka_timestamp, " +
      noon + " from gone");
  inbox.database().run("update inbox.delivery set received_from = " + noon + ", received_to = " + noon + " where" +
                       is_recent);
}

void wait_for_waiter(Inbox& inbox) {
  inbox.database().wait_for("a session waits",
                            "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and query like '%" +
                                inbox.database().schema() + ".ingest%'",
                            1);
}

config::Handler handler_named(const std::string& name) {
  config::Handler out;
  out.name = name;
  out.mode = config::Mode::single;
  return out;
}

std::int64_t backfill_all(inbox::Connection& connection, int bite) {
  std::int64_t bites = 0;
  while (inbox::backfill_bite(connection, bite)) ++bites;
  return bites;
}

std::int64_t blocks_read(const std::vector<Session::Row>& plan) {
  const std::regex buffers{"shared (?:hit=(\\d+))? ?(?:read=(\\d+))?"};
  std::smatch found;
  for (const auto& line : plan) {  // the first line covers the whole plan
    if (!std::regex_search(*line.at(0), found, buffers)) continue;
    return (found[1].matched ? std::stoll(found[1]) : 0) + (found[2].matched ? std::stoll(found[2]) : 0);
  }
  throw std::runtime_error{"the plan tells of no blocks"};
}

std::int64_t events_in(const std::vector<inbox::LeasedRun>& runs) {
  return std::accumulate(runs.begin(), runs.end(), std::int64_t{0}, [](std::int64_t sum, const inbox::LeasedRun& run) {
    return sum + static_cast<std::int64_t>(run.events.size());
  });
}

}  // namespace inboxd::support
