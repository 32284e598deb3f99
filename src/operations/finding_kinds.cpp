#include "operations/finding_kinds.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace inboxd::operations {
namespace {

constexpr auto problem = FindingKind::Grade::problem;
constexpr auto remark = FindingKind::Grade::remark;

/// By room: intake, daemons, handlers, stored records, outbox.
constexpr std::array kinds = std::to_array<FindingKind>({
    {"partition_halted", problem, "InboxdPartitionHalted", "{partitions} halted", "inboxd partitions list --halted"},
    {"transaction_open", remark, "InboxdPartitionStandsStill",
     "an open transaction holds {partition} back at offset {offset} since {since} ({age}); {lag} {lag:record "
     "waits|records wait}",
     "kafka-transactions.sh describe-producers{of_partition} names the producer; abort{of_partition} --start-offset "
     "{offset} ends its transaction"},
    {"partition_not_read", problem, "InboxdPartitionUnread",
     "{records} {records:record|records} of {partitions} {records:waits|wait} unread for {age}: {why}",
     "give programs other than inboxd a group of their own; inboxd partitions list shows the lag"},
    {"partition_position_unknown", problem, "InboxdPartitionUnread",
     "{partitions} is not read for {age}, because the position is not known: {why}",
     "inboxd check tests brokers and topics; topics[].exclude takes a topic out"},
    {"partition_stalled", problem, "InboxdPartitionUnread",
     "{records} {records:record|records} of {partitions} {records:waits|wait}, and the position has not moved for "
     "{age} although the daemon on {why} "
     "reads",
     "read the log of that daemon: its database or a broker may not answer; a restart loses nothing"},
    {"topic_not_read", problem, "InboxdTopicNotRead",
     "handler {handler} subscribes to topic {topic}, which no daemon reads{suggestion}",
     "add {topic} to topics, or correct handlers[].subscribe.topics of {handler}"},

    {"no_live_daemon", problem, "InboxdDown", "no daemon is running",
     "start `inboxd run`; the log of the last daemon says why it ended"},
    {"daemon_in_trouble", problem, "", "{host}: {trouble}",
     "see the daemon's log; inboxd check tests brokers, database and topics"},
    {"disk_full", problem, "", "{host}: {trouble}",
     "free space on the database's server: the daemons wait, lose nothing, and go on by themselves"},
    {"storage_full", problem, "", "{host}: {trouble}", "{remedy}"},
    {"crash_loop", problem, "InboxdRestarts", "{host} has crashed {crashes} {crashes:time|times} within "
     "{age}{in_flight}", "{remedy}"},

    {"handler_rerouted", problem, "",
     "handler {handler} gets no events of {topics} since {since}: {daemon} subscribes to them, but the newest "
     "registration{of_newest} to {now}",
     "give all daemons the same configuration and restart them, then {backfill}"},
    {"handler_order_differs", problem, "",
     "{daemon} does not run handler {handler}: its order is {order}, and that of the newest registration{of_newest} "
     "{now}",
     "give all daemons the same mode, order_by, order_scope, missing_key and on_failure, and reload them"},
    {"handler_settings_differ", remark, "", "daemons configure handler {handler} differently ({keys}): {daemons}",
     "compare inboxd config show of each, and reload the daemons with the old file"},
    {"subscription_gap", remark, "",
     "handler {handler} did not subscribe to {topics} from {since} to {until}, and got none of their events stored "
     "then",
     "{backfill}"},
    {"rows_misplaced", problem, "",
     "handler {handler} has events in a sequence that contradicts its mode and order_scope ({mode}, {order_scope})",
     "a running daemon puts them right within a minute and logs it; if none does, see its log"},
    {"handlers_not_registered", problem, "",
     "{handlers} of this file {verb} not registered: no daemon has started with it",
     "start inboxd run with this file; its log says why it ended"},
    {"handler_without_instance", problem, "InboxdHandlerWithoutInstance",
     "no daemon runs handler {handler}, which has {pending}{last}",
     "start its daemon, configure it again, list it in aliases of its successor, or run inboxd handlers retire "
     "{handler}"},
    {"handler_daemon_ended", problem, "InboxdTopicNotRead",
     "no daemon runs handler {handler} or reads its topics{last}",
     "start that daemon again; if the handler is not needed any more, inboxd handlers retire {handler}"},
    {"handler_retired", remark, "", "handler {handler} is retired, and still configured on {daemons}",
     "inboxd handlers restore {handler}, or remove it from the configuration"},
    {"handler_paused_itself", problem, "InboxdHandlerStopped", "handler {handler} has paused itself: {reason}",
     "correct the cause, then inboxd handlers resume {handler}"},
    {"handler_paused_at_limit", problem, "InboxdHandlerStopped", "handler {handler} has paused itself: {reason}",
     "{remedy}"},
    {"handler_paused", remark, "InboxdHandlerStopped", "handler {handler} is paused: {reason}", ""},
    {"handler_behind", remark, "InboxdTooOld", "handler {handler} is {age} behind", ""},
    {"handler_fails", problem, "InboxdHandlerFails",
     "{calls} {calls:call|calls} of handler {handler}{period}, the last with {error}{waiting}",
     "correct the cause; then inboxd events retry --handler {handler} runs its waiting events at once, which otherwise "
     "run when their retries are due"},
    {"service_away", problem, "InboxdServiceAway",
     "the service of handler {handler} is away since {since}: {error}; {events} pending",
     "start the service; its events then run by themselves, without a charged attempt"},
    {"service_just_away", remark, "InboxdServiceAway",
     "the service of handler {handler} is away since {since}: {error}; {events} pending",
     "start the service; its events then run by themselves, without a charged attempt"},
    {"handler_too_slow", remark, "InboxdTooOld",
     "handler {handler} is too slow: {arrive}/s arrive, {done}/s are done, calls busy: {calls}; {events} pending",
     "{remedy}"},
    {"events_without_key", remark, "", "{events} {events:event|events} of handler {handler} {events:has|have} no "
     "key and {events:runs|run} in no order",
     "set order_by, or missing_key (partition: in the order of their partition; unordered: as now)"},
    {"body_paths_null", remark, "",
     "the last {events} {events:event|events} of handler {handler} {events:has|have} no value at any path that its "
     "statement reads ({paths})",
     "compare the paths with a payload (inboxd events list, inboxd events show); topics[].unwrap says how a wrapped "
     "payload becomes body"},
    {"keys_blocked", remark, "InboxdRetriesForLong",
     "handler {handler} has {what}{error}",
     "inboxd lanes list --handler {handler}; after the fix, inboxd events retry --handler {handler}"},
    {"events_held", remark, "",
     "{events} {events:event|events} of handler {handler} {events:is|are} leased by daemons that have gone, until "
     "{until}",
     "a daemon runs {events:it|them} then; handlers[].lease says how long that takes"},
    {"events_parked", remark, "", "handler {handler} has {parked} {parked:event|events} parked behind dead letters "
     "of their keys",
     "inboxd lanes list --handler {handler}, then dead replay or lanes release"},
    {"events_expire", remark, "InboxdDeadLettersGrow",
     "{events} {events:event|events} of topic {topic} {events:has|have} expired for handler {handler} since "
     "{since}, all that arrived; the latest is of {time}",
     "{remedy}"},
    {"dead_letters", remark, "InboxdDeadLettersGrow", "handler {handler} has {dead}{recent}",
     "inboxd dead list --handler {handler}"},
    {"dead_letters_grow", problem, "InboxdDeadLettersGrow", "handler {handler} has {dead}{recent}",
     "inboxd dead list --handler {handler} --group-by error; after the fix, inboxd dead replay --handler "
     "{handler}{filter}"},

    {"events_without_handler", problem, "InboxdEventsWithoutHandler",
     "no handler subscribes to {events} stored {events:event|events} of topic {topic}, {type}{suggestion}",
     "for new events, correct handlers[].subscribe; for stored events, add a handler of this type alone with start: "
     "beginning; to ignore the type, subscribe a handler with plugin: log"},
    {"quarantine", remark, "InboxdQuarantineGrows", "{records} in quarantine{groups}{recent}", "{remedy}"},
    {"topic_quarantined", problem, "InboxdQuarantineGrows",
     "{records} of topic {topic} went to quarantine since {since}: {reason}{detail}", "{remedy}"},

    {"messages_stopped", problem, "InboxdMessagesStopped",
     "{messages} of the outbox cannot be sent{waiting}",
     "inboxd outbox list, mend the topic, then inboxd outbox retry or skip"},
    {"outbox_behind", remark, "InboxdOutboxBehind", "the outbox is {age} behind, with {messages} to send",
     "check the brokers, and that an instance runs with outbox.relay: true"},
});

std::string filled(std::string_view text, FindingValues values) {
  std::string out;
  while (!text.empty()) {
    const auto open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const auto close = text.find('}', open);
    std::string_view name = text.substr(open + 1, close - open - 1);
    const auto colon = name.find(':');  // {events:event|events}: by the number
    const std::string_view words = colon == std::string_view::npos ? "" : name.substr(colon + 1);
    name = name.substr(0, colon);
    for (const auto& [key, value] : values) {
      if (key != name) continue;
      if (words.empty()) out += value;
      else out += value == "1" ? words.substr(0, words.find('|')) : words.substr(words.find('|') + 1);
    }
    text.remove_prefix(close + 1);
  }
  return out;
}

}  // namespace

const char* name_of(FindingKind::Grade grade) { return grade == problem ? "problem" : "remark"; }

std::span<const FindingKind> finding_kinds() { return kinds; }

const FindingKind& finding_kind(std::string_view slug) {
  const auto* const found =
      std::find_if(kinds.begin(), kinds.end(), [&](const FindingKind& kind) { return kind.slug == slug; });
  if (found == kinds.end()) throw std::logic_error{"no kind of finding is named " + std::string{slug}};
  return *found;
}

StatusFinding make_finding(std::string_view slug, FindingValues values) {
  const FindingKind& kind = finding_kind(slug);
  return {kind.grade, std::string{slug}, filled(kind.text, values), filled(kind.remedy, values)};
}

std::string in_brackets(const std::string& text) { return text.empty() ? "" : " (" + text + ")"; }

}  // namespace inboxd::operations
