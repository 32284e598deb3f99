#pragma once
#include "../shared/settings_table.hpp"

namespace http_handler {

inline constexpr handlers::SettingsTable table{std::array{
    handlers::Setting{
        "url", handlers::required,
        "`http://` or `https://`, without user name and password (see `headers`). Placeholders `{topic} {type} {key} "
        "{event_id} {partition}` after the host become a segment of the path each; quote the text. An event whose "
        "value is empty, `.` or `..` is dead (`http.url`)"},
    handlers::Setting{
        "style", "cloudevents-binary",
        "`cloudevents-binary`: attributes as headers, the payload as the body. `cloudevents-structured`: a JSON "
        "object. `dapr`: as `cloudevents-structured`, with Dapr's fields and Dapr's answers"},
    handlers::Setting{
        "payload", "decoded",
        "`decoded`: JSON as `body` of handler `sql` has it, also of topics in Avro or Protobuf (../formats.md). `raw`: "
        "the bytes as they came, with the record's content type"},
    handlers::Setting{
        "health", handlers::none,
        "`{path, every: 5s, timeout: 2s, failures: 3}`: no event is sent before a GET was answered 2xx, nor after "
        "`failures` in a row that were not. Events wait uncharged"},
    handlers::Setting{"permanent", "[400, 422]", "statuses that make a dead letter at once"},
    handlers::Setting{
        "signing_secret", handlers::none,
        "`whsec_` and base64, or a list of secrets while a secret is replaced: signs as Standard Webhooks. `{file: "
        "…}`, `{credential: …}` and `{env: …}` keep it out of the file"},
    handlers::Setting{
        "headers", "{}",
        "a map of further headers, also of health checks. `Authorization: {file: …}` keeps a token out of the file"},
    handlers::Setting{"max_body", "65536", "bytes of an answer that are read"},
    handlers::Setting{"retry_after", "retry",
                      "what a 429 or 503 with `Retry-After` means: `retry` counts an attempt, `defer` none, so that "
                      "only `expire_after` ends an event"},
    handlers::Setting{"max_retry_after", "1h", "the longest `Retry-After` that counts"},
    handlers::Setting{"connect_timeout", "2s", "how long connecting may take"},
    handlers::Setting{"unix_socket", handlers::none, "an absolute path; the host in `url` is then only a name"},
    handlers::Setting{"ca", handlers::none,
                      "a PEM file for https: the trusted authorities. Without it the system's are trusted"},
    handlers::Setting{"certificate", handlers::none, "a PEM file for https: the daemon's own certificate"},
    handlers::Setting{"certificate_key", handlers::none, "a PEM file: the key of `certificate`"},
    handlers::Setting{
        "allow_link_local", "false",
        "`true` permits link-local addresses (169.254.0.0/16, fe80::/10, fd00:ec2::/32), where some clouds keep "
        "credentials. Checked after the name is resolved"},
}};

}  // namespace http_handler
