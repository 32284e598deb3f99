// Inserts a row for each event into `table`. For events of type `Bad` it first runs the statement `bad`. With `swallow:
// true` it ignores errors. Shows what a handler cannot do.
#include <inboxd/handler.hpp>
#include <string>

namespace {

class Writer : public inboxd::Handler {
 public:
  explicit Writer(const inboxd::Settings& settings)
      : insert_{"insert into " + settings.text("table") + " (event_id, n) values ($1, $2)"},
        bad_{settings.text("bad", "")},
        swallow_{settings.boolean("swallow", false)} {}

  inboxd::Outcome handle(inboxd::Call& call, const inboxd::Event& event) override {
    if (event.type() == "Bad") {
      try {
        call.sql().execute(bad_);
      } catch (const inboxd::SqlError&) {
        if (!swallow_) throw;
      }
    }
    try {
      call.sql().execute(insert_, event.uuid(), event.offset());
    } catch (const inboxd::SqlError&) {
      if (!swallow_) throw;
    }
    return inboxd::done();
  }

 private:
  std::string insert_;
  std::string bad_;
  bool swallow_;
};

}  // namespace

INBOXD_HANDLER(Writer, "writer", "1.0", INBOXD_SQL)
