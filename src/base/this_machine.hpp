#pragma once
#include <sys/socket.h>

#include <string_view>

namespace inboxd::base {

/// Whether the address is loopback or belongs to a network interface of this machine. Any thread.
bool is_of_this_machine(const sockaddr& address);

/// The host of `host:9092`, `[::1]:9092` or `SASL_SSL://host:9092`. Pure.
std::string_view host_of(std::string_view address);

/// Whether a host's text is `localhost`, in 127.0.0.0/8, ::1, the path of a socket or empty. Looks nothing up. Pure.
bool is_on_this_machine(std::string_view host);

}  // namespace inboxd::base
