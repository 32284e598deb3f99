#pragma once
#include <string>
#include <vector>

#include "operations/operation.hpp"

namespace inboxd::operations {

/// A name in a request that the inbox does not know.
struct UnknownName {
  std::string sentence;  ///< `no handler "greter"; did you mean "greeter"?`, or the known names
  std::string nearest;   ///< empty: no known name is similar
};
/// `thing`: `handler`, `topic`. `name` may end with * for a prefix.
UnknownName unknown_name(const std::string& thing, const std::string& name, const std::vector<std::string>& known);

/// Adds the nearest name to a document, as `did_you_mean`.
void suggest(const UnknownName& unknown, Document& document);

/// Names and aliases of all handlers.
std::vector<std::string> handler_names(Context& context);

/// The answer if no handler has that name.
Answer unknown_handler(Context& context, const std::string& verb, const std::string& name);

/// The answer if no row matches the filters. It names the first filter (`handler`, `topic`, `type`, `error`, `reason`)
/// with a name that the inbox does not know; if it knows all of them the message is `otherwise`.
Answer nothing_matches(Context& context, const Arguments& arguments, Document document, const std::string& otherwise);

}  // namespace inboxd::operations
