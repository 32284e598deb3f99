// The settings of dispatch, handlers and handler_defaults.
#include "config/settings_table_rows.hpp"

namespace inboxd::config {
namespace {

using namespace rows;

void add_dispatch(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::dispatch, member));
  };
  add(duration("dispatch.poll", 10, minute, "How often the daemon asks the database for due deliveries."),
      &Dispatch::poll);
  add(number("dispatch.in_hand_events", 1, 10'000'000, "The most events in memory for each handler."),
      &Dispatch::in_hand_events);
  add(size("dispatch.in_hand_bytes", mebibyte, 64 * gibibyte, "The most bytes of events in memory, for all handlers."),
      &Dispatch::in_hand_bytes);
}

Description handler_name(Description about) {
  return shaped(std::move(about), "^[a-z0-9][a-z0-9_-]{0,62}$",
                "a name of lower-case letters, digits, _ and -, at most 63");
}

Description subscription(Description about) {
  return shaped(std::move(about), "^[^*]*([^*]|\\*)$", "a name, or a prefix that ends with *");
}

void add_batch(std::vector<Row<Handler>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Handler>(common(std::move(about)), &Handler::batch, member));
  };
  add(duration(
          "batch.every", 0, 366 * day,
          "Windows of a batch handler close at multiples of this period since 1970 (UTC), by the database's clock; "
          "at least 100ms. 0ms: not set."),
      &Batch::every);
  add(name(
          "batch.cron",
          "Windows close at these times: minute, hour, day of month, month, day of week, as in crontab(5), such as 0 6 "
          "* * mon-fri. off: not set."),
      &Batch::cron);
  add(name("batch.time_zone",
           "The time zone of batch.cron, such as Europe/Berlin. If a change of the clocks skips a time, the window "
           "closes "
           "right after it. If a time comes twice, the window closes the first time."),
      &Batch::time_zone);
  add(number("batch.at_least", 1, 1'000'000'000,
             "A close with fewer events waiting is postponed to the next close, for batch.max_wait at most."),
      &Batch::at_least);
  add(duration(
          "batch.max_wait", 0, 366 * day,
          "After a close was postponed for this long, the next close is made with any number of events. 0ms: after ten "
          "postponed closes."),
      &Batch::max_wait);
  add(number("batch.max_events", 1, 1'000'000, "The most events of a call; it does not close a window."),
      &Batch::max_events);
  add(choice("batch.group_by", {"none", "key"},
             "Which events share a call. none: any. key: the events of a record key; events without a key are a group "
             "of their own."),
      &Batch::group_by);
}

