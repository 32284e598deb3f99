#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/daemon.hpp"
#include "support/database.hpp"

namespace inboxd::support {

/// The application's side of the same database: a schema of its own, dropped at the end. SQL is written for `app.` (and
/// `inbox.`); the names of this test are put in their places. Declare it behind the Database.
class Application final {
 public:
  explicit Application(Database& database);
  ~Application();
  Application(const Application&) = delete;
  Application& operator=(const Application&) = delete;

  const std::string& schema() const { return schema_; }
  /// The text with this test's names, as a handler's setting needs it.
  std::string named(std::string_view sql) const;

  void run(std::string_view sql) { database_.run(named(sql)); }
  std::int64_t number(std::string_view sql) { return database_.number(named(sql)); }
  std::string text(std::string_view sql) { return database_.text(named(sql)); }
  void wait_for(const std::string& what, std::string_view sql, std::int64_t wanted, milliseconds within = patience) {
    database_.wait_for(what, named(sql), wanted, within);
  }

  /// `app.booked (event_id uuid, n bigint)`: without a key, so that a row that comes twice is there twice.
  void create_book();
  /// How many rows there are, and of how many events.
  std::int64_t booked() { return number("select count(*) from app.booked"); }
  std::int64_t booked_events() { return number("select count(distinct event_id) from app.booked"); }

  /// The shipped handler with this statement, or function, on all topics.
  HandlerText statement(const std::string& name, std::string_view sql, std::vector<std::string> more = {}) const;
  HandlerText function(const std::string& name, std::string_view function, std::vector<std::string> more = {}) const;

 private:
  Database& database_;
  std::string schema_;
};

/// Inserts each event into `app.booked`.
inline constexpr std::string_view books_each =
    "insert into app.booked (event_id, n) select event_id, (body->>'n')::bigint from events";

/// A text as a YAML scalar, whatever is in it.
std::string yaml_text(std::string_view text);

}  // namespace inboxd::support
