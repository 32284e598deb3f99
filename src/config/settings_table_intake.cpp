// The settings of database, kafka, topics and ingest.
#include "config/settings_table_rows.hpp"
#include "config/shared_topics.hpp"

namespace inboxd::config {
namespace {

using namespace rows;

/// A PostgreSQL message ends at 1 GiB. A batch may exceed its limit by one record. The record's payload, key and
/// headers may each reach the topic's limit.
constexpr std::int64_t max_batch = 256 * mebibyte;
constexpr std::int64_t max_payload = 128 * mebibyte;
/// No run spans more offsets (sql/README.md), so no run holds more events.
constexpr std::int64_t max_run_events = 10'000;

void add_database(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::database, member));
  };
  add(required("postgresql://app@localhost/app",
               text("database.url", Exposure::database,
                    "A libpq URL or key=value pairs; PG* environment variables fill in the rest.")),
      &Database::url);
  add(example("{file: /run/secrets/pg}",
              plain("database.password", Type::secret, "The password, kept out of this file.")),
      &Database::password);
  add(shaped(name("database.schema", "The schema that holds the inbox."), "^[a-z_][a-z0-9_]{0,62}$",
             "a lower-case SQL name: letters, digits and _, at most 63"),
      &Database::schema);
  add(number("database.connections", 4, 1'000,
             "The most connections the daemon opens: ingest.connections, 6 more, one each for "
             "ingest.listen and shard.of, and `concurrency` of each handler that writes in the settling transaction. "
             "After a reload, calls still running keep theirs in addition."),
      &Database::connections);
  add(flag("database.prepare", "Prepare statements; false for a pooler without support for prepared statements."),
      &Database::prepare);
  add(example("app_handlers",
              shaped(name("database.handler_role",
                          "The role for handlers' SQL (SET LOCAL ROLE). The daemon's role must be a member of it; it "
                          "needs no right on the inbox. It prevents accidents only: a malicious function can switch "
                          "back to the daemon's role."),
                     "^[^[:cntrl:]]{1,63}$", "the name of a role")),
      &Database::handler_role);
  add(example("app, public", name("database.handler_search_path",
                                  "The search_path of handlers' SQL; none: the default of the role or database.")),
      &Database::handler_search_path);
  add(duration("database.deadline", 100, hour,
               "The longest that a statement of the daemon itself may take, COMMIT included."),
      &Database::deadline);
  add(size("database.result_bytes", kibibyte, gibibyte,
           "The most bytes of rows that a handler's statement may return, counting 17 more for each field; beyond that "
           "it fails with SQLSTATE 54000."),
      &Database::result_bytes);
}

void add_kafka(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::kafka, member));
  };
  add(required("localhost:9092", shaped(text("kafka.brokers", Exposure::addresses,
                                             "The bootstrap brokers, separated by commas."),
                                        "^[^, ]+( *, *[^, ]+)*$", "brokers such as kafka-1:9092,kafka-2:9092")),
      &Kafka::brokers);
  add(required("inboxd", shaped(name("kafka.group", "The consumer group that all instances share."), "^.{1,249}$",
                                "a name of at most 249 bytes")),
      &Kafka::group);
  add(example("${HOSTNAME}", shaped(name("kafka.instance_id",
                                         "A fixed member name (static membership): a restart causes no rebalance, and "
                                         "takes over at once what the process before had leased; none: a new name at "
                                         "each start. Living processes must not share it: brokers shut out the older "
                                         "one, which ends, and calls that it runs on another machine may run twice "
                                         "outside the database; the newer one's log names it. Refused with "
                                         "group.protocol: consumer."),
                                    "^[a-zA-Z0-9._-]{1,249}$", "a name of letters, digits, '.', '_' and '-'")),
      &Kafka::instance_id);
  add(example("prod", shaped(name("kafka.namespace",
                                  "The cluster's name in ids made from positions; it distinguishes clusters with "
                                  "the same topics."),
                             "^[a-zA-Z0-9._-]{1,64}$", "a name of letters, digits, '.', '_' and '-', at most 64")),
      &Kafka::name_space);
  add(plain("kafka.properties", Type::properties,
            "librdkafka's own properties, such as security.protocol: sasl_ssl; secrets as in database.password. "
            "Properties that the daemon sets itself are refused. inboxd's own are sasl.oauthbearer.token.file, the "
            "path of a file with a token for OAUTHBEARER, which is read again before the token ends (at the exp of a "
            "JWT), and sasl.oauthbearer.token.lifetime.ms: any other token ends so long after its file was written "
            "(default 900000)."),
      &Kafka::properties);
}

