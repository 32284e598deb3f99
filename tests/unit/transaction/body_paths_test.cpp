#include "transaction/body_paths.hpp"

#include <catch2/catch_test_macros.hpp>

#include "transaction/body_watch.hpp"

namespace inboxd::transaction {
namespace {

using Paths = std::vector<std::string>;
using std::chrono::seconds;

}  // namespace

TEST_CASE("the paths of a statement are the paths below column body of relation events, as written") {
  CHECK(body_paths("insert into t select event_id, body->>'orderId', (body ->> 'amount')::numeric from events") ==
        Paths{"body->>'orderId'", "body ->> 'amount'"});
  CHECK(body_paths("select events.body #>> '{a,b}', e.body->'it''s'->0->>'x' from events as e") ==
        Paths{"body #>> '{a,b}'", "body->'it''s'->0->>'x'"});
  CHECK(body_paths("select BODY->>'n', \"body\"->>'n' from events") == Paths{"BODY->>'n'", "\"body\"->>'n'"});
  CHECK(body_paths("select body->>'n' /* body */, 'body', $$ body $$ -- body\n from events where body->>'n' > '1'") ==
        Paths{"body->>'n'"});
  CHECK(body_paths("select 1 -- a comment ends with its line\r, body->>'n' from events") == Paths{"body->>'n'"});
  CHECK(body_paths("select e.body->>E'a\\'b' from events e") == Paths{"body->>E'a\\'b'"});
}

TEST_CASE("a statement that uses body in any other way has no paths to judge by") {
  CHECK(body_paths("select event_id from events").empty());
  CHECK(body_paths("insert into t select event_id, body from events").empty());
  CHECK(body_paths("insert into t (event_id, body) select event_id, body->>'x' from events").empty());
  CHECK(body_paths("select body->>'x', jsonb_array_length(body) from events").empty());
  CHECK(body_paths("select m.body->>'x' from events e join app.mail m on m.id = e.event_id").empty());
  CHECK(body_paths("select body->>key from events").empty());
  CHECK(body_paths("select 'unfinished body->>").empty());
}

TEST_CASE(
    "events without a value at any path count in a row until an event has a value, and are looked at again later") {
  BodyWatch watch;
  const Paths paths{"body->>'n'"};
  BodyWatch::Clock::time_point now{};
  CHECK(watch.is_due(now));
  watch.add(paths, 60, 0, now);
  watch.add(paths, 60, 0, now);
  CHECK(watch.is_due(now));
  CHECK(watch.seen().without_value == 120);
  CHECK(watch.seen().paths == paths);
  watch.add(paths, 10, 1, now);
  CHECK(watch.seen().without_value == 0);
  CHECK_FALSE(watch.is_due(now + seconds{59}));
  CHECK(watch.is_due(now + seconds{60}));
  watch.add(paths, 70, 0, now);
  watch.add({"body->>'m'"}, 40, 0, now);  // another statement
  CHECK(watch.seen().without_value == 40);
}

}  // namespace inboxd::transaction