std::vector<Row<Handler>> handler_rows() {
  std::vector<Row<Handler>> rows;
  const auto add = [&](Description about, auto... members) {
    rows.push_back(row<Handler>(std::move(about), members...));
  };
  add(required("first", handler_name(name("name", "The handler's durable name in the database."))), &Handler::name);
  add(handler_name(names("aliases",
                         "Former names: a renamed handler keeps its deliveries, and "
                         "commands accept them. None may be another handler's name.")),
      &Handler::aliases);
  add(required(
          "log",
          name("plugin",
               "The plugin that handles the events: sql, http, kafka, exec or log, or the path of a .so file (relative "
               "to the daemon's working directory).")),
      &Handler::plugin);
  add(minimal("[orders]",
              subscription(names("subscribe.topics", "Topics to receive, exact or as a prefix (order.*); none: all."))),
      &Handler::topics);
  add(subscription(names("subscribe.types", "Event types to receive, exact or as a prefix; none: all.")),
      &Handler::types);
  add(common(start({"beginning", "now"},
                   "Which stored events a new handler receives. Ignored once the handler is registered.")),
      &Handler::start);
  add(common(choice("mode", {"sequential", "single", "batch"},
                    "The order of events. sequential: events of an order key run in log order, each after the outcome "
                    "of the event before; other keys run in parallel. single: no order. batch: events collect until "
                    "their window closes (batch.every or batch.cron); a single instance then handles all of them in "
                    "order of arrival.")),
      &Handler::mode);
  add(common(shaped(name("order_by",
                         "The order key (mode: sequential). Anything but key may arrive on several partitions and so "
                         "implies order_scope: handler."),
                    "^(key|subject|header:.{1,200}|json:(/([^~/]|~[01])*)+)$",
                    "key, subject, header:NAME or json:/pointer")),
      &Handler::order_by);
  add(common(choice("order_scope", {"partition", "handler"},
                    "Where order holds (mode: sequential): within a partition, whose owner runs it; or across all "
                    "partitions and topics of the handler, in the order of storing, on a single instance.")),
      &Handler::order_scope);
  add(common(choice("missing_key", {"unordered", "partition", "shared"},
                    "How events without the order key run (mode: sequential). unordered: in no order. partition: in "
                    "the order of their partition. shared: as if they had the same key. Status reports such events "
                    "where neither this nor order_by is set.")),
      &Handler::missing_key);
  add(common(choice("on_failure", {"block", "park", "skip"},
                    "What a failed event means for later events of its key (mode: sequential). block: they wait until "
                    "it is done or dead-lettered. park: as block, and once it is dead-lettered they are parked until "
                    "an operator acts. skip: they do not wait.")),
      &Handler::on_failure);
  add_batch(rows);
  add(common(number("concurrency", 1, 1'024,
                    "Parallel calls in this instance. If not set, a batch handler makes a single call at a time.")),
      &Handler::concurrency);
  add(common(number("events_per_call", 1, 100'000, "The most events of a call.")), &Handler::events_per_call);
  add(common(number("group", 1, 10'000,
                    "The most calls that share a transaction, for handlers that write in the settling transaction. "
                    "Waiting calls share a transaction of about 25 ms; if a call fails, it alone is undone.")),
      &Handler::group);
  add(common(duration("deadline", 10, day, "The longest that a call may take.")), &Handler::deadline);
  add(common(duration("lease", second, hour,
                      "If an instance sends no heartbeat for this long, other instances take over its events.")),
      &Handler::lease);
  // Three crashes together with other events, then at least one alone: fewer would dead-letter innocent neighbours.
  add(common(number("max_crashes", 4, 1'000,
                    "An event in flight at this many crashes or kills of an instance is dead-lettered without another "
                    "call. From the third on, it runs apart from other suspects; its last calls run alone. With mode: "
                    "batch, a crash counts for the call, which is halved after this many crashes.")),
      &Handler::max_crashes);
  add(common(number("retry.max_attempts", 1, 10'000, "Attempts before an event is dead-lettered.")), &Handler::retry,
      &Retry::max_attempts);
  add(common(choice("retry.backoff", {"fixed", "linear", "exponential"}, "How the delay grows with the attempts.")),
      &Handler::retry, &Retry::backoff);
  add(common(duration("retry.base", 1, 7 * day, "The delay after the first failure.")), &Handler::retry, &Retry::base);
  add(common(duration("retry.cap", 1, 365 * day, "The longest delay; if not set, at least retry.base.")),
      &Handler::retry, &Retry::cap);
  add(common(ranged(Type::fraction, "retry.jitter", 0, 1,
                    "The random share of a delay: 0.2 makes it 0.8 to 1.2 times as long.")),
      &Handler::retry, &Retry::jitter);
  add(common(plain("retry.rules", Type::rules,
                   "What becomes of an event that failed, by the class of its error, exact or as a prefix (sql.*); the "
                   "first rule that matches counts. retry: even if the handler gave up, until max_attempts. dead: at "
                   "once. pause: the handler is paused in all instances, and the event is not charged.")),
      &Handler::retry, &Retry::rules);
  add(common(number("fuse.failures", 0, 1'000'000,
                    "This many consecutive failed attempts in an instance pause the handler in all instances; 0: none. "
                    "Calls that have begun by then end. handlers resume tries a single event first.")),
      &Handler::fuse_failures);
  add(common(keep("expire_after",
                  "Events older than this are not called and not retried; they become dead letters in state expired. "
                  "By the time the event occurred, else when it was stored; by its deliver_at, if that is later.",
                  second)),
      &Handler::expire_after);
  add(common(example("orders.DLT",
                     shaped(name("dead_letters.topic",
                                 "A topic to which events that become dead letters are published, by the outbox, with "
                                 "the headers of Spring Kafka's DeadLetterPublishingRecoverer; none: none. The handler "
                                 "must not read it."),
                            "^[a-zA-Z0-9._-]{1,249}$", "a topic's name: letters, digits, '.', '_' and '-'"))),
      &Handler::dead_letter_topic);
  add(common(shaped(name("rate",
                         "The most events per time over all instances: 100/s, 50/m (minute), 10/h. At most half a "
                         "second's worth at once. A call of several events counts each. Retries count. The call of a "
                         "batch handler begins whole, and the following calls wait for longer."),
                    "^(unlimited|[1-9][0-9]{0,6}/[smh])$", "unlimited, or a number per s, m or h, such as 100/s")),
      &Handler::rate);
  add(common(number("max_in_flight", 0, 100'000,
                    "The most calls at once over all instances; 0: unlimited. concurrency limits the calls of a single "
                    "instance.")),
      &Handler::max_in_flight);
  add(plain("settings", Type::plugin_settings, "The plugin's own settings."), &Handler::settings);
  return rows;
}

}  // namespace

void add_handler_rows(Table& table) {
  add_dispatch(table.settings);
  table.handlers = handler_rows();
}

}  // namespace inboxd::config
