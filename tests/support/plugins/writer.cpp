// Inserts a row for each event into `table`; before that, for events of the type `Bad`, it runs the statement `bad`,
// and with `swallow: true` goes on as if nothing had happened. To see what a handler cannot do.
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