/// Events over HTTP.
void add_topic_http(std::vector<Row<Topic>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Topic>(std::move(about), &Topic::http, member));
  };
  add(example("{file: /run/secrets/webhook-token}",
              plain("http.token", Type::secrets,
                    "With source: local, events may be posted to ingest.listen, at /v1/topics/NAME/events, with this "
                    "bearer token or, if it is a list, with any of them. A changed file is read again.")),
      &TopicHttp::tokens);
  add(example("github", choice("http.verify.scheme", {"none", "github", "stripe", "standard-webhooks"},
                               "Events may be posted with a signature of this kind; with http.token, they need both. "
                               "It also says where the id and the type are.")),
      &TopicHttp::scheme);
  add(example("{file: /run/secrets/webhook-secret}",
              plain("http.verify.secret", Type::secrets,
                    "The secret of the signature or, as a list, several, of which any may have signed, for rotation. "
                    "standard-webhooks: base64, with or without whsec_. A changed file is read again.")),
      &TopicHttp::secrets);
  add(duration("http.verify.tolerance", second, day,
               "How far the time in a signature of stripe or standard-webhooks may be from this machine's clock. "
               "github's has none."),
      &TopicHttp::tolerance);
  add(flag("http.open",
           "Events may be posted without token and signature, by whoever reaches the port, or holds a certificate of "
           "ingest.tls.client_ca."),
      &TopicHttp::open);
  add(shaped(name("http.key",
                  "Where to find the key of an event that came over HTTP; a CloudEvent's partitionkey goes before. An "
                  "event without it has no key."),
             "^(header:.{1,200}|json:(/([^~/]|~[01])*)+)$", "header:NAME or json:/pointer"),
      &TopicHttp::key);
  add(example("[user-agent]",
              shaped(names("http.headers",
                           "Request headers that are kept with the event, in addition to content-type, traceparent, "
                           "tracestate and a CloudEvent's."),
                     "^[a-z0-9_.-]{1,100}$", "a header's name in lower case")),
      &TopicHttp::headers);
}

