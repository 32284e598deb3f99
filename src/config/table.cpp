#include "config/table.hpp"

namespace inboxd::config {
namespace {

constexpr std::int64_t second = 1'000;
constexpr std::int64_t minute = 60 * second;
constexpr std::int64_t hour = 60 * minute;
constexpr std::int64_t day = 24 * hour;
constexpr std::int64_t kibibyte = 1 << 10;
constexpr std::int64_t mebibyte = 1 << 20;
constexpr std::int64_t gibibyte = 1 << 30;
/// PostgreSQL takes no message of 1 GiB. A batch is what fits and one record more, of which payload, key and headers
/// may have as much each as the topic's limit allows.
constexpr std::int64_t most_batch = 256 * mebibyte;
constexpr std::int64_t most_payload = 128 * mebibyte;
/// No run spans more offsets (consumer/plan, sql/README.md), so none holds more events.
constexpr std::int64_t most_run_events = 10'000;

Description plain(std::string key, Type type, std::string help) {
  Description about;
  about.key = std::move(key);
  about.type = type;
  about.help = std::move(help);
  return about;
}

Description text(std::string key, std::string help) { return plain(std::move(key), Type::text, std::move(help)); }
Description flag(std::string key, std::string help) { return plain(std::move(key), Type::flag, std::move(help)); }
Description texts(std::string key, std::string help) { return plain(std::move(key), Type::texts, std::move(help)); }

Description ranged(Type type, std::string key, std::int64_t least, std::int64_t most, std::string help) {
  Description about = plain(std::move(key), type, std::move(help));
  about.least = least;
  about.most = most;
  return about;
}

Description number(std::string key, std::int64_t least, std::int64_t most, std::string help) {
  return ranged(Type::number, std::move(key), least, most, std::move(help));
}
Description duration(std::string key, std::int64_t least, std::int64_t most, std::string help) {
  return ranged(Type::duration, std::move(key), least, most, std::move(help));
}
Description size(std::string key, std::int64_t least, std::int64_t most, std::string help) {
  return ranged(Type::size, std::move(key), least, most, std::move(help));
}
Description keep(std::string key, std::string help) {
  return ranged(Type::keep, std::move(key), hour, 36'500 * day, std::move(help));
}

Description choice(std::string key, std::vector<std::string> choices, std::string help) {
  Description about = plain(std::move(key), Type::choice, std::move(help));
  about.choices = std::move(choices);
  return about;
}
Description start(std::vector<std::string> choices, std::string help) {
  Description about = choice("start", std::move(choices), std::move(help));
  about.type = Type::start;
  return about;
}

Description shaped(Description about, std::string pattern, std::string wanted) {
  about.pattern = std::move(pattern);
  about.wanted = std::move(wanted);
  return about;
}
Description example(std::string yaml, Description about) {
  about.example = std::move(yaml);
  return about;
}
Description required(std::string yaml, Description about) {
  about.is_required = true;
  about.is_in_minimal = true;
  return example(std::move(yaml), std::move(about));
}
Description minimal(std::string yaml, Description about) {
  about.is_in_minimal = true;
  return example(std::move(yaml), std::move(about));
}
Description restart(Description about) {
  about.needs_restart = true;
  return about;
}
Description common(Description about) {
  about.has_common_default = true;
  return about;
}

template <class Owner>
auto& reach(Owner& owner) {
  return owner;
}
template <class Owner, class Member, class... Members>
auto& reach(Owner& owner, Member member, Members... members) {
  return reach(owner.*member, members...);
}

/// A row for the field that is reached from its owner through the members named.
template <class Owner, class... Members>
Row<Owner> row(Description about, Members... members) {
  return {std::move(about), [=](const Owner& owner) { return value_of(reach(owner, members...)); },
          [=](Owner& owner, const Value& value) { set_value(reach(owner, members...), value); }};
}

/// A key that has one value only, so that a file can say it; there is no field behind it.
template <class Owner>
Row<Owner> only_choice(Description about) {
  return {std::move(about), [](const Owner&) { return Value{std::int64_t{0}}; }, [](Owner&, const Value&) {}};
}

void add_database(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::database, member));
  };
  add(required("postgresql://app@localhost/app",
               text("database.url",
                    "Where PostgreSQL is: a libpq URL or key=value pairs; the PG* environment "
                    "variables say what it leaves out.")),
      &Database::url);
  add(example("{file: /run/secrets/pg}",
              plain("database.password", Type::secret, "The password, kept out of this file.")),
      &Database::password);
  add(shaped(text("database.schema", "The schema that holds the inbox."), "^[a-z_][a-z0-9_]{0,62}$",
             "a lower-case SQL name: letters, digits and _, at most 63"),
      &Database::schema);
  add(number("database.connections", 4, 1'000,
             "The most connections the daemon opens: ingest.connections, 5 more, and `concurrency` of each "
             "handler that writes in the transaction that settles. After a reload those of calls that still run come "
             "on top, until they end."),
      &Database::connections);
  add(flag("database.prepare", "Prepare statements; false behind a pooler that knows no prepared statements."),
      &Database::prepare);
  add(example("app_handlers",
              shaped(text("database.handler_role",
                          "The role that handlers' SQL runs under (SET LOCAL ROLE); the daemon's own must be "
                          "a member of it, and it needs no right on the inbox."),
                     "^[^[:cntrl:]]{1,63}$", "the name of a role")),
      &Database::handler_role);
  add(example("app, public", text("database.handler_search_path",
                                  "The search_path of handlers' SQL; none: that of the role or the database.")),
      &Database::handler_search_path);
  add(duration("database.deadline", 100, hour, "The longest one statement of the daemon itself may take, also COMMIT."),
      &Database::deadline);
  add(size("database.result_bytes", kibibyte, gibibyte,
           "The most bytes of rows that one statement of a handler may bring, each field counted as 17 more than its "
           "value; one that brings more fails with 54000."),
      &Database::result_bytes);
}

