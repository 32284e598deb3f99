// The writers that store events, and deliver stored events.
#include "integration/delivery/writers.hpp"

namespace inboxd::support::writers {

namespace statements = inbox::statements;

std::vector<Writer> State::storing() {
  const auto numbers = [](const std::string& text) { return "{" + text + "," + text + "}"; };
  const auto ingest = [=, this](int place) {
    const std::string ids = "{0a000000-0000-4000-8000-00000000000" + std::to_string(place) +
                            ",0b000000-0000-4000-8000-00000000000" + std::to_string(place) + "}";
    const std::string at = shard(place), none = "{}", nulls = "{null,null}";
    // A run of the handler in order, leased under its sequence, and a run of the other handler, due.
    return Step{statements::ingest.sql,
                {owner_, "13", "1", "{" + at + "}", "{0}", "{20}", "{22}", "{0}", "false", "false", ids, numbers(at),
                 "{20,21}", "{1,2}", numbers(at), "{20,21}", ids, nulls, "{Happened,Happened}", nulls, nulls, nulls,
                 nulls, nulls, nulls, nulls, nulls, nulls, "{" + handler_ + "," + single_ + "}", numbers(at),
                 "{\"{[20,22)}\",\"{[20,22)}\"}", "{2,2}", "{60000,0}", "{" + at + ",null}", "{7,0}", nulls, none, none,
                 none, none, none, none, none, none, none, none, none, none, none, none}};
  };
  return {
      {"ingest", [=](int place) { return Steps{ingest(place)}; }},
      {"feed_backfill",
       [this](int /*place*/) {
         return Steps{{statements::feed_backfill.sql, {"{" + handler_ + "}", "{1000}", "1000000"}}};
       }},
      {"backfill cancel",
       [this](int /*place*/) { return Steps{{statements::op_backfill_cancel.sql, {handler_, "test"}}}; },
       false, true},
  };
}

}  // namespace inboxd::support::writers
