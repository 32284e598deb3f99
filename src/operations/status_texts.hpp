#pragma once
#include "operations/status_findings.hpp"

namespace inboxd::operations {

/// Adds what quotes events and errors: keys, messages, reasons of pauses. It is read at this moment from the tables
/// that `events forget` erases. Adds nothing if the role may not read it, as role monitor.
void add_texts(inbox::Connection& connection, Situation& situation);
/// Likewise the reasons of pauses only.
void add_pause_reasons(inbox::Connection& connection, std::vector<HandlerState>& handlers);

}  // namespace inboxd::operations
