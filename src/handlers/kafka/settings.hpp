#pragma once
#include "../shared/settings_table.hpp"

namespace kafka_handler {

inline constexpr handlers::SettingsTable table{std::array{
    handlers::Setting{
        "topic", handlers::required,
        "a name with the placeholders `{topic} {type} {key} {event_id} {partition}`; quote the text. The topic must "
        "exist, unless the brokers create it"},
    handlers::Setting{
        "topics_allowed", handlers::none,
        "a list of topics, exact or as a prefix: `[\"billing.*\"]`. An event whose placeholders give another topic is "
        "dead (`kafka.topic_not_allowed`). Without it a name that begins with `{type}` or `{key}` lets the producer of "
        "an event choose any topic that the daemon may write, and `check` warns"},
    handlers::Setting{
        "properties", "{}",
        "of librdkafka. `{file: …}`, `{credential: …}` and `{env: …}` give secrets; `sasl.oauthbearer.token.file` as "
        "in `kafka.properties`. Defaults that differ from librdkafka's: `linger.ms` 1 (at most 5), `partitioner` "
        "`murmur2_random` as Java's clients (`random` would break the order of keys)"},
    handlers::Setting{"payload", "raw",
                      "`raw`: the bytes as they came. `decoded`: their JSON, as `body` of handler `sql`, for topics in "
                      "Avro (../formats.md); an event without is dead (`kafka.not_json`)"},
    handlers::Setting{"headers", "keep", "`keep`: the event's own headers first. `none`: only the headers listed "
                                         "below"},
    handlers::Setting{"connection", "{}",
                      "not for the file: the daemon puts its own brokers, security and sockets here"},
}};

}  // namespace kafka_handler
