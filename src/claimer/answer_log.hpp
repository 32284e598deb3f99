#pragma once
#include <string>

#include "base/logger.hpp"
#include "queue/batch_window.hpp"
#include "queue/requests.hpp"

namespace inboxd::dispatcher {

/// Logs what an operator must know of a question that the database has answered.
void log_answer(base::Logger& log, const std::string& handler, const Request& request, const Answer& answer);
void log_window_end(base::Logger& log, const std::string& handler, const WindowEnd& end);

}  // namespace inboxd::dispatcher
