#pragma once
#include <sys/socket.h>

namespace inboxd::base {

/// Whether the address is loopback or belongs to a network interface of this machine. Any thread.
bool is_of_this_machine(const sockaddr& address);

}  // namespace inboxd::base
