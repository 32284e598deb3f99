#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "admin/parameters.hpp"
#include "base/exit_code.hpp"
#include "inbox/connection.hpp"

namespace inboxd::admin {

/// What an operation found or did, for programs; what people read is made from it. Names are those of the SQL views.
using Document = nlohmann::ordered_json;

/// What one must be allowed to run an operation.
enum class Permission {
  read,
  read_with_token,                             ///< over HTTP: not for everybody on this machine, or dear
  change,                                      ///< takes `dry-run` and `yes`; is written to the audit
};

enum class Needs {
  nothing,
  database,
  daemon,                                      ///< what only the running one knows: asked over its admin port
};

class Live;

/// How far a long operation has come.
struct Progress {
  std::string what;                            ///< `replayed`
  std::int64_t done = 0;
  std::int64_t of = 0;                         ///< 0: nobody knows
};

/// What an operation works with. Its functions are called on the operation's thread.
struct Context {
  inbox::Connection* connection = nullptr;     ///< there for those that need the database or the daemon
  Live* live = nullptr;                        ///< there for those that need the daemon
  std::string name_space;                      ///< kafka.namespace: goes into ids made of a topic
  std::string schema;                          ///< database.schema
  std::string actor;                           ///< who asks, for the audit
  Document agreed;                             ///< the plan that a person has agreed to: no more is done; null: any
  std::int64_t most_rows = 1'000'000;          ///< that one operation takes on; the rest is for the next
  std::function<void(const Progress&)> progress = [](const Progress&) {};
  /// Waits so long between two bites; true where the operation is asked to stop.
  std::function<bool(std::chrono::milliseconds)> pause = [](std::chrono::milliseconds) { return false; };
};

/// How an operation ended.
struct Answer {
  base::ExitCode code = base::ExitCode::done;
  Document document;                           ///< null where there is nothing to show
  std::string message;                         ///< a sentence for the person; may be empty
  Document plan = nullptr;                     ///< what a dry run is about, for Context::agreed; shown to nobody
};

/// A line of help: what to type and what it does.
struct Example {
  std::string command;                         ///< without `inboxd`
  std::string explains;
};

/// One row of the table that command line, HTTP and UI serve.
struct Operation {
  std::string verb;                            ///< `dead replay`
  std::string help;                            ///< one sentence
  std::vector<Example> examples;
  Permission permission = Permission::read;
  Needs needs = Needs::nothing;
  std::vector<Parameter> parameters;
  /// Throws what the database throws; `answer_for` (failure.hpp) makes an answer of it.
  Answer (*function)(Context& context, const Arguments& arguments) = nullptr;
  Document (*answer)() = nullptr;              ///< the schema of the document that it answers with
  Document (*not_one)() = nullptr;             ///< of that for an id that means none or several; null: the same
  bool has_own_command = false;                ///< the command line's is another one: of the caller's file
};

/// Where an operation is on the admin port: `/v1/dead/replay`. Those that read are asked by GET, the others by POST.
std::string path_of(const Operation& operation);

/// Every operation, in the order in which help lists them.
std::vector<Operation> operations();

}  // namespace inboxd::admin
