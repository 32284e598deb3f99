"""The guards of the promise: each is a comparison or an order of steps without which an event is lost, doubled or
overtaken. tests/guards/run removes them one at a time."""
from typing import NamedTuple


class Guard(NamedTuple):
    name: str  # the comparison or the kept order
    file: str
    text: str  # occurs once in the file
    without: str  # in its place
    test: str  # the program that must fail: TIER_NAME, with a title where one test is enough
    title: str = ""


GUARDS = [
    Guard("settle compares the fence of the lease", "sql/functions/settle.sql",
          "and d.fence = s.fence and d.owner = p_owner\n", "and d.owner = p_owner\n", "integration_delivery"),
    Guard("settle compares the pending offsets", "sql/functions/settle.sql",
          "\n      and d.pending @> s.settled::int8multirange", "", "integration_delivery"),
    Guard("settle compares the owner of the sequence", "sql/functions/settle.sql",
          "q.sequence = t.sequence and q.owner = p_owner)", "q.sequence = t.sequence)", "integration_delivery"),
    Guard("renew compares the fence of the lease", "sql/queries/renew.sql",
          "and d.fence = k.fence and d.owner", "and d.owner", "integration_delivery"),
    Guard("renew compares the owner of the sequence", "sql/queries/renew_sequences.sql",
          " and s.owner = $2::uuid", "", "integration_delivery"),
    Guard("a sequence with a changed fence is drained", "src/queue/sequences.cpp",
          "must_go || found->other_fence", "must_go", "unit_queue"),
    Guard("a sequence with a live owner is not taken", "sql/functions/take_sequences.sql",
          "    where s.owner is null or s.owner = p_owner or s.leased_until <= clock_timestamp()\n", "",
          "integration_delivery"),
    Guard("a sequence is taken after the settlements under way", "sql/functions/take_sequences.sql",
          "  perform inbox.await_settlements(p_handler, v_taken);\n", "", "integration_delivery"),
    Guard("ingest compares the position", "sql/functions/ingest.sql",
          "where newest.epoch = s.epoch and newest.next_offset = s.expected", "where newest.epoch = s.epoch",
          "integration_ingest"),
    Guard("ingest compares the epoch", "sql/functions/ingest.sql",
          "where newest.epoch = s.epoch and newest.next_offset", "where newest.next_offset", "integration_ingest"),
    Guard("ingest compares the routing's version", "sql/functions/ingest.sql",
          "if (select version from inbox.routing where only_row) <> p_routing_version then", "if false then",
          "integration_schema"),
    Guard("ingest compares the fence of the sequence", "sql/functions/ingest.sql",
          "and s.owner = p_owner and s.fence = r.fence))", "and s.owner = p_owner))", "integration_delivery"),
    Guard("the relay deletes under its fence", "sql/queries/relay_done.sql",
          "    and (select fence from held) = $2::bigint\n  returning 1),", "\n  returning 1),", "process_outbox"),
    Guard("a batch is reserved at the position that was read", "src/queue/sequences.cpp",
          "mine.taken_to == expected && ", "(mine.taken_to == expected || true) && ", "unit_simulation"),
    Guard("a sequence is kept until its runs have left memory", "src/queue/sequences.cpp",
          "sequence.runs > 0 || ", "", "unit_simulation"),
    Guard("a sequence is kept until its batches are stored", "src/queue/sequences.cpp",
          " || sequence.reserving > 0", "", "unit_queue"),
    Guard("a sequence that was not renewed is drained", "src/queue/sequences.cpp",
          "    if (found == renewed.end()) {\n      drain(key.sequence);", "    if (found == renewed.end()) {",
          "unit_queue"),
    Guard("a sequence past its lease is drained", "src/queue/sequences.cpp",
          "if (sequence.lease_end <= now) drain(number);", "if (sequence.lease_end <= now && false) drain(number);",
          "unit_simulation"),
    Guard("events that were put back keep their order", "src/queue/key_order.cpp",
          "while (place != to.begin() && is_earlier(pick, *std::prev(place)))", "while (false)", "unit_simulation"),
    Guard("an event joins no call behind a deferred event", "src/queue/key_order.cpp", "must_wait || (active.taken",
          "(must_wait && false) || (active.taken", "unit_queue"),
    Guard("events of several runs share no call", "src/queue/key_order.cpp",
          "(in_transaction || active.run == pick.run.get())",
          "(in_transaction || active.run == pick.run.get() || true)", "unit_simulation"),
    Guard("ready events of several runs share no call", "src/queue/key_order.cpp",
          "if (!out.empty() && !in_transaction && out.back().run != next.run) break;",
          "if (!out.empty() && !in_transaction && out.back().run != next.run && false) break;", "unit_simulation"),
    Guard("events go to the lane one run at a time", "src/queue/blocked_keys.cpp",
          "if (deferred.sent > 0 && deferred.sent_run != run) return false;", "", "unit_simulation"),
    Guard("events go to the lane after those that were taken", "src/queue/blocked_keys.cpp",
          "return run->lease.lane ? active.taken == 0 : active.taken == active.taken_of_lane;", "return true;",
          "unit_simulation"),
    Guard("an answer about lanes counts unless they changed since", "src/queue/blocked_keys.cpp",
          " || at->second.changes != at->second.checked_at", "", "unit_simulation"),
    Guard("a lost run stays in memory until its calls have ended", "src/queue/run_queue.cpp",
          "  at->second.leaving = Leaving::lost;\n",
          "  at->second.leaving = Leaving::lost;\n  events = at->second.events;\n", "unit_simulation"),
    Guard("an event behind an unrecorded failure is not called", "src/workers/work_batch.cpp",
          "if (!stopped_keys_.empty() && note_behind_failed(number, i)) continue;", "", "unit_simulation"),
    Guard("a gap ends after its transactions", "src/relay/gaps.cpp",
          "return !cut_short && entry.second.is_probed && entry.second.is_over;",
          "return !cut_short && entry.second.is_probed;", "unit_relay"),
]