void add_kafka(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::kafka, member));
  };
  add(required("localhost:9092", shaped(text("kafka.brokers", "The brokers to begin with, separated by commas."),
                                        "^[^, ]+( *, *[^, ]+)*$", "brokers such as kafka-1:9092,kafka-2:9092")),
      &Kafka::brokers);
  add(required("inboxd", shaped(text("kafka.group", "The consumer group; instances of one daemon share it."),
                                "^.{1,249}$", "a name of at most 249 bytes")),
      &Kafka::group);
  add(example("${HOSTNAME}", shaped(text("kafka.instance_id",
                                         "This instance's fixed name in the group: a restart "
                                         "causes no rebalance; none: a new one each time."),
                                    "^[a-zA-Z0-9._-]{1,249}$", "a name of letters, digits, '.', '_' and '-'")),
      &Kafka::instance_id);
  add(example("prod", shaped(text("kafka.namespace",
                                  "The cluster's name in ids that are made of positions; tells two "
                                  "clusters with the same topics apart."),
                             "^[a-zA-Z0-9._-]{1,64}$", "a name of letters, digits, '.', '_' and '-', at most 64")),
      &Kafka::name_space);
  add(plain("kafka.properties", Type::properties,
            "librdkafka's own properties, such as security.protocol: sasl_ssl; secrets as for database.password; those "
            "that belong to the daemon are refused."),
      &Kafka::properties);
}

std::vector<Row<Topic>> topic_rows() {
  std::vector<Row<Topic>> rows;
  const auto add = [&](Description about, auto... members) {
    rows.push_back(row<Topic>(restart(std::move(about)), members...));
  };
  const auto rule = [](std::string yaml, std::string key, std::string help) {
    return example(std::move(yaml),
                   shaped(text(std::move(key), std::move(help)), "^(key|header:.{1,200}|json:(/([^~/]|~[01])*)+)$",
                          "header:NAME, json:/pointer or key"));
  };
  add(minimal("orders", shaped(text("name", "The topic's name; or pattern."), "^[a-zA-Z0-9._-]{1,249}$",
                               "a topic's name: letters, digits, '.', '_' and '-', at most 249")),
      &Topic::name);
  add(example(R"("^audit\\.")", shaped(text("pattern",
                                            "A POSIX extended regular expression for the names of topics, "
                                            "beginning with ^; or name. Kafka's own topics (such as "
                                            "__consumer_offsets) match none."),
                                       "^\\^.{0,999}$", "a regular expression that begins with ^, such as ^orders\\.")),
      &Topic::pattern);
  add(start(
          {"beginning", "end", "committed"},
          "Where a partition begins for which the database has no position yet; none begins anew when it is changed. "
          "end and a time pass over nothing that the group has not read: where it has an offset already, they begin no "
          "later than there."),
      &Topic::start);
  add(choice("envelope", {"auto", "cloudevents", "outbox-router", "custom"},
             "How a record's id, type and source are found; auto tries the known forms in turn."),
      &Topic::envelope);
  add(rule("json:/id", "custom.id", "Where envelope: custom finds the event's id; needed there."), &Topic::custom,
      &CustomRules::id);
  add(rule("header:type", "custom.type", "Where it finds the type; none: the topic's name."), &Topic::custom,
      &CustomRules::type);
  add(rule("header:source", "custom.source",
           "Where it finds the source; with one, source and id together are the event's identity, unless the id is a "
           "UUID, which is one by itself."),
      &Topic::custom, &CustomRules::source);
  add(rule("key", "custom.subject", "Where it finds the subject."), &Topic::custom, &CustomRules::subject);
  add(rule("json:/occurredAt", "custom.time", "Where it finds the time at which the event occurred."), &Topic::custom,
      &CustomRules::time);
  add(choice("on_missing_id", {"quarantine", "position", "digest"},
             "What becomes of a record without an id: kept aside, or given one made of its position or its content."),
      &Topic::on_missing_id);
  add(size("payload_limit", 1, most_payload,
           "The largest payload, key, or all headers; what is larger goes to quarantine."),
      &Topic::payload_limit);
  add(choice("tombstones", {"store", "skip"}, "Whether records without a value become events."), &Topic::tombstones);
  return rows;
}

