#pragma once
#include "../shared/settings_table.hpp"

namespace exec_handler {

inline constexpr handlers::SettingsTable table{std::array{
    handlers::Setting{"command", handlers::required,
                      "program and arguments, as a list: `[python3, /opt/mailer.py]`. A name without a slash is "
                      "looked up in the usual folders"},
    handlers::Setting{"mode", "stream",
                      "`stream`: a program that lives on gets a line for each event and answers each. `once`: a "
                      "process for each event"},
    handlers::Setting{"payload", "decoded",
                      "`decoded`: JSON as `body` of handler `sql` has it, also of topics in Avro or Protobuf "
                      "(../formats.md). `raw`: the bytes as they came, in a line as `payload_base64`"},
    handlers::Setting{"environment", handlers::none,
                      "a map of variables in addition to `PATH` and `LANG`, as `{TZ: Europe/Berlin}`. `{file: …}`, "
                      "`{credential: …}` and `{env: …}` give secrets"},
    handlers::Setting{"folder", "/", "the working directory"},
    handlers::Setting{"user", handlers::none, "run as this user; the daemon must be root"},
    handlers::Setting{"nice", "0", "0 to 19, the lowest priority"},
    handlers::Setting{"memory_mib", "0", "MiB of address space of a process; 0: as the daemon"},
    handlers::Setting{"open_files", "0", "open files of a process, 16 to 1048576; 0: as the daemon"},
}};

}  // namespace exec_handler