std::vector<Row<Topic>> topic_rows() {
  std::vector<Row<Topic>> rows;
  const auto add = [&](Description about, auto... members) {
    rows.push_back(row<Topic>(restart(std::move(about)), members...));
  };
  const auto rule = [](std::string yaml, std::string key, std::string help) {
    return example(std::move(yaml),
                   shaped(name(std::move(key), std::move(help)), "^(key|header:.{1,200}|json:(/([^~/]|~[01])*)+)$",
                          "header:NAME, json:/pointer or key"));
  };
  add(minimal("orders", shaped(name("name", "The topic's name; or use pattern."), "^[a-zA-Z0-9._-]{1,249}$",
                               "a topic's name: letters, digits, '.', '_' and '-', at most 249")),
      &Topic::name);
  add(example(R"("^audit\\.")", shaped(name("pattern",
                                            "A POSIX extended regular expression for topic names, beginning with ^; "
                                            "or use name. It never matches Kafka's internal topics, such as "
                                            "__consumer_offsets."),
                                       "^\\^.{0,999}$", "a regular expression that begins with ^, such as ^orders\\.")),
      &Topic::pattern);
  add(example(R"(["orders.*.DLT"])",
              shaped(names("exclude",
                           "Topics that patterns do not match: names, in which * stands for any characters, or "
                           "expressions that begin with ^. They hold for the patterns of all topics."),
                     "^(\\^.{0,999}|[a-zA-Z0-9._*-]{1,249})$",
                     "a topic's name, in which * stands for any characters, or an expression that begins with ^")),
      &Topic::exclude);
  add(choice("source", {"kafka", "local"},
             "Records of a Kafka topic, or local: events that the application enqueues with inbox.enqueue, in its own "
             "transactions in this database, and events over HTTP (http). If all topics are local, `kafka` may be "
             "left out."),
      &Topic::source);
  add(start({"beginning", "end", "committed"},
            "Where to read a partition from. Ignored once a position is stored. With end or a time, reading never "
            "starts after the group's committed offset."),
      &Topic::start);
  add(choice("envelope",
             {"auto", "cloudevents", "dapr", "cap", "axon", "nservicebus", "masstransit", "wolverine", "eventuate",
              "debezium", "outbox-router", "custom"},
             "How to find a record's id, type and source; auto tries the known formats in turn. debezium: change "
             "events; outbox-router: Debezium's outbox event router; cap: DotNetCore CAP; eventuate: Eventuate Tram."),
      &Topic::envelope);
  add(flag("strict",
           "A record that lacks an attribute which its envelope requires, such as a CloudEvent's type, goes to "
           "quarantine even if it has an id. Refused with envelope: custom."),
      &Topic::strict);
  add(rule("json:/id", "custom.id", "Where to find the event's id; required with envelope: custom."), &Topic::custom,
      &CustomRules::id);
  add(rule("header:type", "custom.type", "Where to find the type; none: the topic's name."), &Topic::custom,
      &CustomRules::type);
  add(rule("header:source", "custom.source",
           "Where to find the source; if set, source and id together identify the event, unless the id is a UUID."),
      &Topic::custom, &CustomRules::source);
  add(rule("key", "custom.subject", "Where to find the subject."), &Topic::custom, &CustomRules::subject);
  add(rule("json:/occurredAt", "custom.time", "Where to find the time at which the event occurred."), &Topic::custom,
      &CustomRules::time);
  add(choice("custom.id_format", {"text", "uuid-bytes", "uuid-bytes-le"},
             "How an id in a header or the key is written; uuid-bytes: 16 bytes in network order, uuid-bytes-le: as a "
             ".NET Guid."),
      &Topic::custom, &CustomRules::id_format);
  add(choice("custom.time_unit", {"auto", "s", "ms", "us", "ns"},
             "The unit of a number at custom.time; auto tells it by the magnitude: seconds below 10^11, milliseconds "
             "below 10^14, microseconds below 10^17."),
      &Topic::custom, &CustomRules::time_unit);
  add(choice("on_missing_id", {"quarantine", "position", "digest"},
             "A record without an id goes to quarantine, or gets an id made from its position or its content (digest: "
             "records of equal content are a single event). Over HTTP, quarantine: the request gets 400; position: "
             "each request is an event of its own."),
      &Topic::on_missing_id);
  add(size("payload_limit", 1, max_payload,
           "The largest payload, key, or all headers together; larger records go to quarantine."),
      &Topic::payload_limit);
  add(choice("tombstones", {"auto", "store", "skip"},
             "Whether records without a value become events. auto: with envelope: debezium they are skipped, because "
             "Debezium writes one after each delete; elsewhere they are stored."),
      &Topic::tombstones);
  add(example("header:deliver-at",
              shaped(name("deliver_at",
                          "Where to find the time before which no handler gets the event: RFC 3339, or a number since "
                          "1970 in a unit that its magnitude tells; without a value: at once. In mode sequential the "
                          "later events of its key wait, too. A record whose value is no time goes to quarantine. "
                          "Stored events keep their time when this changes. No retry or replay is earlier, and run "
                          "--until-idle waits for it."),
                     "^(header:.{1,200}|json:(/([^~/]|~[01])*)+)$", "header:NAME or json:/pointer")),
      &Topic::deliver_at);
  add(duration("deliver_at_limit", second, 10 * 365 * day,
               "The limit of deliver_at, counted from the record's timestamp, or from its receipt if that is earlier; "
               "a record with a later time goes to quarantine."),
      &Topic::deliver_at_limit);
  add(choice("unwrap", {"auto", "none", "json-string", "schema-payload"},
             "Which wrapping is taken off a value before ids and body are read; auto: a JSON string that holds an "
             "object or an array, and {schema, payload} of Kafka Connect's JsonConverter. The stored payload stays as "
             "it came."),
      &Topic::unwrap);
  add_format_rows(rows);
  add_topic_http(rows);
  rows.push_back(row<Topic>(
      keep("retention",
           "How long the topic's events are kept, such as 3d, if that is shorter than retention.events; pending events "
           "stay until they are settled. The disk space is free once the whole day is dropped."),
      &Topic::retention));
  return rows;
}

void add_ingest(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::ingest, member));
  };
  add(number("ingest.connections", 1, 64, "Database connections that store batches in parallel."),
      &Ingest::connections);
  add(number("ingest.batch_events", 1, 100'000, "The most events of a transaction."), &Ingest::batch_events);
  add(size("ingest.batch_bytes", kibibyte, max_batch, "The most bytes of a transaction; a single event always fits."),
      &Ingest::batch_bytes);
  add(size("ingest.queued_bytes", mebibyte, gibibyte,
           "The most bytes of fetched payloads in the Kafka client, divided among the connections; keys and headers do "
           "not count, but each record counts 1KiB at least. Each connection may hold 1MiB, and may exceed its share "
           "by a single fetch."),
      &Ingest::queued_bytes);
  add(number("ingest.queued_events", 100, 10'000'000,
             "The most fetched records in the Kafka client, divided among the connections; each may exceed its share "
             "by a single fetch. Lower it if keys and headers are large."),
      &Ingest::queued_events);
  add(duration("ingest.batch_wait", 0, 10 * second,
               "How long a batch waits for more records; at 0ms, the records that arrive during a commit form the next "
               "batch."),
      &Ingest::batch_wait);
  add(number("ingest.run_events", 1, max_run_events, "The most events of a delivery; 1 writes a row for each event."),
      &Ingest::run_events);
  add(example("127.0.0.1:9480",
              shaped(name("ingest.listen",
                          "The HTTP address to which events of local topics are posted (topics[].http); off: none."),
                     R"(^(off|[^][/: ]+:[0-9]{1,5}|\[[0-9a-fA-F:.]+\]:[0-9]{1,5})$)",
                     "HOST:PORT such as 127.0.0.1:9480, or off")),
      &Ingest::listen);
}

void add_ingest_tls(std::vector<Row<Settings>>& rows) {
  const auto add = [&](const char* example_file, Description about, auto member) {
    about = shaped(example(example_file, std::move(about)), "^/.*$", "an absolute path");
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::ingest, &Ingest::tls, member));
  };
  add("/etc/inboxd/ingest.pem",
      name("ingest.tls.certificate",
           "A PEM file with the certificate of ingest.listen, followed by intermediate ones: https in place of http. "
           "Renewed files are used as those of admin.tls."),
      &PortTls::certificate);
  add("/etc/inboxd/ingest.key", name("ingest.tls.key", "A PEM file with the key of ingest.tls.certificate."),
      &PortTls::key);
  add("/etc/inboxd/senders.pem",
      name("ingest.tls.client_ca",
           "A PEM file with certificate authorities: senders need a certificate from one of them; none: they need no "
           "certificate."),
      &PortTls::client_ca);
}

