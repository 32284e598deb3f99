// Refused statements and lost connections, classified by SQLSTATE in any language.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <catch2/catch_test_macros.hpp>
#include <catch2/generators/catch_generators.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>
#include <filesystem>
#include <new>
#include <set>
#include <thread>

#include "inbox/migrations.hpp"
#include "integration/support/inbox.hpp"
#include "support/pgbouncer.hpp"
#include "support/private_postgres.hpp"
#include "support/proxy.hpp"
#include "support/test_environment.hpp"

using namespace inboxd;
using namespace inboxd::support;
using inbox::Fault;

namespace {

void refuse_payload(Database& database, const std::string& payload) {
  database.run(
      "create function inbox.refuse() returns trigger language plpgsql as $$ begin "
      "if new.payload = '" +
      payload +
      "'::bytea then raise exception 'no' using errcode = '22P02'; end if; "
      "return new; end $$; "
      "create trigger refuse before insert on inbox.event for each row execute function inbox.refuse()");
}

/// Retries while the old session still works: until it ends, the slot is refused.
inbox::IngestResult store_at_last(Batch& batch, inbox::Connection& connection) {
  inbox::IngestResult result;
  wait_until("the slot works again", [&] {
    try {
      result = batch.store(connection);
      return true;
    } catch (...) {
      CHECK(inbox::describe(std::current_exception()).fault == Fault::reconnect);
      return false;
    }
  });
  return result;
}

std::set<int> sockets_of_this_process() {
  std::set<int> out;
  for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
    const int fd = std::stoi(entry.path().filename());
    sockaddr_storage peer{};
    socklen_t size = sizeof peer;
    if (getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &size) == 0 && peer.ss_family == AF_INET) out.insert(fd);
  }
  return out;
}

int option(int socket, int level, int name) {
  int value = 0;
  socklen_t size = sizeof value;
  REQUIRE(getsockopt(socket, level, name, &value, &size) == 0);
  return value;
}

}  // namespace

TEST_CASE("an error caused by the data is poison, and a rehearsal finds the record without a trace") {
  Inbox inbox;
  refuse_payload(inbox.database(), "poison");
  const auto shard = inbox.add_shard("orders");
  Batch bad{inbox};
  bad.at(shard, 0).events(3).event(base::random_uuid(), "poison");
  Batch good{inbox};
  good.at(shard, 0).events(3);

  CHECK(failure_of([&] { bad.store(inbox.connection()); }).fault == Fault::poison);
  CHECK(failure_of([&] { inbox::rehearse(inbox.connection(), bad.get()); }).fault == Fault::poison);
  inbox::rehearse(inbox.connection(), good.get());

  CHECK(inbox.position("orders") == 0);
  CHECK(inbox.database().number("select (select count(*) from inbox.event) + (select count(*) from inbox.ledger)") ==
        0);
}

TEST_CASE("a missing day partition stops ingest and is not poison") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(3);
  inbox.database().run(
      "do $$ declare p text; begin for p in select inhrelid::regclass::text from pg_inherits "
      "where inhparent = 'inbox.event'::regclass and inhrelid <> 'inbox.event_kept'::regclass "
      "loop execute 'drop table ' || p; end loop; end $$");

  const auto failure = failure_of([&] { batch.store(inbox.connection()); });
  CHECK(failure.fault == Fault::stop);
  CHECK(failure.sqlstate == "23514");

  CHECK(inbox::make_partitions(inbox.connection(), 1) == 3);
  CHECK(batch.store(inbox.connection()).stored == 3);
}

// fault: lock timeout
TEST_CASE("a missing right stops, a lock timeout retries") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1);
  const std::string role = random_name("role");
  inbox.database().run("create role " + role + " login");
  auto settings = inbox.settings();
  settings.url = settings.url.replace(settings.url.find("postgres@"), 8, role);
  const auto refused = failure_of([&] { batch.store(*inbox.connect(settings)); });
  INFO("'" << refused.sqlstate << "' " << refused.message);
  CHECK(refused.fault == Fault::stop);
  inbox.database().run("drop role " + role);

  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run("begin; lock table inbox.ledger in exclusive mode");
  settings = inbox.settings();
  settings.url += "?options=-c%20lock_timeout%3D100";
  CHECK(failure_of([&] { batch.store(*inbox.connect(settings)); }).fault == Fault::retry);
  holder.run("rollback");
  CHECK(batch.store(inbox.connection()).stored == 1);
}

