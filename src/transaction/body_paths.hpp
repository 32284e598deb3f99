#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace inboxd::transaction {

/// The paths that a statement reads from column `body` of relation `events`, as written: `body->>'orderId'`,
/// `e.body #>> '{a,b}'` without `e.`. Empty if it also uses `body` otherwise (as a whole, in a function, of another
/// relation): then no path says whether it finds what it looks for.
std::vector<std::string> body_paths(std::string_view sql);

/// A statement with two numbers: the events that have a payload, and how many of them have a value at a path or more.
std::string body_question(const std::vector<std::string>& paths);

}  // namespace inboxd::transaction
