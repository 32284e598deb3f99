#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/daemon_process.hpp"
#include "support/database.hpp"

namespace inboxd::support {

/// The application's own schema in the same database, dropped at the end. SQL is written for `app.` and `inbox.`; this
/// test's names replace them. Declare it after the Database.
class Application final {
 public:
  explicit Application(Database& database);
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  const std::string& schema() const { return schema_; }
  std::string named(std::string_view sql) const;

  void run(std::string_view sql) { database_.run(named(sql)); }
  std::int64_t number(std::string_view sql) { return database_.number(named(sql)); }
  std::string text(std::string_view sql) { return database_.text(named(sql)); }
  void wait_for(const std::string& what, std::string_view sql, std::int64_t wanted, milliseconds within = patience) {
    database_.wait_for(what, named(sql), wanted, within);
  }

  /// Creates `app.applied (event_id uuid, n bigint)`, without a key, so that a repeated row shows.
  void create_table();
  std::int64_t applied() { return number("select count(*) from app.applied"); }
  std::int64_t applied_events() { return number("select count(distinct event_id) from app.applied"); }

  /// The sql handler with this statement, or function, on all topics.
  HandlerText statement(const std::string& name, std::string_view sql, std::vector<std::string> more = {}) const;
  HandlerText function(const std::string& name, std::string_view function, std::vector<std::string> more = {}) const;

 private:
  Database& database_;
  std::string schema_;
};

inline constexpr std::string_view insert_each =
    "insert into app.applied (event_id, n) select event_id, (body->>'n')::bigint from events";

/// Any text as a YAML scalar.
std::string yaml_text(std::string_view text);

}  // namespace inboxd::support