void add_flow(std::vector<Row<Settings>>& rows) {
  const auto ingest = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::ingest, member));
  };
  ingest(number("ingest.connections", 1, 64, "Database connections that store batches at the same time."),
         &Ingest::connections);
  ingest(number("ingest.batch_events", 1, 100'000, "The most events of one transaction."), &Ingest::batch_events);
  ingest(size("ingest.batch_bytes", kibibyte, most_batch, "The most bytes of one transaction; one event always fits."),
         &Ingest::batch_bytes);
  ingest(size("ingest.queued_bytes", mebibyte, gibibyte,
              "The most bytes of fetched records that the Kafka client holds, shared out to the connections; each may "
              "hold 1MiB, and overshoots by one fetch. Payloads count, keys and headers do not."),
         &Ingest::queued_bytes);
  ingest(number("ingest.queued_events", 100, 10'000'000,
                "The most fetched records that the Kafka client holds, shared out to the connections; each overshoots "
                "by one fetch. Lower it where keys and headers are large."),
         &Ingest::queued_events);
  ingest(duration("ingest.batch_wait", 0, 10 * second,
                  "How long a batch waits for more; at 0ms what arrived during the last commit is the next batch."),
         &Ingest::batch_wait);
  ingest(
      number("ingest.run_events", 1, most_run_events, "The most events of one delivery; 1 gives a row for each event."),
      &Ingest::run_events);
  const auto dispatch = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::dispatch, member));
  };
  dispatch(duration("dispatch.poll", 10, minute, "How often the database is asked for deliveries that are due."),
           &Dispatch::poll);
  dispatch(number("dispatch.in_hand_events", 1, 10'000'000, "The most events in memory for handlers."),
           &Dispatch::in_hand_events);
  dispatch(size("dispatch.in_hand_bytes", mebibyte, 64 * gibibyte, "The most bytes of events in memory for handlers."),
           &Dispatch::in_hand_bytes);
}

Description handler_name(Description about) {
  return shaped(std::move(about), "^[a-z0-9][a-z0-9_-]{0,62}$",
                "a name of lower-case letters, digits, _ and -, at most 63");
}

Description subscription(Description about) {
  return shaped(std::move(about), "^[^*]*([^*]|\\*)$", "a name, or the beginning of names with * at its end");
}

