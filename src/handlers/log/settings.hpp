#pragma once
#include "../shared/settings_table.hpp"

namespace log_handler {

inline constexpr handlers::SettingsTable table{std::array{
    handlers::Setting{"level", "info", "`debug`, `info`, `warn` or `error`"},
}};

}  // namespace log_handler
