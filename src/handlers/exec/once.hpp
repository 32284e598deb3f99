#pragma once
#include <inboxd/handler.hpp>

#include "program.hpp"

namespace exec_handler {

/// Runs a process for an event: its body, or a payload that is not JSON, on stdin, its coordinates in the environment.
/// Exit status 0: done; 65: dead; anything else: retry. The last line of stderr is the message. nullopt: the call was
/// cancelled.
std::optional<inboxd::Outcome> run_once(const Program& program, const inboxd::Call& call, const inboxd::Event& event);

/// The outcome by the end of the process. Pure.
inboxd::Outcome outcome_of(int how, const std::string& errors);

}  // namespace exec_handler