std::vector<Row<Handler>> handler_rows() {
  std::vector<Row<Handler>> rows;
  const auto add = [&](Description about, auto... members) {
    rows.push_back(row<Handler>(std::move(about), members...));
  };
  add(required("first", handler_name(text("name",
                                          "The handler's durable name, under which its deliveries are in the "
                                          "database."))),
      &Handler::name);
  add(handler_name(texts("aliases", "Names it had before, so that a renamed handler keeps its deliveries.")),
      &Handler::aliases);
  add(required("log", text("plugin",
                           "What handles the events: a plugin that comes with inboxd (sql, log), or the path of a "
                           ".so file (a relative one from the daemon's working directory on).")),
      &Handler::plugin);
  add(minimal("[orders]", subscription(texts("subscribe.topics",
                                             "Topics whose events it gets, exact or as a beginning "
                                             "(order.*); none: all."))),
      &Handler::topics);
  add(subscription(texts("subscribe.types", "Event types it gets, exact or as a beginning; none: all.")),
      &Handler::types);
  add(common(start({"beginning", "now"}, "What of the past it is owed when it is first seen; changed later, nothing.")),
      &Handler::start);
  rows.push_back(only_choice<Handler>(
      common(choice("mode", {"single"}, "How it gets events: each with a verdict of its own, in no promised order."))));
  add(common(number("concurrency", 1, 1'024, "Calls at the same time in this instance.")), &Handler::concurrency);
  add(common(number("events_per_call", 1, 100'000, "The most events one call gets.")), &Handler::events_per_call);
  add(common(
          number("group", 1, 10'000,
                 "The most calls that share one transaction, of handlers that write in the one that settles. Calls "
                 "that are waiting go together, for about 25 ms of work; where one fails it alone is undone.")),
      &Handler::group);
  add(common(duration("deadline", 10, day, "The longest one call may take.")), &Handler::deadline);
  add(common(duration("lease", second, hour,
                      "After so long without a sign of life from an instance, others take over what it had in hand.")),
      &Handler::lease);
  // One that was in hand at three runs beside others: less would make those dead that were only near.
  add(common(
          number("max_crashes", 4, 1'000,
                 "An event that was in hand at so many unclean ends of an instance (a crash, a kill) is a dead letter "
                 "without another call. From the third on it runs apart from others of its kind, the last times with "
                 "nothing else in hand.")),
      &Handler::max_crashes);
  add(common(number("retry.max_attempts", 1, 10'000, "Attempts after which an event becomes a dead letter.")),
      &Handler::retry, &Retry::max_attempts);
  add(common(choice("retry.backoff", {"fixed", "linear", "exponential"}, "How the delay grows with the attempts.")),
      &Handler::retry, &Retry::backoff);
  add(common(duration("retry.base", 1, 7 * day, "The delay after the first failure.")), &Handler::retry, &Retry::base);
  add(common(duration("retry.cap", 1, 365 * day, "The longest delay.")), &Handler::retry, &Retry::cap);
  add(common(ranged(Type::fraction, "retry.jitter", 0, 1,
                    "How much of a delay is random: 0.2 makes it 0.8 to 1.2 times as long.")),
      &Handler::retry, &Retry::jitter);
  add(plain("settings", Type::plugin_settings, "The plugin's own settings."), &Handler::settings);
  return rows;
}

void add_admin(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::admin, member));
  };
  add(shaped(
          text("admin.listen",
               "Where health, metrics and operations are served over HTTP; off: nowhere. Whoever is on this machine "
               "reads all of it but the configuration, payloads of events too, without a token, and so does whoever "
               "asks "
               "through a proxy on this machine that does not say so (Forwarded, X-Forwarded-For, Via). Where that is "
               "too much: off, and "
               "admin.socket, which its file's user and group alone may ask. Beyond this machine nothing but health is "
               "answered without the token."),
          R"(^(off|[^][/: ]+:[0-9]{1,5}|\[[0-9a-fA-F:.]+\]:[0-9]{1,5})$)", "HOST:PORT such as 127.0.0.1:9470, or off"),
      &Admin::listen);
  add(example("/run/inboxd/admin.sock",
              shaped(text("admin.socket", "A Unix socket that serves the same; none: no socket."), "^/.{1,106}$",
                     "an absolute path of at most 107 bytes")),
      &Admin::socket);
  add(example(
          "{file: /run/secrets/inboxd-admin}",
          plain("admin.token", Type::secret,
                "The bearer token of those who may change things, read the configuration, and read from other "
                "machines; it keeps nobody on this machine from reading the rest (see admin.listen). None: over this "
                "port nobody changes anything, and only this machine reads.")),
      &Admin::token);
  add(example(
          "[inboxd.internal]",
          shaped(texts("admin.hosts",
                       "Host names under which the port may be asked, beside localhost and addresses; what comes for "
                       "another name is refused, so that no web page can reach it by a name of its own."),
                 "^[a-zA-Z0-9.-]{1,253}$", "a host name, without a port")),
      &Admin::hosts);
  add(number("admin.connections", 4, 1'000,
             "The most connections to it; one more ends the one that says nothing longest."),
      &Admin::connections);
  add(size("admin.header_limit", kibibyte, mebibyte, "The most bytes of a request before its body."),
      &Admin::header_limit);
  add(size("admin.body_limit", kibibyte, 64 * mebibyte, "The most bytes of a request's body."), &Admin::body_limit);
  add(duration("admin.receive_timeout", 100, minute, "How long a request may take to arrive."),
      &Admin::receive_timeout);
  add(duration("admin.answer_timeout", second, hour, "How long an operation may take, and then its answer to be read."),
      &Admin::answer_timeout);
  add(duration("admin.idle_timeout", second, hour, "How long a connection stays open between two requests."),
      &Admin::idle_timeout);
}

void add_tracing(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::tracing, member));
  };
  add(example(
          "http://127.0.0.1:4318/v1/traces",
          shaped(text("tracing.endpoint",
                      "Where spans are sent (OTLP, JSON over HTTP), best to a collector beside the daemon; none: no "
                      "traces, at no cost."),
                 R"(^http://([^][/: ]+|\[[0-9a-fA-F:.]+\])(:[0-9]{1,5})?(/[^ ]*)?$)",
                 "an http:// address such as http://127.0.0.1:4318/v1/traces; for https put a collector beside")),
      &Tracing::endpoint);
  add(example("{file: /run/secrets/collector}",
              plain("tracing.authorization", Type::secret,
                    "What the header Authorization says to the collector, such as Bearer TOKEN; it goes over the "
                    "network as it is, since there is no TLS.")),
      &Tracing::authorization);
  add(choice(
          "tracing.relation", {"link", "parent"},
          "How spans hang on the producer's: link: each event has a trace of its own, whose id is the event's id, with "
          "a link to the producer's; parent: they go on in the producer's trace."),
      &Tracing::relation);
  add(ranged(Type::fraction, "tracing.sample", 0, 1,
             "The share of events without a trace context that get a trace; those with one follow its sampled flag."),
      &Tracing::sample);
  add(number("tracing.queue", 64, 1'000'000, "The most spans that wait for the collector; more are dropped."),
      &Tracing::queue);
  add(text("tracing.service", "The name of the service in the traces."), &Tracing::service);
}

void add_operation(std::vector<Row<Settings>>& rows) {
  const auto retention = [&](Description about, auto member) {
    rows.push_back(row<Settings>(std::move(about), &Settings::retention, member));
  };
  retention(keep("retention.events", "How long events are kept; those still owed to a handler stay longer."),
            &Retention::events);
  retention(keep("retention.ledger", "How long an event's id is known, so that the same event sent again is absorbed."),
            &Retention::ledger);
  retention(keep("retention.outcomes", "How long it is known what became of each delivery."), &Retention::outcomes);
  retention(keep("retention.failures", "How long failed attempts are kept."), &Retention::failures);
  retention(keep("retention.dead_letters", "How long dead letters are kept."), &Retention::dead_letters);
  retention(keep("retention.quarantine", "How long records that could not become events are kept."),
            &Retention::quarantine);
  rows.push_back(
      row<Settings>(choice("log.level", {"debug", "info", "warn", "error"}, "The least level that is written."),
                    &Settings::log, &Log::level));
  rows.push_back(
      row<Settings>(choice("log.format", {"auto", "text", "json", "journal"},
                           "How lines look; journal: entries of journald with a field for each fact (EVENT_ID=, "
                           "HANDLER=, TOPIC=) and a MESSAGE_ID= for each kind; auto: journal where systemd reads "
                           "them, text in a terminal, else json."),
                    &Settings::log, &Log::format));
  rows.push_back(row<Settings>(
      duration("shutdown.drain", 0, hour,
               "How long running calls may finish when the daemon is asked to stop; it ends some three seconds later "
               "at the latest."),
      &Settings::drain));
  rows.push_back(row<Settings>(
      restart(duration("liveness.grace", second, hour,
                       "How long a loop of the daemon may stand still, beyond database.deadline, before /livez says "
                       "no and systemd's watchdog hears nothing: whatever watches the process has it killed then. "
                       "Connecting to the database again falls into it.")),
      &Settings::liveness_grace));
}

}  // namespace

Table settings_table() {
  Table table;
  table.groups = {
      {"database", "The PostgreSQL database that holds the inbox."},
      {"kafka", "The Kafka cluster that events come from."},
      {"topics", "The topics that are read; at least one."},
      {"ingest", "How records are stored."},
      {"dispatch", "How stored events reach the handlers."},
      {"handlers", "Who works through the inbox; at least one."},
      {"handler_defaults", "What holds for every handler that does not say otherwise."},
      {"retention", "How long things are kept."},
      {"admin", "The port for health checks, metrics and operations."},
      {"tracing", "Spans of what happens to an event."},
      {"log", "What is written to stderr."},
      {"shutdown", "How the daemon stops."},
      {"liveness", "When the daemon counts as wedged."},
  };
  add_database(table.settings);
  add_kafka(table.settings);
  add_flow(table.settings);
  add_admin(table.settings);
  add_tracing(table.settings);
  add_operation(table.settings);
  table.topics = topic_rows();
  table.handlers = handler_rows();
  return table;
}

}  // namespace inboxd::config