// fault: connection lost during COMMIT
TEST_CASE("an answer lost after COMMIT leaves the commit in doubt; repeating the batch doubles nothing") {
  Inbox direct;
  Proxy proxy{port_of(direct.settings().url)};
  auto settings = direct.settings();
  settings.url = url_with_port(settings.url, proxy.port());
  const auto connection = direct.connect(settings);
  const auto handler = direct.add_handler("receipt");
  const auto shard = direct.add_shard("orders");
  const auto when = GENERATE(Proxy::Cut::before, Proxy::Cut::after);
  Batch batch{direct};
  batch.at(shard, 0).events(500).deliver_to(handler, milliseconds{60'000});
  connection->open();
  proxy.cut_at(Proxy::executes("ingest"), when);

  const auto failure = failure_of([&] { batch.store(*connection); });
  CHECK(proxy.cuts() == 1);
  CHECK(failure.fault == Fault::in_doubt);

  const auto again = store_at_last(batch, *connection);
  if (when == Proxy::Cut::before) {
    CHECK(again.stored == 500);
  } else {
    CHECK(again.mismatched == std::vector<std::int32_t>{shard});
  }
  CHECK(direct.position("orders") == 500);
  CHECK(direct.database().number("select count(*) from inbox.event") == 500);
  CHECK(direct.database().number("select sum(events) from inbox.delivery") == 500);

  // Its born-leased deliveries can be claimed, and no other leased deliveries.
  Batch other{direct};
  other.at(shard, 500).events(3).deliver_to(handler, milliseconds{60'000}).store(direct.connection());
  CHECK(claim_due(direct.connection(), handler, base::random_uuid()).runs.empty());
  CHECK(inbox::release_born(*connection, base::random_uuid(), {batch.get().fence}, {handler}) == 0);
  CHECK(inbox::release_born(*connection, direct.owner, {batch.get().fence}, {handler}) == 1);
  const auto claimed = claim_due(direct.connection(), handler, base::random_uuid());
  REQUIRE(claimed.runs.size() == 1);
  CHECK(events_in(claimed.runs) == 500);
  CHECK(claimed.runs[0].claims == 1);
}

TEST_CASE("a read that is cut off needs a reconnect and is not in doubt") {
  Inbox direct;
  Proxy proxy{port_of(direct.settings().url)};
  auto settings = direct.settings();
  settings.url = url_with_port(settings.url, proxy.port());
  const auto connection = direct.connect(settings);
  inbox::read_routing(*connection);
  const int generation = connection->generation();
  proxy.cut();
  CHECK(failure_of([&] { inbox::read_routing(*connection); }).fault == Fault::reconnect);
  CHECK_FALSE(connection->is_open());
  inbox::read_routing(*connection);
  CHECK(connection->generation() == generation + 1);
}

TEST_CASE("the kernel notices an unresponsive peer: keepalives, and a limit for unacknowledged bytes") {
  Inbox inbox;
  auto settings = inbox.settings();
  settings.deadline = milliseconds{12'345};
  const auto before = sockets_of_this_process();
  const auto connection = inbox.connect(settings);
  connection->open();
  auto fresh = sockets_of_this_process();
  for (const int socket : before) fresh.erase(socket);
  REQUIRE(fresh.size() == 1);
  const int socket = *fresh.begin();
  CHECK(option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT) == 12'345);
  CHECK(option(socket, SOL_SOCKET, SO_KEEPALIVE) == 1);
  CHECK(option(socket, IPPROTO_TCP, TCP_KEEPIDLE) == 10);
  CHECK(option(socket, IPPROTO_TCP, TCP_KEEPINTVL) == 5);
  CHECK(option(socket, IPPROTO_TCP, TCP_KEEPCNT) == 3);
}

TEST_CASE("a statement past its deadline is cut off, and its slot waits until the server has finished it") {
  Inbox inbox;
  const auto shard = inbox.add_shard("orders");
  auto settings = inbox.settings();
  settings.deadline = milliseconds{500};
  const auto connection = inbox.connect(settings);
  connection->open();
  Batch batch{inbox};
  batch.at(shard, 0).events(1);
  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run("begin; lock table inbox.ledger in exclusive mode");

  const auto began = std::chrono::steady_clock::now();
  CHECK(failure_of([&] { batch.store(*connection); }).fault == Fault::in_doubt);
  CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds{5});
  for (int i = 0; i < 3; ++i) {  // the old session still waits for the lock: no third session opens
    CHECK(failure_of([&] { batch.store(*connection); }).fault == Fault::reconnect);
  }
  CHECK(inbox.database().number("select count(*) from pg_stat_activity where application_name = 'inboxd test' and "
                                "query like '%' || $1 || '.ingest%' and state = 'active'",
                                {inbox.database().schema()}) == 1);
  holder.run("rollback");

  store_at_last(batch, *connection);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 1);
}

TEST_CASE("with a pooler, too, a slot whose statement was cut off waits until the server has finished it") {
  Inbox inbox;
  // The pooler refuses startup options, or drops them silently; both count the first session.
  const char* const line = GENERATE("", "ignore_startup_parameters = options");
  CAPTURE(line);
  const PgBouncer pooler{inbox.settings().url, line};
  const auto shard = inbox.add_shard("orders");
  auto settings = inbox.settings();
  settings.url = pooler.url();
  settings.prepare = false;
  settings.deadline = milliseconds{500};
  const auto connection = inbox.connect(settings), neighbour = inbox.connect(settings);
  connection->open();
  Batch batch{inbox};
  batch.at(shard, 0).events(1);
  Session holder{inbox.database().url(), inbox.database().schema()};
  holder.run("begin; lock table inbox.ledger in exclusive mode");

  CHECK(failure_of([&] { batch.store(*connection); }).fault == Fault::in_doubt);
  for (int i = 0; i < 3; ++i) {
    CHECK(failure_of([&] { batch.store(*connection); }).fault == Fault::reconnect);
  }
  CHECK(inbox.database().number("select count(*) from pg_stat_activity where query like '%' || $1 || '.ingest%' and "
                                "state = 'active' and wait_event_type = 'Lock'",
                                {inbox.database().schema()}) == 1);
  CHECK(inbox::read_routing(*neighbour).handlers.empty());  // another slot does not wait for it
  holder.run("rollback");

  store_at_last(batch, *connection);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 1);
}

// fault: server with messages in another language
TEST_CASE("error messages in German make no difference") {
  Inbox english;
  auto settings = english.settings();
  const auto url = in_german(settings.url);
  if (!url) SKIP("this server has no German messages");
  settings.url = *url + "%20-c%20lock_timeout%3D100";
  const auto german = english.connect(settings);
  refuse_payload(english.database(), "poison");
  const auto shard = english.add_shard("orders");
  Batch bad{english};
  bad.at(shard, 0).event(base::random_uuid(), "poison");
  Batch good{english};
  good.at(shard, 0).events(1);

  CHECK(failure_of([&] { bad.store(*german); }).fault == Fault::poison);
  {
    Session holder{english.database().url(), english.database().schema()};
    holder.run("begin; lock table inbox.ledger in exclusive mode");
    CHECK(failure_of([&] { good.store(*german); }).fault == Fault::retry);
  }
  CHECK(good.store(*german).stored == 1);
  CHECK(good.store(*german).mismatched.size() == 1);
}

TEST_CASE("a server that shuts down or is not running needs a reconnect; it is neither poison nor stop") {
  PrivatePostgres server;
  Inbox inbox{server.url()};
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1);
  inbox.connection().open();
  server.stop();
  const auto lost = failure_of([&] { batch.store(inbox.connection()); });
  CHECK((lost.fault == Fault::in_doubt || lost.fault == Fault::reconnect));
  CHECK(failure_of([&] { batch.store(inbox.connection()); }).fault == Fault::reconnect);
  server.start();
  CHECK(batch.store(inbox.connection()).stored == 1);
}

// fault: read-only standby reached
TEST_CASE("a server that became read-only, as after a failover, needs a reconnect and is not poison") {
  PrivatePostgres server;
  Inbox inbox{server.url()};
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1);
  server.configure("default_transaction_read_only = on");
  inbox.database().wait_for(
      "it is read-only",
      "select count(*) from pg_settings where name = 'default_transaction_read_only' and setting = 'on'", 1);
  CHECK(failure_of([&] { batch.store(inbox.connection()); }).fault == Fault::reconnect);
  CHECK(failure_of([&] { batch.store(inbox.connection()); }).fault == Fault::reconnect);  // it tries the next host
  server.configure("default_transaction_read_only = off");
  wait_until("it is writable again", [&] {
    try {
      return batch.store(inbox.connection()).stored == 1;
    } catch (...) {
      return false;
    }
  });
}

