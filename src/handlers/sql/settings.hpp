#pragma once
#include "../shared/settings_table.hpp"

namespace sql_handler {

inline constexpr handlers::SettingsTable table{std::array{
    handlers::Setting{"statement", handlers::required,
                      "one INSERT, UPDATE, DELETE, MERGE, SELECT (of a function) or WITH; sees the events as relation "
                      "`events`. Or `function`"},
    handlers::Setting{"function", handlers::none,
                      "instead of a statement: `schema.name` of a function of one `inbox.message`, called for each "
                      "event, in order"},
    handlers::Setting{"permanent", handlers::none,
                      "SQLSTATEs, or their first two characters, that are not retried: `[\"22\", \"23505\"]`"},
    handlers::Setting{"body", handlers::none,
                      "`required`: an event with a payload that is not JSON is dead-lettered at once. `optional`: its "
                      "`body` is null. Without it: `required` if the statement mentions `body`, and for functions"},
}};

}  // namespace sql_handler
