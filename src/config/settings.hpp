#pragma once
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/logger.hpp"
#include "config/shard_of.hpp"

namespace inboxd::config {

using std::chrono::milliseconds;

/// A password or token. Only `reveal()` and `now()` return its text; it is shown as stars. Two of the same file are
/// equal, whatever the file held when they were read.
class Secret {
 public:
  Secret() = default;
  /// What its file holds: the text itself, or a database URL with it as password.
  enum class File { text, url };
  explicit Secret(std::string text, std::string file = {}, File holds = File::text)
      : text_{std::move(text)}, file_{std::move(file)}, holds_{holds} {}
  /// As it was read with the configuration.
  const std::string& reveal() const { return text_; }
  /// The text of its file at this moment, because passwords are rotated. If the file cannot be read or is empty, or
  /// there is none: as it was read with the configuration. Blocks on file I/O.
  std::string now() const;
  const std::string& file() const { return file_; }
  bool empty() const { return text_.empty(); }
  bool operator==(const Secret& other) const {
    return file_ == other.file_ && (!file_.empty() || text_ == other.text_);
  }

 private:
  std::string text_;
  std::string file_;  ///< empty: it came from no file
  File holds_ = File::text;
};

/// By key, or by name.
using Secrets = std::map<std::string, Secret>;

struct Database {
  std::string url;                             ///< libpq URL or key=value string, without the password
  Secret password;
  std::string schema = "inbox";
  int connections = 32;
  bool prepare = true;
  std::string handler_role;                    ///< for handlers' SQL; empty: the daemon's role
  std::string handler_search_path;             ///< empty: the default of the role or database
  milliseconds deadline{30'000};
  /// More time for connecting than `deadline`. Below liveness.grace, so that a connecting loop does not count as
  /// stalled.
  milliseconds connecting_beyond_deadline{45'000};
  std::size_t result_bytes = 64 << 20;
  bool operator==(const Database&) const = default;
};

struct Kafka {
  std::string brokers;
  std::string group;
  std::string instance_id;                     ///< empty: dynamic membership
  std::string name_space;
  std::map<std::string, std::string> properties;
  Secrets secrets;                             ///< the properties that came from a file
  bool operator==(const Kafka&) const = default;

  /// The properties, with files read at this moment.
  std::map<std::string, std::string> properties_now() const;
};

/// Where a topic or a handler begins: `beginning`, `end`/`now`, `committed`, or a time.
struct StartAt {
  enum class Kind { beginning, end, committed, time };
  Kind kind = Kind::beginning;
  std::int64_t time_us = 0;                    ///< microseconds since 1970 UTC, for Kind::time
  bool operator==(const StartAt&) const = default;
};

enum class EnvelopeKind {
  automatic,
  cloudevents,
  dapr,
  cap,
  axon,
  nservicebus,
  masstransit,
  wolverine,
  eventuate,
  debezium,
  outbox_router,
  custom,
};
enum class OnMissingId { quarantine, position, digest };
/// automatic: skipped where the envelope is debezium, stored elsewhere.
enum class Tombstones { automatic, store, skip };
/// Which wrapping of converters is taken off a payload for ids and `body`.
enum class Unwrap { automatic, none, json_string, schema_payload };

/// uuid_bytes: 16 bytes in network order; uuid_bytes_le: as .NET writes a Guid, its first three fields reversed.
enum class IdFormat { text, uuid_bytes, uuid_bytes_le };
/// Of a whole or decimal number since 1970. automatic: by its magnitude.
enum class TimeUnit { automatic, s, ms, us, ns };

/// Where a custom envelope finds each part: `header:NAME`, `json:/pointer` or `key`; empty = nowhere.
struct CustomRules {
  std::string id, type, source, subject, time;
  IdFormat id_format = IdFormat::text;
  TimeUnit time_unit = TimeUnit::automatic;
  bool operator==(const CustomRules&) const = default;
};

/// How a key or value is written. automatic: as it comes; JSON is found where it is.
enum class FormatKind { automatic, avro, protobuf, json_schema, json, text, bytes };
/// How decoded values are written as JSON. standard: as the specification of Avro or Protobuf says.
enum class JsonForm { plain, standard };
/// How a record begins with its schema's id, unless a header holds it: 0 and 4 bytes, or 0 and 8 bytes.
enum class SchemaIdForm { confluent, apicurio };

/// A schema registry with the REST API of Confluent.
struct Registry {
  std::string url;
  std::string user;
  Secret password;
  Secret token;                                ///< a bearer token
  std::string ca, certificate, key;            ///< PEM files; empty: the system's authorities, no certificate
  milliseconds timeout{5'000};
  std::size_t max_answer = 1 << 20;
  int max_schemas = 1'000;
  milliseconds unknown_interval{30'000};
  int max_requests_per_minute = 600;
  bool operator==(const Registry&) const = default;
};

/// Of a topic's values or keys.
struct Format {
  FormatKind kind = FormatKind::automatic;
  JsonForm json = JsonForm::plain;
  SchemaIdForm schema_id = SchemaIdForm::confluent;
  std::size_t max_decoded = 4 << 20;
  std::string schema_file;                     ///< the schema of all records, instead of a registry
  std::string message;                         ///< Protobuf: the full name of the type in schema_file
  Registry registry;
  bool operator==(const Format&) const = default;
};

/// How long something is kept; nullopt = forever.
using Keep = std::optional<milliseconds>;

/// kafka: records of a Kafka topic. local: events that an application enqueues in the database.
enum class Source { kafka, local };

/// How a sender signs the events that it posts.
enum class SignatureScheme { none, github, stripe, standard_webhooks };

/// Events of a local topic over HTTP.
struct TopicHttp {
  bool open = false;                           ///< whoever reaches the port may post
  std::vector<std::string> tokens;             ///< each allows to post
  SignatureScheme scheme = SignatureScheme::none;
  std::vector<std::string> secrets;            ///< of the signature; each is accepted
  milliseconds tolerance{300'000};             ///< of a signature's timestamp, in both directions
  std::string key = "header:inboxd-key";       ///< header:NAME or json:/pointer
  std::vector<std::string> headers;            ///< kept with the event, in addition
  bool is_on() const { return open || !tokens.empty() || scheme != SignatureScheme::none; }
  bool operator==(const TopicHttp&) const = default;
};

struct Topic {
  std::string name;                            ///< exact name; empty if there is a pattern
  std::string pattern;                         ///< regular expression beginning with ^
  std::vector<std::string> exclude;            ///< names with *, or expressions beginning with ^
  Source source = Source::kafka;
  StartAt start;
  EnvelopeKind envelope = EnvelopeKind::automatic;
  bool strict = false;                         ///< all attributes that an envelope requires have to be there
  CustomRules custom;
  OnMissingId on_missing_id = OnMissingId::quarantine;
  std::size_t payload_limit = 1 << 20;
  Tombstones tombstones = Tombstones::automatic;
  Unwrap unwrap = Unwrap::automatic;
  std::string deliver_at;                      ///< header:NAME or json:/pointer; empty: events are delivered at once
  milliseconds deliver_at_limit{30LL * 24 * 60 * 60 * 1000};  ///< how far ahead
  Format value, key;
  Keep retention;                              ///< of its events; forever: until their day is dropped
  TopicHttp http;
  bool operator==(const Topic&) const = default;
};

/// PEM files for https on a port; empty: plain HTTP.
struct PortTls {
  std::string certificate;                     ///< followed by its intermediate certificates
  std::string key;
  std::string client_ca;                       ///< issues the certificates that clients need; empty: they need none
  bool is_off() const { return certificate.empty(); }
  bool operator==(const PortTls&) const = default;
};

/// The limits of ingest.listen.
struct IngestHttp {
  int connections = 256;
  int waiting_requests = 1'000;
  std::size_t waiting_bytes = 64 << 20;
  int batch_events = 1'000;
  std::size_t header_limit = 16 << 10;
  std::size_t body_limit = 1 << 20;
  milliseconds receive_timeout{5'000};
  milliseconds answer_timeout{10'000};
  milliseconds idle_timeout{60'000};
  bool operator==(const IngestHttp&) const = default;
};

struct Ingest {
  int connections = 2;
  int batch_events = 1000;
  std::size_t batch_bytes = 8 << 20;
  std::size_t queued_bytes = 48 << 20;
  int queued_events = 200'000;
  milliseconds batch_wait{0};
  int run_events = 1000;
  std::string listen = "off";                  ///< HOST:PORT for events over HTTP, or `off`
  PortTls tls;
  IngestHttp http;
  bool is_listening() const { return listen != "off"; }
  bool operator==(const Ingest&) const = default;
};

struct Dispatch {
  milliseconds poll{200};
  int in_hand_events = 20'000;
  std::size_t in_hand_bytes = 64 << 20;
  bool operator==(const Dispatch&) const = default;
};

/// The reader of enqueued events.
struct Local {
  milliseconds poll{10};
  milliseconds lease{10'000};
  bool operator==(const Local&) const = default;
};

enum class Backoff { fixed, linear, exponential };

/// What becomes of an event that failed with an error of this class: exact, or a prefix that ends with *.
struct RetryRule {
  enum class Then { retry, dead, pause };
  std::string error;
  Then then = Then::retry;
  bool operator==(const RetryRule&) const = default;
};
using RetryRules = std::vector<RetryRule>;
/// As the configuration says it.
std::string_view word_of(RetryRule::Then then);

struct Retry {
  int max_attempts = 20;
  Backoff backoff = Backoff::exponential;
  milliseconds base{2'000};
  milliseconds cap{300'000};
  double jitter = 0.2;                         ///< 0..1: a delay d becomes d * (1 - jitter .. 1 + jitter)
  RetryRules rules{};                          ///< the first that matches counts
  bool operator==(const Retry&) const = default;
};

/// The wait after failed attempt number `attempt` (1 = the first), without jitter: the growth, up to the cap. Pure.
milliseconds delay_after(const Retry& retry, std::int32_t attempt);

/// The longest time from the first attempt to the last, jitter included. Pure.
milliseconds max_span(const Retry& retry);

/// sequential: events of an order key run in order. single: in no order. batch: all of a window together.
enum class Mode { sequential, single, batch };
enum class OrderScope { partition, handler };
/// Events without an order key: in no order, or as if they had a common key.
enum class MissingKey { unordered, partition, shared };
/// A failed event's key: blocked until the event has its outcome; blocked, and parked if the event is dead; or not
/// blocked.
enum class OnFailure { block, park, skip };

/// none: calls of a window have its events by arrival. key: each call has the events of a single record key.
enum class GroupBy { none, key };

/// The windows of a batch handler: a grid of `every`, or the times of `cron` in its zone.
struct Batch {
  milliseconds every{0};                       ///< 0: not set
  std::string cron = "off";                    ///< five fields; off: not set
  std::string time_zone = "UTC";               ///< IANA name, for cron
  int at_least = 1;                            ///< events, or the close is postponed
  milliseconds max_wait{0};                    ///< the longest postponement; 0: ten windows
  int max_events = 1'000;                      ///< of a call
  GroupBy group_by = GroupBy::none;
  bool operator==(const Batch&) const = default;
};

/// A plugin's own settings: scalars as text, lists and maps as compact JSON.
using PluginSettings = std::map<std::string, std::string>;

struct Handler {
  std::string name;
  std::vector<Topic> unwrapped;                ///< all topics, if any has another `unwrap` than auto; else none
  std::vector<std::string> aliases;
  std::string plugin;                          ///< a shipped name, or a path to a .so
  std::vector<std::string> topics;             ///< exact, or a prefix that ends with *; empty = all
  std::vector<std::string> types;              ///< event types, in the same form; empty = all
  StartAt start{StartAt::Kind::end, 0};
  Mode mode = Mode::sequential;
  std::string order_by = "key";                ///< key, subject, header:NAME or json:/pointer
  OrderScope order_scope = OrderScope::partition;
  MissingKey missing_key = MissingKey::unordered;
  bool chose_order = false;                    ///< order_by or missing_key is in the file
  OnFailure on_failure = OnFailure::block;
  Batch batch;
  int concurrency = 8;
  int events_per_call = 1;
  int group = 50;                              ///< calls that share a transaction
  milliseconds deadline{30'000};
  milliseconds lease{30'000};
  int max_crashes = 10;                        ///< an event in flight at this many crashes is dead-lettered
  Retry retry;
  int fuse_failures = 0;                       ///< consecutive failures that pause the handler; 0: none
  std::optional<milliseconds> expire_after;    ///< since occurred_at, else received_at; nullopt: never
  std::string dead_letter_topic;               ///< where its dead letters are published; empty: nowhere
  std::string rate = "unlimited";              ///< events over all instances: N/s, N/m or N/h
  int max_in_flight = 0;                       ///< calls over all instances; 0: unlimited
  PluginSettings settings;
  Secrets secrets;                             ///< values from files and the environment: `settings.url`
  bool operator==(const Handler&) const = default;
};

/// `rate` in events a second; nullopt: unlimited.
std::optional<double> rate_per_second(const Handler& handler);

/// The first rule for an error of that class; null: none.
const RetryRule* rule_for(const Retry& retry, std::string_view error_class);

/// What becomes of a handler's failed and late events.
class Topics;
struct Policy {
  Retry retry;
  std::optional<milliseconds> expire_after;
  std::shared_ptr<const Topics> topics{};  ///< null: all topics have unwrap: auto
};

/// The scope in force. An order key that is not the record's key may arrive on several partitions, so a single instance
/// runs them all. A window, too, is run by a single instance.
inline OrderScope order_scope_of(const Handler& handler) {
  if (handler.mode == Mode::batch) return OrderScope::handler;
  return handler.order_by == "key" ? handler.order_scope : OrderScope::handler;
}

/// The settings that decide the order of its events, as the database knows them: single, batch, or
/// sequential/SCOPE/ON_FAILURE/MISSING_KEY/ORDER_BY. Instances with another text do not run the handler.
std::string order_text(const Handler& handler);

struct Retention {
  using Keep = config::Keep;
  Keep events{std::chrono::hours{24 * 30}};
  Keep ledger{std::chrono::hours{24 * 30}};
  Keep outcomes{std::chrono::hours{24 * 30}};
  Keep failures{std::chrono::hours{24 * 30}};
  Keep dead_letters;
  Keep quarantine;
  std::int64_t dead_letter_bytes = std::int64_t{10} << 30;  ///< 0: no limit
  std::int64_t quarantine_bytes = std::int64_t{10} << 30;   ///< 0: no limit
  bool operator==(const Retention&) const = default;
};

struct Log {
  base::LogLevel level = base::LogLevel::info;
  /// nullopt = auto: journal under systemd, text on a terminal, else json.
  std::optional<base::LogFormat> format;
  bool operator==(const Log&) const = default;
};

/// Reads over the admin port: free for this machine, or with a token only.
enum class AdminRead { loopback, token };
enum class AdminUi { automatic, off, read_only, full };

/// The header in which a proxy names the person who asks.
struct ActorHeader {
  std::string name;                            ///< in lower case; empty: none
  std::vector<std::string> from;               ///< the proxy's addresses or networks: 10.0.0.0/8
  bool operator==(const ActorHeader&) const = default;
};

/// The port for health checks, metrics and operations.
struct Admin {
  std::string listen = "127.0.0.1:9470";       ///< HOST:PORT, or `off`
  std::string socket;                          ///< path of a Unix socket; empty: none
  AdminRead read = AdminRead::loopback;
  Secret token;                                ///< allows every operation; empty: no changes
  Secret read_token;                           ///< allows every read; empty: none
  AdminUi ui = AdminUi::automatic;
  ActorHeader actor_header;
  PortTls tls;
  std::vector<std::string> hosts;              ///< accepted Host names in addition to localhost
  int connections = 64;
  int queue = 16;                              ///< most requests that wait for each worker thread
  std::size_t header_limit = 16 << 10;
  std::size_t body_limit = 1 << 20;
  milliseconds receive_timeout{5'000};
  milliseconds answer_timeout{30'000};
  milliseconds idle_timeout{60'000};
  int plans = 8;                               ///< of dry runs, which a change may name
  milliseconds plan_age{15 * 60'000};
  bool is_off() const { return listen == "off" && socket.empty(); }
  bool operator==(const Admin&) const = default;
};

enum class TraceRelation { link, parent };

/// Spans for a trace collector.
struct Tracing {
  std::string endpoint;                        ///< URL of a collector (OTLP over HTTP); empty: no traces
  Secret authorization;                        ///< the Authorization header; empty: none
  TraceRelation relation = TraceRelation::link;
  double sample = 0;                           ///< 0..1: share of events without a trace context
  int queue = 4'096;                           ///< most spans that wait for the collector
  std::string service = "inboxd";
  bool is_off() const { return endpoint.empty(); }
  bool operator==(const Tracing&) const = default;
};

/// The relay, which sends published messages.
struct Outbox {
  bool relay = true;                           ///< whether this instance may run it
  std::vector<std::string> topics;             ///< allowed: exact, or a prefix that ends with *; empty: all
  std::string id_header = "id";
  int batch = 5'000;                           ///< messages
  std::size_t batch_bytes = 8 << 20;
  int in_flight_messages = 20'000;
  std::size_t in_flight_bytes = 32 << 20;
  std::size_t message_bytes = 1'000'000;
  milliseconds lease{10'000};
  milliseconds retry{30'000};
  milliseconds stalled_after{15'000};
  milliseconds poll{10};
  milliseconds poll_idle{100};
  bool operator==(const Outbox&) const = default;
};

/// Event ids in generations: a small table with a unique index, and frozen tables with a filter each.
struct Ledger {
  std::int64_t generation_ids = 0;             ///< 0: as many as a quarter of shared_buffers indexes
  std::size_t filter_bytes = 512 << 20;        ///< memory for filters
  bool operator==(const Ledger&) const = default;
};

/// A whole configuration file, with defaults, checked. A plain value.
struct Settings {
  Database database;
  Kafka kafka;
  ShardOf shard;
  Ledger ledger;
  std::vector<Topic> topics;
  Ingest ingest;
  Local local;
  Dispatch dispatch;
  std::vector<Handler> handlers;
  Outbox outbox;
  Retention retention;
  Admin admin;
  Tracing tracing;
  Log log;
  milliseconds drain{25'000};
  milliseconds liveness_grace{60'000};

  bool has_local_topics() const { return has(Source::local); }
  /// Without brokers, the daemon runs on the database alone: all topics are local.
  bool has_brokers() const { return !kafka.brokers.empty(); }
  bool reads_kafka() const { return has_brokers() && (topics.empty() || has(Source::kafka)); }

  /// Connections that store batches of Kafka.
  int ingest_connections() const { return reads_kafka() ? ingest.connections : 0; }
  /// Whether a single instance of each database reads, under the ingest right.
  bool has_ingest_right() const { return reads_kafka() && shard.is_one_of_many(); }
  /// Connections besides these and the handlers': control, settler, claimer, maintenance, the reader of local events,
  /// the receiver of events over HTTP, the ingest right, relay, and admin operations.
  int other_connections() const {
    return 4 + (has_local_topics() ? 1 : 0) + (ingest.is_listening() ? 1 : 0) + (has_ingest_right() ? 1 : 0) +
           (outbox.relay ? 1 : 0) + (admin.is_off() ? 0 : 1);
  }
  bool operator==(const Settings&) const = default;

 private:
  bool has(Source source) const {
    return std::any_of(topics.begin(), topics.end(), [&](const Topic& topic) { return topic.source == source; });
  }
};

}  // namespace inboxd::config