TEST_CASE("under repeatable read, a batch that waited still sees handlers added meanwhile") {
  PrivatePostgres server{{"default_transaction_isolation = 'repeatable read'"}};
  Inbox inbox{server.url()};
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1);
  inbox.connection().open();
  Session adding{server.url(), inbox.database().schema()};
  adding.run(
      "begin; select pg_advisory_xact_lock(1768841848, 'inbox.routing'::regclass::oid::int); "
      "update inbox.routing set version = version + 1");
  inbox::IngestResult result;
  std::thread ingesting{[&] { result = batch.store(inbox.connection()); }};
  inbox.database().wait_for("the batch waits",
                            "select count(*) from pg_locks where locktype = 'advisory' and not granted", 1);
  adding.run("commit");
  ingesting.join();
  CHECK(result.routing_is_stale);
  CHECK(inbox.position("orders") == 0);
}

TEST_CASE("with a pooler without session settings, such transactions are refused and add no handler") {
  PrivatePostgres server;
  Inbox inbox{server.url()};
  const auto shard = inbox.add_shard("orders");
  Batch batch{inbox};
  batch.at(shard, 0).events(1);
  inbox.database().run(
      "create table inbox.event_20200101 partition of inbox.event for values from ('2020-01-01') to ('2020-01-02')");
  inbox.database().run("alter role postgres set default_transaction_isolation = 'repeatable read'");
  const PgBouncer pooler{server.url()};
  auto settings = inbox.settings();
  settings.url = pooler.url();
  settings.prepare = false;
  const auto pooled = inbox.connect(settings);

  const auto failure = failure_of([&] { batch.store(*pooled); });
  CHECK(failure.fault == Fault::stop);
  CHECK_THAT(failure.message, Catch::Matchers::ContainsSubstring("set default_transaction_isolation"));
  config::Handler handler;
  handler.name = "receipt";
  CHECK(failure_of([&] { inbox::register_handlers(*pooled, {handler}); }).fault == Fault::stop);
  CHECK(failure_of([&] { inbox::drop_partition(*pooled, "event", milliseconds{1}); }).fault == Fault::stop);
  CHECK(inbox.database().number("select count(*) from inbox.event") == 0);
}

TEST_CASE("running out of memory inside a transaction leaves it in doubt, and its session is not used again") {
  Inbox inbox;
  auto settings = inbox.settings();
  settings.schema += "_other";
  const auto connection = inbox.connect(settings);
  const auto failure = failure_of([&] {
    static_cast<void>(
        inbox::migrate(*connection, settings.schema, [](const inbox::Migration&) { throw std::bad_alloc{}; }));
  });
  CHECK(failure.fault == Fault::in_doubt);
  CHECK(failure.message == "not a database error: std::bad_alloc");
  CHECK_FALSE(connection->is_open());
  const int generation = connection->generation();
  wait_until("the slot works again", [&] {
    try {
      return inbox::migration_state(*connection, settings.schema).applied == 0;
    } catch (...) {
      CHECK(inbox::describe(std::current_exception()).fault == Fault::reconnect);
      return false;
    }
  });
  CHECK(connection->generation() > generation);
}
