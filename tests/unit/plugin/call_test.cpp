#include "plugin/call.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstring>
#include <thread>

#include "event/headers.hpp"
#include "plugin/host.hpp"

using namespace std::chrono_literals;
using inboxd::event::Verdict;
using inboxd::plugin::Call;
using inboxd::plugin::Cancellation;
using inboxd::plugin::Delivered;
using inboxd::plugin::verdict_of;
using Clock = std::chrono::steady_clock;

namespace {

/// A call of some events, without a handler.
struct Fixture {
  explicit Fixture(std::size_t count) : events(count) {
    for (auto& event : events) delivered.push_back({&event, "orders", 0, 1});
  }
  std::vector<inboxd::event::Event> events;
  std::vector<Delivered> delivered;
  Cancellation cancellation;
  Clock::time_point deadline = Clock::now() + 1h;
  Call make() const { return Call{delivered, cancellation, deadline}; }
};

/// A handler's verdict, as the daemon reads it.
Verdict taken(std::int32_t outcome, std::int64_t delay_ms, const std::string& error_class = "",
              const std::string& message = "") {
  const inboxd_verdict said = {sizeof(inboxd_verdict),
                               outcome,
                               delay_ms,
                               {error_class.data(), error_class.size()},
                               {message.data(), message.size()}};
  return verdict_of(&said);
}

}  // namespace

TEST_CASE("a verdict's texts are cut to their limits") {
  const Verdict verdict = taken(INBOXD_DEAD, 0, std::string(1000, 'c'), std::string(100'000, 'm'));
  CHECK(verdict.error_class == std::string(INBOXD_ERROR_CLASS_LIMIT, 'c'));
  CHECK(verdict.message == std::string(INBOXD_MESSAGE_LIMIT, 'm') + "…");
}

TEST_CASE("an error class keeps letters, digits, dots, hyphens and underscores") {
  CHECK(taken(INBOXD_RETRY, 0, "Some.class_1-a b\n\xC3\xA4").error_class == "Some.class_1-a_b___");
}

TEST_CASE("the delay of a retry is the handler's or the policy's") {
  CHECK_FALSE(taken(INBOXD_RETRY, INBOXD_POLICY_DELAY).delay.has_value());
  CHECK(taken(INBOXD_RETRY, 0).delay == 0ms);
  CHECK(taken(INBOXD_RETRY, INBOXD_MAX_DELAY_MS).delay == std::chrono::milliseconds{INBOXD_MAX_DELAY_MS});
  CHECK(taken(INBOXD_RETRY, INBOXD_MAX_DELAY_MS + 1).error_class == "bad-verdict");
}

TEST_CASE("a done verdict carries no texts") {
  const Verdict verdict = taken(INBOXD_DONE, 5, "class", "message");
  CHECK(verdict.kind == Verdict::Kind::done);
  CHECK(verdict.error_class.empty());
  CHECK(verdict.message.empty());
}

TEST_CASE("INBOXD_THE_REST means the events without a verdict") {
  const Fixture fixture{3};
  Call call = fixture.make();
  inboxd_dead(call.face(), 1, "x", "first");
  inboxd_done(call.face(), INBOXD_THE_REST);
  inboxd_dead(call.face(), INBOXD_THE_REST, "x", "no event is left");
  const auto verdicts = call.take_verdicts();
  CHECK(verdicts.at(0).kind == Verdict::Kind::done);
  CHECK(verdicts.at(1).message == "first");
  CHECK(verdicts.at(2).kind == Verdict::Kind::done);
}

TEST_CASE("headers are unpacked on request, and a null value differs from an empty value") {
  Fixture fixture{2};
  const std::string packed = inboxd::event::pack_headers({{"a", "1"}, {"a", std::nullopt}, {"b", ""}});
  fixture.events[1].headers = packed;
  Call call = fixture.make();
  CHECK(call.events()[0]->has_headers == 0);
  CHECK(call.events()[1]->has_headers == 1);
  std::size_t count = 7;
  CHECK(call.face()->headers(call.face(), 0, &count) == nullptr);
  CHECK(count == 0);
  CHECK(call.face()->headers(call.face(), 99, &count) == nullptr);
  const inboxd_header* const headers = call.face()->headers(call.face(), 1, &count);
  REQUIRE(count == 3);
  CHECK(headers[1].value.data == nullptr);
  CHECK((headers[2].value.data != nullptr && headers[2].value.size == 0));
  CHECK(call.face()->headers(call.face(), 1, &count) == headers);
  CHECK(inboxd_find_header(call.face(), 1, "a") == &headers[1]);
  CHECK(inboxd_find_header(call.face(), 1, "c") == nullptr);
}

TEST_CASE("a call is cancelled by request or by its deadline") {
  Fixture fixture{1};
  Call in_time = fixture.make();
  CHECK_FALSE(in_time.face()->is_cancelled(in_time.face()));
  CHECK(in_time.face()->deadline_ms_left(in_time.face()) > 3'000'000);
  fixture.cancellation.requested = true;
  CHECK(in_time.face()->is_cancelled(in_time.face()));

  Fixture late{1};
  late.deadline = Clock::now() - 1s;
  Call past = late.make();
  CHECK(past.face()->is_cancelled(past.face()));
  CHECK(past.face()->deadline_ms_left(past.face()) == 0);
}

TEST_CASE("an unknown extension is null, on the call and on the host") {
  const Fixture fixture{1};
  Call call = fixture.make();
  CHECK(call.face()->extension(call.face(), "inboxd.sql/1") == nullptr);
  std::vector<inboxd::plugin::Remark> remarks;
  const inboxd::plugin::EntryHost host{remarks};
  CHECK(host.extension(&host, "inboxd.sql/2") == nullptr);
  CHECK(host.extension(&host, nullptr) == nullptr);
}

TEST_CASE("INBOXD_HAS finds the fields that a host has, and no others") {
  std::vector<inboxd::plugin::Remark> remarks;
  const inboxd::plugin::EntryHost host{remarks};
  const inboxd_host* const seen = &host;
  CHECK(INBOXD_HAS(seen, extension));
  inboxd_host older = host;
  older.struct_size = offsetof(inboxd_host, extension);
  CHECK(INBOXD_HAS(&older, log));
  CHECK_FALSE(INBOXD_HAS(&older, extension));
}
