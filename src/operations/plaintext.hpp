#pragma once
#include <map>
#include <string>
#include <string_view>

namespace inboxd::operations {

/// `localhost`, 127.0.0.0/8, ::1 or the path of a socket.
bool is_on_this_machine(std::string_view host);

/// The first of `brokers` on another machine, with which a client with these properties talks without TLS; empty: none.
/// Pure.
std::string plaintext_broker(const std::string& brokers, const std::map<std::string, std::string>& properties);

}  // namespace inboxd::operations