void add_ingest_http(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::ingest, &Ingest::http, member));
  };
  add(number("ingest.http.connections", 4, 10'000,
             "The most connections to ingest.listen; a further connection closes the connection that has been idle "
             "longest. Each may hold a request, so that the memory is limited by this number and body_limit."),
      &IngestHttp::connections);
  add(number("ingest.http.waiting_requests", 1, 100'000,
             "The most requests that wait for the database; a further request gets 429 and Retry-After. Where several "
             "topics have http, each may use half, so that a flood of one sender leaves room for the others."),
      &IngestHttp::waiting_requests);
  add(size("ingest.http.waiting_bytes", kibibyte, gibibyte,
           "The most bytes of bodies that wait for the database; beyond that a request gets 429 and Retry-After. Where "
           "several topics have http, each may use half. If no request waits, any body fits."),
      &IngestHttp::waiting_bytes);
  add(number("ingest.http.batch_events", 1, 100'000, "The most CloudEvents of a batch; a larger batch gets 413."),
      &IngestHttp::batch_events);
  add(size("ingest.http.header_limit", kibibyte, mebibyte, "The most bytes of a request before its body."),
      &IngestHttp::header_limit);
  add(size("ingest.http.body_limit", kibibyte, max_payload,
           "The most bytes of a request's body; topics[].payload_limit holds, too."),
      &IngestHttp::body_limit);
  add(duration("ingest.http.receive_timeout", 100, minute, "How long a request may take to arrive."),
      &IngestHttp::receive_timeout);
  add(duration("ingest.http.answer_timeout", second, 10 * minute,
               "How long events may take to be stored before the request gets 503, and then the client to read the "
               "answer."),
      &IngestHttp::answer_timeout);
  add(duration("ingest.http.idle_timeout", second, hour, "How long a connection stays open between two requests."),
      &IngestHttp::idle_timeout);
}

void add_local(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::local, member));
  };
  add(duration("local.poll", 1, 10 * second,
               "The pause between two reads that find no enqueued event, and so the most reads a second: 100 at 10ms. "
               "A single instance reads."),
      &Local::poll);
  add(duration("local.lease", second, 10 * minute,
               "After so long without a heartbeat of the instance that reads enqueued events, another takes over."),
      &Local::lease);
}

void add_shard(std::vector<Row<Settings>>& rows) {
  const auto add = [&](Description about, auto member) {
    rows.push_back(row<Settings>(restart(std::move(about)), &Settings::shard, member));
  };
  add(number("shard.index", 0, max_shards - 1,
             "Of shard.of databases that share topics, this database's number: it gets the partitions whose number "
             "modulo shard.of is this. See sql/shards.md."),
      &ShardOf::index);
  add(number("shard.of", 1, max_shards,
             "The number of databases that share the topics, each with daemons of its own and the same kafka.group. "
             "From 2 on, one instance for each database reads, without membership in the group."),
      &ShardOf::of);
  add(duration("shard.lease", 3 * second, 10 * minute,
               "After so long without a heartbeat of the instance that reads, another instance of its database takes "
               "over."),
      &ShardOf::lease);
}

}  // namespace

void add_intake_rows(Table& table) {
  add_database(table.settings);
  add_kafka(table.settings);
  add_shard(table.settings);
  add_ingest(table.settings);
  add_ingest_tls(table.settings);
  add_ingest_http(table.settings);
  add_local(table.settings);
  table.topics = topic_rows();
}

}  // namespace inboxd::config
