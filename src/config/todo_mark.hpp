#pragma once
#include <string_view>

#include "config/convert.hpp"
#include "config/settings.hpp"

namespace inboxd::config {

/// Begins a line of a statement that a person has to complete. The rest of the line is the sentence that says how.
inline constexpr std::string_view todo_mark = "-- inboxd:todo ";

/// Refuses statements with lines that begin with the mark.
void check_todo_marks(const Settings& settings, Reading& reading);

}  // namespace inboxd::config
