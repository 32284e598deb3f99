// A handler's rows and the mark that its events are done are one commit: counted, whoever dies when.
#include <catch2/catch_get_random_seed.hpp>
#include <catch2/catch_test_macros.hpp>
#include <csignal>
#include <memory>
#include <random>

#include "process/support/application.hpp"
#include "process/support/load.hpp"
#include "process/support/stage.hpp"
#include "support/proxy.hpp"

using namespace inboxd;
using namespace inboxd::support;

namespace {

constexpr milliseconds lease{1'000};
constexpr int instances = 3;

/// What a client sends to commit: the text, ended by a 0 byte.
const std::string commits{"commit\0", 7};

/// An instance with a network of its own to the database.
struct Member {
  explicit Member(const Stage& stage) : proxy{port_of(stage.config.url)}, config{stage.config} {
    config.url = url_with_port(stage.config.url, proxy.port());
  }
  void start() {
    daemon = std::make_unique<Daemon>(config);
    daemon->wait_ready();
  }

  Proxy proxy;
  ConfigText config;
  std::unique_ptr<Daemon> daemon;
};

/// What can happen to an instance, drawn at random.
class Chaos final {
 public:
  Chaos(Stage& stage, unsigned seed) : random_{seed} {
    for (int i = 0; i < instances; ++i) members_.push_back(std::make_unique<Member>(stage));
    for (auto& member : members_) member->start();
  }

  void strike() {
    Member& member = *members_[static_cast<std::size_t>(draw(instances))];
    switch (draw(5)) {
      case 0:
        member.daemon->kill();
        member.start();
        ++kills;
        break;
      case 1:
        member.proxy.cut();
        ++cuts;
        break;
      case 2:
        member.proxy.cut_at(commits, Proxy::Cut::after, 1, draw(3));
        ++commit_traps;
        break;
      case 3:
        member.proxy.cut_at(commits, Proxy::Cut::before, 1, draw(3));
        ++commit_traps;
        break;
      default:
        member.daemon->process().signal(SIGSTOP);
        // Longer than the lease: what it had in hand is taken over.
        std::this_thread::sleep_for(lease + milliseconds{300 + draw(700)});
        member.daemon->process().signal(SIGCONT);
        ++stops;
    }
  }
  int commits_cut() const {
    int sum = 0;
    for (const auto& member : members_) sum += member->proxy.cuts();
    return sum;
  }
  int draw(int below) { return std::uniform_int_distribution<int>{0, below - 1}(random_); }

  int kills = 0, cuts = 0, commit_traps = 0, stops = 0;

 private:
  std::mt19937 random_;
  std::vector<std::unique_ptr<Member>> members_;
};

/// A handler that takes its time, so that it is met inside its transactions.
constexpr std::string_view books_slowly =
    "insert into app.booked (event_id, n) select event_id, (body->>'n')::bigint from events "
    "where (select pg_sleep(0.01)) is not null";

}  // namespace

TEST_CASE("three instances that are killed, stopped past their lease and cut off, also at COMMIT: each row once") {
  Stage stage{6};
  Application app{stage.database};
  app.create_book();
  app.run("create table app.single (event_id uuid not null, n bigint)");
  const auto keys = [](const std::string& more) {
    return std::vector<std::string>{"concurrency: 2", "lease: " + std::to_string(lease.count()) + "ms",
                                    "retry: {base: 50ms, cap: 200ms}", more};
  };
  stage.config.handlers = {
      app.statement("set", books_slowly, keys("events_per_call: 100")),
      app.statement("single", "insert into app.single select event_id, (body->>'n')::bigint from events",
                    keys("group: 20"))};
  stage.migrate();
  Chaos chaos{stage, Catch::getSeed()};
  const std::int64_t events = 100'000;
  {
    Load load{stage, 3'000};
    while (load.produced() < events) {
      chaos.strike();
      load.wait_for_more(events / 100);
    }
    load.finish();
  }
  const Tally set = stage.wait_done("set", milliseconds{240'000});
  const Tally single = stage.wait_done("single", milliseconds{240'000});
  WARN(chaos.kills << " kills, " << chaos.stops << " stops, " << chaos.cuts << " cuts, " << chaos.commits_cut()
                   << " of them at COMMIT; set: " << set.text() << "; single: " << single.text());
  CHECK(set.is_perfect());
  CHECK(single.is_perfect());
  CHECK(app.booked() == set.produced);
  CHECK(app.booked_events() == set.produced);
  CHECK(app.number("select count(*) from app.single") == set.produced);
  CHECK(app.number("select count(distinct event_id) from app.single") == set.produced);
  CHECK(stage.database.number("select count(*) from inbox.dead_letters") == 0);
  CHECK(stage.offsets_ahead() == 0);
}

TEST_CASE("the answer to COMMIT never comes, or COMMIT never arrives: the row is there once") {
  for (const auto when : {Proxy::Cut::after, Proxy::Cut::before}) {
    Stage stage{1};
    Application app{stage.database};
    app.create_book();
    stage.config.handlers = {app.statement("set", books_each, {"events_per_call: 100"})};
    stage.migrate();
    Member member{stage};
    member.start();
    member.proxy.cut_at(commits, when, 3);
    for (int round = 0; round < 6; ++round) {
      stage.produce(50);
      app.wait_for("they are booked",
                   "select (count(*) >= " + std::to_string(50 * (round + 1)) + ")::int from app.booked", 1);
    }
    CHECK(stage.wait_done("set").is_perfect());
    CHECK(app.booked() == 300);
    CHECK(app.booked_events() == 300);
    CHECK(member.proxy.cuts() == 3);
    CHECK(stage.database.number("select count(*) from inbox.failure") == 0);  // the network is nobody's failure
  }
}

TEST_CASE("a zombie's insert is not there") {
  Stage stage{1};
  Application app{stage.database};
  app.create_book();
  app.run("create table app.gate (open boolean)");
  app.run(
      "create function app.passes() returns boolean language plpgsql as $$ begin "
      "while not exists (select from app.gate) loop perform pg_sleep(0.02); end loop; return true; end $$");
  const std::vector<std::string> keys{"lease: 1s", "deadline: 60s", "events_per_call: 10", "concurrency: 1"};
  stage.config.handlers = {app.statement("set", std::string{books_each} + " where app.passes()", keys)};
  const auto zombie = stage.start();
  stage.produce(10);
  app.wait_for(
      "its statement runs",
      "select (count(*) > 0)::int from pg_stat_activity where wait_event = 'PgSleep' and query like '%app.passes%'", 1);
  zombie->process().signal(SIGSTOP);

  stage.config.handlers = {app.statement("set", books_each, keys)};
  const auto other = stage.start();
  CHECK(stage.wait_done("set").is_perfect());
  CHECK(app.booked() == 10);

  app.run("insert into app.gate values (true)");  // its insert goes on in the server
  zombie->process().signal(SIGCONT);
  zombie->wait_log("lost");
  stage.produce(10);
  CHECK(stage.wait_done("set").is_perfect());
  CHECK(app.booked() == 20);
  CHECK(app.booked_events() == 20);
  CHECK(zombie->stop() == ExitStatus{0, 0});
}
