#pragma once
#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

// A token of mechanism OAUTHBEARER in a file that another program renews. Handler `kafka` compiles these two files,
// too, so they include nothing else of the project.

namespace inboxd::kafka {

/// The properties for it. They are inboxd's own; librdkafka does not know them.
inline constexpr const char* token_file = "sasl.oauthbearer.token.file";
inline constexpr const char* token_lifetime = "sasl.oauthbearer.token.lifetime.ms";

struct Token {
  std::string text;
  std::string principal = "inboxd";  ///< for messages of the library; brokers read it from the token
  std::int64_t end_ms = 0;           ///< since 1970
};

/// The token in the file; its end is that of a JSON web token (`exp`), or `lifetime_ms` after the file was written.
/// Otherwise the problem, without the token: no file, no single token in it, or an expired one.
std::variant<Token, std::string> read_token(const std::string& path, std::int64_t lifetime_ms);

bool is_token_property(std::string_view name);

/// Why the property may not have this value, in words for after "the value: "; nullopt if it may.
std::optional<std::string> refusal_of_token_property(std::string_view name, const std::string& value);

/// Sets one of the properties; clients of the configuration then take their tokens from the file. Returns the refusal.
std::optional<std::string> set_token_property(rd_kafka_conf_t* conf, const std::string& name, const std::string& value);

/// Once a client is made: from now on a thread of the library reads the file, at once and before a token expires. No
/// effect on clients without such a file.
void start_tokens(rd_kafka_t* client);

/// Gives the client the token that the file holds now, because brokers may have refused the last token. No effect on
/// clients without such a file. Any thread.
void renew_token(rd_kafka_t* client);

}  // namespace inboxd::kafka
