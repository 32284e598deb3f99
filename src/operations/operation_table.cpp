#include "operations/operation_table.hpp"

#include <utility>

#include "operations/answers.hpp"
#include "operations/page_mark.hpp"

namespace inboxd::operations {
namespace {

using Kind = Parameter::Kind;
using Place = Parameter::Place;
using Parameters = std::vector<Parameter>;

Parameters joined(Parameters first, const Parameters& more) {
  first.insert(first.end(), more.begin(), more.end());
  return first;
}

Parameters event_filter() {
  Parameter search{"search", Kind::number, "with --type, --key, --handler or --state: search only the N newest events",
                   "N"};
  search.default_number = 20'000;
  search.least = 1;
  search.most = 1'000'000'000;
  const Parameters states{
      {"handler", Kind::text, "that this handler got or will get", "NAME"},
      {"state", Kind::texts, "due, leased, retrying, waiting, parked, done, dead, … for a handler", "STATE"}};
  return joined(joined({{"topic", Kind::texts, "of this topic; NAME* for a prefix", "NAME"},
                        {"type", Kind::texts, "of this type; NAME* for a prefix", "TYPE"}},
                       joined(key_parameters(), states)),
                {since_parameter("received"), until_parameter("received"), limit_parameter(20), before_parameter(),
                 search});
}

Parameters dead_filter() {
  return {{"handler", Kind::text, "of this handler", "NAME"},
          {"type", Kind::texts, "events of this type; NAME* for a prefix", "TYPE"},
          {"error", Kind::texts, "with this class of last error; NAME* for a prefix", "CLASS"},
          {"message", Kind::text, "with this text in the last error's message", "TEXT"},
          since_parameter("died"),
          until_parameter("died")};
}

Parameters confirmation() { return {dry_run_parameter(), yes_parameter()}; }

Parameters lane_filter() { return joined({{"handler", Kind::text, "of this handler", "NAME"}}, key_parameters()); }

/// The audit does not have the value.
Parameter hidden(Parameter parameter) {
  parameter.is_hidden = true;
  return parameter;
}

/// Keys of persons must not end in the audit.
Parameters hidden_key() {
  Parameters out;
  for (Parameter& parameter : key_parameters()) out.push_back(hidden(std::move(parameter)));
  return out;
}

Parameters quarantine_filter() {
  return {{"topic", Kind::texts, "of this topic; NAME* for a prefix", "NAME"},
          {"reason", Kind::texts, "no_id, bad_id, too_large, undecodable, conflict or poison", "REASON"},
          since_parameter("received"),
          until_parameter("received")};
}

Parameters partition_filter() {
  return {{"topic", Kind::texts, "of this topic; NAME* for a prefix", "NAME"},
          {"halted", Kind::flag, "only halted partitions"},
          {"all", Kind::flag, "include former incarnations"}};
}

Parameters dead_selection() {
  const Parameter ids{"id", Kind::texts, "numbers, event_ids, producers' ids or TOPIC/PARTITION/OFFSET", "ID",
                      Place::optional_word};
  return joined(joined(joined({ids}, dead_filter()), hidden_key()),
                joined({{"all", Kind::flag, "every dead letter"}}, confirmation()));
}

Parameters dead_edit_parameters() {
  return joined(
      {{"id", Kind::text, "number, event_id, the producer's id, or TOPIC/PARTITION/OFFSET", "ID", Place::word},
       {"handler", Kind::text, "of this handler, if the event is a dead letter of several", "NAME"},
       {"payload", Kind::bytes, "the new payload: a file's content", "FILE"},
       hidden({"header", Kind::texts, "a header in place of the headers of that name", "NAME=VALUE"})},
      confirmation());
}

Parameters dead_note_parameters() {
  return joined({{"note", Kind::text, "the note, at most 1,000 bytes", "TEXT", Place::word},
                 {"handler", Kind::text, "of this handler (required)", "NAME"},
                 {"error", Kind::text, "with this class of the last error (required)", "CLASS"}},
                confirmation());
}

Parameters quarantine_selection() {
  const Parameter ids{"id", Kind::texts, "numbers of records", "NUMBER", Place::optional_word};
  return joined(joined({ids}, quarantine_filter()), joined({{"all", Kind::flag, "every record"}}, confirmation()));
}

Parameters event_id() {
  return {{"id", Kind::text, "event_id, the producer's id, or TOPIC/PARTITION/OFFSET", "ID", Place::word}};
}

Parameters event_and_handler(const Parameters& more) {
  const Parameter handler{"handler", Kind::text, "for this handler (required)", "NAME"};
  return joined(joined(joined(event_id(), {handler}), more), confirmation());
}

Parameters events_to_retry() {
  Parameter id = event_id().front();
  id.place = Place::optional_word;
  const Parameter handler{"handler", Kind::text, "for this handler (required)", "NAME"};
  const Parameter error{"error", Kind::texts, "without ID: with this class of last error; NAME* for a prefix", "CLASS"};
  return joined(Parameters{id, handler, error}, confirmation());
}

Parameters handler_name() {
  return joined({{"handler", Kind::text, "the handler's name", "NAME", Place::word}}, confirmation());
}

Parameters backfill_selection() {
  return joined(
      {{"from", Kind::time, "received at this time or later: 2024-01-31T12:00:00Z, or 2h for two hours ago", "TIME"},
       {"to", Kind::time, "received before this time (default: now)", "TIME"},
       {"topic", Kind::texts, "of this topic; NAME* for a prefix", "NAME"},
       {"type", Kind::texts, "of this type; NAME* for a prefix", "TYPE"},
       rate_parameter(),
       {"again", Kind::flag, "also events that it has done, skipped, expired or given up"},
       {"cancel", Kind::flag, "end the running back-fill instead"}},
      confirmation());
}

Parameters topic_and_partition(Place place_of_partition) {
  Parameter partition{"partition", Kind::number, "the partition's number", "PARTITION", place_of_partition};
  partition.most = 1'000'000;
  return joined({{"topic", Kind::text, "the topic", "TOPIC", Place::word}, partition}, confirmation());
}

}  // namespace

std::vector<Operation> operations() {
  constexpr auto read = Permission::read;
  constexpr auto read_with_token = Permission::read_with_token;
  constexpr auto change = Permission::change;
  std::vector<Operation> out{
      {"status",
       "Topics, handlers and daemons at a glance. Lag `? (4 s)`: unknown, the last figure is 4 s old.",
       read,
       Needs::database,
       functions::status,
       answers::status,
       {{"sizes", Kind::flag, "also bytes of each table and day, their growth, and days until the oldest is dropped"}},
       {{"status", "once; exits with 1 if an operator has to act"},
        {"status --watch", "again every two seconds, until Ctrl-C"},
        {"status --sizes", "with bytes of each table and day"},
        {"status --json", "for a program"}}},

      {"events list",
       "Stored events, newest first. With a filter by type, key, handler or state it searches the --search newest and "
       "names the --until that continues; with the index by key (sql/README.md), --key searches all.",
       read_with_token,
       Needs::database,
       functions::events_list,
       answers::events_list,
       event_filter(),
       {{"events list", "the newest of all topics"},
        {"events list --topic orders --since 30m", "of one topic, of the last half hour"},
        {"events list --handler receipt --state retrying", "events that a handler failed and will retry"},
        {"events list --key customer-4711 --search 1000000", "of one key, among the newest million"},
        {"events list --type \"order.*\" --limit 100 --json", "by type, for a program"}}},
      {"events show",
       "One event and its state for each handler.",
       read_with_token,
       Needs::database,
       functions::events_show,
       answers::events_show,
       event_id(),
       {{"events show 0190d3f5-8f2a-7000-8000-1a2b3c4d5e6f", "by event_id"},
        {"events show ORDER-4711", "by the producer's id"},
        {"events show orders/3/81723", "by topic, partition and offset"}},
       answers::events_not_one},
      {"events trace",
       "The history of one event in the order of time.",
       read_with_token,
       Needs::database,
       functions::events_trace,
       answers::events_trace,
       event_id(),
       {{"events trace orders/3/81723", "from Kafka to the last outcome"}},
       answers::events_not_one},
      {"events failures",
       "Failed attempts, newest first, by default of the last hour; `inboxd tail --failed` follows them.",
       read_with_token,
       Needs::database,
       functions::events_failures,
       answers::events_failures,
       joined({{"handler", Kind::text, "of this handler", "NAME"}},
              joined(key_parameters(), {since_parameter("failed"), limit_parameter(100)})),
       {{"events failures --since 10m", "of the last ten minutes"},
        {"events failures --handler receipt --key customer-4711 --since 1h --json", "of one key, for a program"}}},
      {"events retry",
       "Retries an event now that waits for its next attempt; without an ID, all such events of the handler.",
       change,
       Needs::database,
       functions::events_retry,
       answers::events_change,
       events_to_retry(),
       {{"events retry ORDER-4711 --handler receipt", "after confirmation"},
        {"events retry --handler receipt --error 'http.*' --yes", "all that failed with such a class"}}},
      {"events skip",
       "Makes a pending event a dead letter of class operator.skipped. Later events of its key go on without it. An "
       "event that is blocked or blocks its key keeps its place for `dead replay`.",
       change,
       Needs::database,
       functions::events_skip,
       answers::events_change,
       event_and_handler({{"reason", Kind::text, "kept as the dead letter's message (required)", "TEXT"}}),
       {{"events skip orders/3/81723 --handler receipt --reason obsolete", "after confirmation"}}},
      {"events forget",
       "Erases a person's data: key, payload, headers and subject of all events, dead letters and quarantined records "
       "with a key. Ids and outcomes stay. Pending events of the key are skipped, with an outcome. Reads all events. "
       "A restore of the database, or reading from Kafka again, brings the data back: erase it again then.",
       change,
       Needs::database,
       functions::events_forget,
       answers::events_forget,
       joined(hidden_key(), confirmation()),
       {{"events forget --key customer-4711 --dry-run", "shows how many"},
        {"events forget --key-hex 00112233", "after confirmation, in small transactions"}}},

      {"dead list",
       "Dead letters, newest first, and their number by handler and error class.",
       read_with_token,
       Needs::database,
       functions::dead_list,
       answers::dead_list,
       joined(joined(dead_filter(), key_parameters()),
              {{"group-by", Kind::text, "only their numbers, by error, type or handler", "WHAT"},
               limit_parameter(50),
               before_parameter()}),
       {{"dead list", "the newest of all handlers"},
        {"dead list --handler billing --since 2h", "of one handler, of the last two hours"},
        {"dead list --error \"timeout*\" --json", "by class of the last error, for a program"},
        {"dead list --group-by error", "how many by class of the last error, and the newest time of each"}}},
      {"dead show",
       "One dead letter: the whole event and the error of every attempt.",
       read_with_token,
       Needs::database,
       functions::dead_show,
       answers::dead_show,
       {{"id", Kind::text, "number, event_id, the producer's id, or TOPIC/PARTITION/OFFSET", "ID", Place::word}},
       {{"dead show 12", "by the number in the list"},
        {"dead show 0190d3f5-8f2a-7000-8000-1a2b3c4d5e6f", "by event_id, of every handler"},
        {"dead show ORDER-4711", "by the producer's id"},
        {"dead show orders/3/81723", "by topic, partition and offset"}},
       answers::dead_not_one},
      {"dead replay",
       "Delivers dead letters to their handlers again, from the first attempt, in the order of their partitions. A "
       "sequential handler gets them key by key, before later events of the key. It begins no call in their partitions "
       "until the running calls have ended. Events that a dead letter has parked come with it, at any --rate. Events "
       "that fail again meanwhile are not replayed twice.",
       change,
       Needs::database,
       functions::dead_replay,
       answers::dead_replay,
       joined(dead_selection(), {rate_parameter()}),
       {{"dead replay --handler billing --error \"timeout*\" --dry-run", "shows how many"},
        {"dead replay --handler billing --error \"timeout*\" --rate 50", "50 a second, after confirmation"},
        {"dead replay --key ORDER-4711 --dry-run", "of one key"},
        {"dead replay 12 13 --yes", "two of them, without confirmation"}}},
      {"dead edit",
       "Replays a dead letter with another payload or other headers, for its handler only. The original stays: `dead "
       "show` and `events show` show both.",
       change,
       Needs::database,
       functions::dead_edit,
       answers::dead_edit,
       dead_edit_parameters(),
       {{"dead edit 12 --payload mended.json", "the file's content in place of the payload, after confirmation"},
        {"dead edit orders/3/81723 --handler receipt --header tenant=a", "of one of several handlers, one header"}}},
      {"dead discard",
       "Removes dead letters for good; outcomes and audit keep a record of them. Events that a dead letter has parked "
       "are delivered; parked events are removed only by their IDs.",
       change,
       Needs::database,
       functions::dead_discard,
       answers::dead_discard,
       dead_selection(),
       {{"dead discard --handler billing --until 90d --dry-run", "shows how many"},
        {"dead discard 12 --yes", "one of them, without confirmation"}}},
      {"dead note",
       "Notes for others about the dead letters of a handler with a class of error; dead list and the page show the "
       "newest. An empty text takes it away.",
       change,
       Needs::database,
       functions::dead_note,
       answers::dead_note,
       dead_note_parameters(),
       {{"dead note OPS-4711 --handler billing --error sql.23514", "names the ticket"}}},

      {"lanes list",
       "Keys of sequential handlers that are blocked by a failed event, or parked by a dead letter.",
       read_with_token,
       Needs::database,
       functions::lanes_list,
       answers::lanes_list,
       joined(lane_filter(), {limit_parameter(50)}),
       {{"lanes list --handler receipt", "of one handler, keys with most events first"},
        {"lanes list --key ORDER-4711 --json", "one key, for a program"}}},
      {"lanes release",
       "Delivers the events of parked keys in their order. The dead letter that parks a key stays dead; to deliver it "
       "first, use `dead replay`. No call begins in their partitions until the running calls have ended.",
       change,
       Needs::database,
       functions::lanes_release,
       answers::lanes_release,
       joined(joined({{"handler", Kind::text, "of this handler", "NAME"}}, hidden_key()),
              joined({{"all", Kind::flag, "every parked key"}}, confirmation())),
       {{"lanes release --handler receipt --dry-run", "shows how many"},
        {"lanes release --handler receipt --key ORDER-4711", "one key, after confirmation"}}},

      {"quarantine list",
       "Records that could not become events, newest first.",
       read_with_token,
       Needs::database,
       functions::quarantine_list,
       answers::quarantine_list,
       joined(quarantine_filter(), {{"groups", Kind::flag, "also their numbers by topic and reason"},
                                    limit_parameter(50),
                                    before_parameter()}),
       {{"quarantine list", "the newest"},
        {"quarantine list --groups --limit 1", "how many by topic and reason, and the newest record"},
        {"quarantine list --topic orders --since 2h", "of one topic, of the last two hours"},
        {"quarantine list --reason conflict --json", "records that reuse an id for other content, for a program"}}},
      {"quarantine show",
       "One record as it came from Kafka, and why it is no event.",
       read_with_token,
       Needs::database,
       functions::quarantine_show,
       answers::quarantine_show,
       {{"id", Kind::text, "number, or TOPIC/PARTITION/OFFSET", "ID", Place::word}},
       {{"quarantine show 12", "by the number in the list"},
        {"quarantine show orders/3/81723", "by topic, partition and offset"}}},
      {"quarantine retry",
       "Decodes records by today's configuration; stores and delivers the records that are events now.",
       change,
       Needs::database,
       functions::quarantine_retry,
       answers::quarantine_retry,
       joined(quarantine_selection(), {rate_parameter()}),
       {{"quarantine retry --topic orders --dry-run", "shows how many become events, and why others stay"},
        {"quarantine retry --topic orders --rate 100", "the records of one topic, 100 a second"},
        {"quarantine retry 12 13 --yes", "two of them, without confirmation"}}},
      {"quarantine discard",
       "Removes records from quarantine for good; the audit lists them.",
       change,
       Needs::database,
       functions::quarantine_discard,
       answers::quarantine_discard,
       quarantine_selection(),
       {{"quarantine discard --topic orders --until 90d --dry-run", "shows how many"},
        {"quarantine discard 12 --yes", "one of them, without confirmation"}}},

      {"handlers list",
       "Registered handlers with their subscriptions and pending events.",
       read,
       Needs::database,
       functions::handlers_list,
       answers::handlers_list,
       {},
       {{"handlers list", "all, including handlers that no configuration names any more"}}},
      {"handlers pause",
       "Pauses a handler in all instances, across restarts; its events wait. Ingest goes on.",
       change,
       Needs::database,
       functions::handlers_pause,
       answers::handlers_pause,
       joined(handler_name(), {{"reason", Kind::text, "shown by status and in the audit (required)", "TEXT"}}),
       {{"handlers pause receipt --reason maintenance", "after confirmation; obeyed within two seconds"}}},
      {"handlers resume",
       "Resumes a paused handler. A handler that its fuse has paused tries a single event first: if that succeeds it "
       "runs again, otherwise it stays paused. Resumed once more meanwhile, it runs without a trial.",
       change,
       Needs::database,
       functions::handlers_resume,
       answers::handlers_resume,
       handler_name(),
       {{"handlers resume receipt", "after confirmation; obeyed within two seconds"}}},
      {"handlers run",
       "Closes the window of a batch handler now, with any number of events. Its next close stays as planned.",
       change,
       Needs::database,
       functions::handlers_run,
       answers::handlers_run,
       handler_name(),
       {{"handlers run daily-report --dry-run", "shows how many events wait"},
        {"handlers run daily-report", "after confirmation; the handler is called within a second"}}},
      {"handlers backfill",
       "Delivers stored events of the handler's subscription to it, in bites, below live events: events that it never "
       "got, each once. The daemons do the work, also after Ctrl-C; `status` shows the offsets to go.",
       change,
       Needs::database,
       functions::handlers_backfill,
       answers::handlers_backfill,
       joined({{"handler", Kind::text, "the handler's name", "NAME", Place::word}}, backfill_selection()),
       {{"handlers backfill receipt --from 2024-01-31T00:00:00Z --to 2024-02-01T00:00:00Z --dry-run", "shows its size"},
        {"handlers backfill receipt --from 7d --type OrderPlaced --rate 500", "after confirmation; shows its progress"},
        {"handlers backfill receipt --cancel", "ends it; events that are pending already stay"}}},
      {"handlers retire",
       "Stops delivering to a handler and drops its pending events; outcomes and dead letters stay.",
       change,
       Needs::database,
       functions::handlers_retire,
       answers::handlers_retire,
       handler_name(),
       {{"handlers retire receipt --dry-run", "shows how many events would be dropped"},
        {"handlers retire receipt", "after confirmation; holds although a configuration still names the handler"}}},
      {"handlers restore",
       "Delivers new events to a retired handler again, none of the events stored meanwhile.",
       change,
       Needs::database,
       functions::handlers_restore,
       answers::handlers_restore,
       handler_name(),
       {{"handlers restore receipt", "daemons that configure it run it again within seconds"}}},

      {"partitions list",
       "Partitions with their positions, lag, gaps and halts.",
       read,
       Needs::database,
       functions::partitions_list,
       answers::partitions_list,
       partition_filter(),
       {{"partitions list", "the newest incarnation of each partition"},
        {"partitions list --halted", "halted partitions and the command that resumes them"},
        {"partitions list --topic orders --all", "including former incarnations"}},
       nullptr,
       {"shards list"}},
      {"partitions accept-gap",
       "Resumes a halted partition after records that Kafka has lost.",
       change,
       Needs::database,
       functions::partitions_accept_gap,
       answers::partitions_accept_gap,
       topic_and_partition(Place::word),
       {{"partitions accept-gap orders 3 --dry-run", "shows the offsets that would be skipped"},
        {"partitions accept-gap orders 3", "skips them, after confirmation"}},
       nullptr,
       {"shards accept-gap"}},
      {"partitions accept-recreated",
       "Starts a topic that was deleted and created again at its beginning.",
       change,
       Needs::database,
       functions::partitions_accept_recreated,
       answers::partitions_accept_recreated,
       topic_and_partition(Place::optional_word),
       {{"partitions accept-recreated orders", "all its halted partitions, after confirmation"},
        {"partitions accept-recreated orders 3 --yes", "one of them, without confirmation"}},
       nullptr,
       {"partitions accept-incarnation", "shards accept-recreated", "shards accept-incarnation"}},

      {"partitions seek",
       "Reads a partition from another offset. Known events are absorbed by the ledger; events that it has forgotten "
       "are stored and delivered as new; quarantined records come again. Below the log's start the partition halts, "
       "until `partitions accept-gap`. A time means the first event received since then.",
       change,
       Needs::database,
       functions::partitions_seek,
       answers::partitions_seek,
       joined({{"to", Kind::text, "the offset, or a time such as 2024-01-31T12:00:00Z (required)", "OFFSET|TIME"}},
              topic_and_partition(Place::word)),
       {{"partitions seek orders 3 --to 81723 --dry-run", "shows how many events would be stored as new"},
        {"partitions seek orders 3 --to 2024-01-31T12:00:00Z", "after confirmation; a daemon obeys within 15 s"}}},

      {"instance pause",
       "Pauses all handlers of this instance until it is resumed or restarted.",
       change,
       Needs::daemon,
       functions::instance_pause,
       answers::instance_paused,
       confirmation(),
       {{"instance pause --yes", "without confirmation; needs admin.token"}}},
      {"instance resume",
       "Resumes all handlers of this instance.",
       change,
       Needs::daemon,
       functions::instance_resume,
       answers::instance_paused,
       confirmation(),
       {{"instance resume --yes", "without confirmation; needs admin.token"}}},
  };
  for (Operation& each : outbox_operations()) out.push_back(std::move(each));
  for (Operation& each : process_operations()) out.push_back(std::move(each));
  return out;
}

}  // namespace inboxd::operations
