#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/exit_code.hpp"
#include "config/settings.hpp"
#include "inbox/connection.hpp"
#include "inbox/database_error.hpp"
#include "operations/parameters.hpp"

namespace inboxd::operations {

/// An operation's result as JSON. Field names are the names in the SQL views.
using Document = nlohmann::ordered_json;

enum class Permission {
  read,             ///< cheap however much is stored: reads an index, or counts to a limit
  read_with_token,  ///< over HTTP only with a token: confidential or slow
  change,           ///< takes `dry-run` and `yes`; recorded in the audit
};

enum class Needs {
  nothing,
  database,
  daemon,  ///< answered by the running daemon, over its admin port
};

class RunningDaemon;

struct Progress {
  std::string what;  ///< `worked through`
  std::int64_t done = 0;
  std::int64_t of = 0;  ///< 0: unknown
};

/// The surroundings of an operation. Its functions run on the operation's thread.
struct Context {
  inbox::Connection* connection = nullptr;  ///< null if the operation needs neither database nor daemon
  RunningDaemon* daemon = nullptr;          ///< null unless the operation needs it
  std::string name_space;                   ///< kafka.namespace: part of ids derived from a topic
  std::vector<config::Topic> topics;        ///< the rules for reading records
  config::Retention retention;              ///< in force
  std::size_t filter_bytes = 0;             ///< ledger.filter_bytes, in force
  std::vector<std::string> handlers;        ///< their names in the caller's file
  std::string schema;
  std::string actor;
  Document agreed;                     ///< the plan that a person confirmed, an upper bound; null: no bound
  bool shows_content = true;           ///< keys and messages of events, if the role may read them
  bool follows = false;                ///< waits for work that daemons do, with its progress
  std::int64_t max_rows = 1'000'000;   ///< the most that an operation changes; repeat it for the rest
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  /// Waits that long between two batches; true: the operation shall stop.
  std::function<bool(std::chrono::milliseconds)> pause = [](std::chrono::milliseconds) { return false; };
};

struct Answer {
  base::ExitCode code = base::ExitCode::done;
  Document document;        ///< null: nothing to show
  std::string message;      ///< a sentence for the person; may be empty
  Document plan = nullptr;  ///< the plan of a dry run, for Context::agreed; never shown
};

struct Example {
  std::string command;  ///< without `inboxd`
  std::string explains;
};

using OperationFunction = Answer(Context& context, const Arguments& arguments);
using DocumentSchema = Document();

/// A row of the table that serves command line, HTTP and page.
struct Operation {
  std::string verb;  ///< `dead replay`
  std::string help;
  Permission permission = Permission::change;  ///< a row without a permission gets the strictest
  Needs needs = Needs::nothing;
  OperationFunction* function = nullptr;  ///< throws database errors; answer_for() converts them
  DocumentSchema* answer = nullptr;       ///< the schema of its document
  std::vector<Parameter> parameters;
  std::vector<Example> examples;
  DocumentSchema* not_one = nullptr;   ///< the schema if an id matches none or several; null: the same
  std::vector<std::string> aliases{};  ///< former verbs: accepted, but shown neither in help nor in OpenAPI
  bool has_own_command = false;        ///< the command line has its own, on the caller's file
};

/// Every operation, in the order of the help.
std::vector<Operation> operations();
/// Parts of them (outbox_operations.cpp, process_operation_table.cpp).
std::vector<Operation> outbox_operations();
std::vector<Operation> process_operations();

/// The operation's path on the admin port: `/v1/dead/replay`. Reads are GET, changes POST.
std::string path_of(const Operation& operation);
/// Whether the path belongs to the operation's verb or to an alias.
bool is_path_of(const Operation& operation, const std::string& path);

/// Runs the operation. A handler's former name in `arguments` becomes the present name, so that the operations know
/// present names only. Throws like Operation::function.
Answer run(const Operation& operation, Context& context, Arguments arguments);

/// Exit status and message for a failed statement. `where` is Connection::where().
Answer answer_for(const inbox::DatabaseFailure& failure, const std::string& where);

/// How long work is cut into transactions.
struct Pace {
  std::string what;             ///< `worked through`, for the progress
  std::int64_t per_second = 0;  ///< 0: unlimited
  std::int64_t most = 500;      ///< rows of a batch: its locks are held briefly
};

/// Works through [0, total) batch by batch, with pauses that keep the rate. `batch(begin, end)` returns where it ended,
/// which may be before `end`. True: interrupted between two batches.
template <class Batch>
bool in_batches(Context& context, const Pace& pace, std::int64_t total, Batch batch) {
  const auto size = pace.per_second > 0 ? std::min(pace.per_second, pace.most) : pace.most;
  for (std::int64_t at = 0; at < total;) {
    const std::int64_t end = batch(at, std::min(at + size, total));
    context.progress({pace.what, end, total});
    const std::chrono::milliseconds rest{pace.per_second > 0 && end < total ? 1000 * (end - at) / pace.per_second : 0};
    if (context.pause(rest) && end < total) return true;
    at = end;
  }
  return false;
}

}  // namespace inboxd::operations
