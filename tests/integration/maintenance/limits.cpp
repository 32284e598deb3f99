// Limits in bytes of what is kept for operators.
#include <catch2/catch_test_macros.hpp>
#include <catch2/matchers/catch_matchers_string.hpp>

#include "integration/operations/operation_runner.hpp"
#include "integration/support/inbox.hpp"
#include "maintenance/cleanup.hpp"

using namespace inboxd;
using namespace inboxd::support;
using namespace std::chrono_literals;

namespace {

/// Cleanup with limits of 1 MiB.
struct Limits {
  explicit Limits(Inbox& inbox) : cleanup{limited(), inbox.connection(), turn, log} {}
  static config::Settings limited() {
    config::Settings out;
    out.retention.dead_letter_bytes = out.retention.quarantine_bytes = 1 << 20;
    return out;
  }
  void check() {
    turn.begin(maintenance::Turn::Clock::now() + 10s);
    cleanup.check_limits();
  }
  base::Heartbeat heartbeat;
  base::StopSignal stop;
  maintenance::Turn turn{heartbeat, stop};
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  maintenance::Cleanup cleanup;
};

/// Bytes that no compression makes smaller.
constexpr const char* kilobyte =
    "(select string_agg(decode(md5(random()::text || i || n), 'hex'), '') from generate_series(1, 64) n)";

}  // namespace

TEST_CASE("a nearly full quarantine is warned about; a full quarantine loses nothing, and stays full until a discard") {
  Inbox inbox;
  const auto shard = std::to_string(inbox.add_shard("orders"));
  const auto reject = [&](int count) {
    inbox.database().run(std::string{"insert into inbox.quarantine (shard_id, \"offset\", reason, detail, payload, "
                                     "payload_size, digest) select $1::int, i, 'no_id', 'none', "} +
                             kilobyte + ", 1024, 0 from generate_series(1, $2::int) i",
                         {shard, std::to_string(count)});
  };
  Limits limits{inbox};
  reject(100);
  limits.check();
  CHECK_FALSE(limits.cleanup.full());
  reject(650);
  limits.check();
  REQUIRE(limits.cleanup.full());
  CHECK_THAT(*limits.cleanup.full(), Catch::Matchers::ContainsSubstring("of retention.quarantine_bytes, 1MiB"));
  CHECK_FALSE(limits.cleanup.quarantine_is_full());
  reject(400);
  limits.check();
  CHECK(limits.cleanup.quarantine_is_full());
  CHECK(inbox.database().number("select count(*) from inbox.quarantine where octet_length(payload) = 1024") == 1150);
  inbox.database().run("delete from inbox.quarantine where quarantine_id <= 400");
  limits.check();
  CHECK_FALSE(limits.cleanup.quarantine_is_full());
}

TEST_CASE("at the limit of dead letters, handlers that make them are paused as a problem, and resume below the limit") {
  Inbox inbox;
  const auto failing = std::to_string(inbox.add_handler("failing"));
  inbox.add_handler("good");
  const auto shard = std::to_string(inbox.add_shard("orders"));
  const auto die = [&](int first, int count) {
    inbox.database().run(
        std::string{"insert into inbox.dead_letter (handler_id, event_id, shard_id, \"offset\", event_type, payload, "
                    "received_at, attempts, reasons) select $1::int, gen_random_uuid(), $2::int, i, 'Happened', "} +
            kilobyte + ", now(), 1, '[]' from generate_series($3::int, $4::int) i",
        {failing, shard, std::to_string(first), std::to_string(first + count - 1)});
  };
  const auto paused = [&] {
    return inbox.database().text(
        "select coalesce(string_agg(name || ': ' || split_part(paused_reason, ';', 1), ', '), '') from inbox.handler "
        "where paused_reason is not null");
  };
  const auto finding = [&](const std::string& kind) {
    const auto status = OperationRunner{inbox}.run("status");
    for (const auto& each : status.document.at("findings")) {
      if (each.at("kind") == kind) return each;
    }
    return operations::Document(nullptr);
  };
  Limits limits{inbox};
  die(1, 700);
  limits.check();
  REQUIRE(limits.cleanup.full());
  CHECK(paused() == "");
  const inbox::InstanceIdentity daemon{base::random_uuid(), "host", 1};
  inbox::instance_heartbeat(inbox.connection(), daemon, false, limits.cleanup.full());
  auto found = finding("storage_full");
  REQUIRE_FALSE(found.is_null());
  CHECK_THAT(found.at("message").get<std::string>(),
             Catch::Matchers::EndsWith("MiB of retention.dead_letter_bytes, 1MiB"));
  CHECK_THAT(found.at("remedy").get<std::string>(),
             Catch::Matchers::ContainsSubstring("inboxd dead discard --handler HANDLER"));

  die(701, 300);
  limits.check();
  CHECK(paused() == "failing: dead letters have reached retention.dead_letter_bytes, 1MiB");
  found = finding("handler_paused_at_limit");
  REQUIRE_FALSE(found.is_null());
  CHECK(found.at("severity") == "problem");
  for (const char* const part : {"inboxd dead discard --handler failing", "inboxd dead replay --handler failing",
                                 "inboxd handlers resume failing"}) {
    CHECK_THAT(found.at("remedy").get<std::string>(), Catch::Matchers::ContainsSubstring(part));
  }
  inbox.database().run("delete from inbox.dead_letter where dead_letter_id in "
                       "(select dead_letter_id from inbox.dead_letter limit 500)");
  limits.check();
  CHECK(paused() == "");
  CHECK(inbox.database().text("select string_agg(operation, ', ' order by audit_id) from inbox.audit "
                              "where actor = 'daemon' and target = 'failing' and operation ~ 'pause|resume'") ==
        "handlers pause, handlers resume");
}

TEST_CASE("an operator's pause holds below the limit of dead letters, also if it began at the limit") {
  Inbox inbox;
  inbox.add_handler("failing");
  inbox.database().run("update inbox.handler set paused_reason = 'full', self_paused = true, limit_paused = true");
  CHECK(inbox.database().text("select inbox.pause_handler('failing', 'maintenance')") == "t");
  Limits limits{inbox};
  limits.check();
  CHECK(inbox.database().text("select paused_reason from inbox.handler") == "maintenance");
}
