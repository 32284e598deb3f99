#pragma once
#include <cstddef>
#include <initializer_list>
#include <string>

#include "config/convert.hpp"
#include "config/settings.hpp"

/// The checks of ports and of events over HTTP; and how checks report.
namespace inboxd::config {

/// Reports a problem at the first of the keys that the file has, unless a key already has a problem.
void complain(Reading& reading, std::initializer_list<std::string> keys, const std::string& sentence);

/// `topics[0]`
std::string item_key(const char* list, std::size_t index);

/// An HTTP header carries such a text unchanged.
bool is_word(const std::string& text);

/// `port`: the keys' group, admin or ingest.
void check_port(const std::string& port, const std::string& listen, const PortTls& tls, Reading& reading);

/// Who may post to the topic, and what the signature needs. `key`: the topic's.
void check_topic_http(const Settings& settings, const Topic& topic, const std::string& key, Reading& reading);

/// The port of ingest.listen.
void check_ingest_port(const Settings& settings, Reading& reading);

}  // namespace inboxd::config
