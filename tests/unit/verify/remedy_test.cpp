#include <catch2/catch_test_macros.hpp>

#include "verify/report.hpp"

using namespace inboxd::verify;

TEST_CASE("each contradiction names the command that mends it") {
  Contradiction found;
  found.topic = "orders";
  found.partition = 3;
  found.offset = 81'723;
  found.handler = "receipt";
  found.rule = "missing_record";
  CHECK(remedy_for(found) == "inboxd partitions seek orders 3 --to 81723");
  found.rule = "id_without_event";  // to store it again could run its handlers again
  CHECK(remedy_for(found) ==
        "restore the event's row from a backup; inboxd events trace orders/3/81723 has its calls");
  found.rule = "pending_twice";
  CHECK(remedy_for(found) == "inboxd events skip orders/3/81723 --handler receipt --reason 'pending twice'");
  found.rule = "missing_state";
  found.received_at = 1'706'702'400'000'000;
  CHECK(remedy_for(found) ==
        "inboxd handlers backfill receipt --from 2024-01-31T12:00:00Z --to 2024-01-31T12:00:00.000001Z");
  found.rule = "lanes";
  found.detail = "the first event of its key is neither due nor leased: 12, 3, -456";
  CHECK(remedy_for(found) == "in psql: select inbox.advance_lanes(array[12], array[3], array[-456])");
}
