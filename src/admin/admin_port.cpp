#include "admin/admin_port.hpp"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

#include "admin/api.hpp"
#include "admin/page.hpp"
#include "admin/tls.hpp"
#include "event/now.hpp"

namespace inboxd::admin {
namespace {

using namespace std::chrono_literals;

enum Lanes : std::size_t { reading_lane, operating_lane };

/// A statement of an operation takes milliseconds; the client should soon learn that the database hangs.
constexpr auto max_statement = std::chrono::milliseconds{10s};

config::Database database_for(const config::Settings& settings) {
  config::Database out = settings.database;
  out.deadline = std::min({out.deadline, settings.admin.answer_timeout, max_statement});
  return out;
}

HttpServer::Limits limits_of(const config::Admin& settings) {
  HttpServer::Limits out;
  out.request.header_bytes = settings.header_limit;
  out.request.body_bytes = settings.body_limit;
  out.connections = static_cast<std::size_t>(settings.connections);
  out.queue = static_cast<std::size_t>(settings.queue);
  out.receive = settings.receive_timeout;
  out.answer = settings.answer_timeout;
  out.idle = settings.idle_timeout;
  return out;
}

HttpResponse wrong_method(const char* allowed) {
  HttpResponse out = refusal(405, std::string{"method not allowed; use "} + allowed);
  out.headers.emplace_back("Allow", allowed);
  return out;
}

bool reads(const HttpRequest& request) { return request.method == "GET" || request.method == "HEAD"; }

std::optional<operations::Probe> probe_of(const std::string& path) {
  if (path == "/livez") return operations::Probe::live;
  if (path == "/readyz") return operations::Probe::ready;
  if (path == "/startupz") return operations::Probe::started;
  return std::nullopt;
}

/// Called behind the gate, which refuses a wrong token.
bool has_token(const HttpRequest& request) { return request.header("authorization") != nullptr; }

}  // namespace

AdminPort::AdminPort(const config::Settings& settings, operations::RunningDaemon& daemon, base::Logger& log)
    : settings_{settings.admin},
      database_{database_for(settings)},
      name_space_{settings.kafka.name_space},
      schema_{settings.database.schema},
      topics_{settings.topics},
      daemon_{daemon},
      log_{log},
      gate_{settings_, page_key_.text()},
      plans_{static_cast<std::size_t>(settings_.plans), settings_.plan_age},
      operations_{operations::operations()},
      openapi_{openapi_text()},
      connection_{database_, "admin", watchdog_, log},
      server_{limits_of(settings_),
              {"admin read", "admin operate"},
              [this](const HttpRequest& request) { return respond(request); },
              log} {}

AdminPort::~AdminPort() {
  request_stop();
  join();
}

std::optional<ListenProblem> AdminPort::start() {
  std::vector<Listener> listeners;
  const auto add = [&](std::variant<std::vector<Listener>, ListenProblem> found,
                       const char* remedy) -> std::optional<ListenProblem> {
    if (const auto* problem = std::get_if<ListenProblem>(&found)) {
      return ListenProblem{problem->message + remedy, problem->is_taken};
    }
    auto& some = std::get<0>(found);
    listeners.insert(listeners.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    return std::nullopt;
  };
  if (settings_.listen != "off") {
    if (auto problem = add(listen_on(settings_.listen), "; change admin.listen, or set it to off")) return problem;
  }
  if (!settings_.socket.empty()) {
    if (auto problem = add(listen_at(settings_.socket), "; change admin.socket, or remove it")) return problem;
  }
  if (listeners.empty()) return std::nullopt;
  std::unique_ptr<Tls> tls;
  if (!settings_.tls.is_off()) {
    tls = std::make_unique<Tls>(settings_.tls, "admin.tls", log_);
    if (const auto problem = tls->open()) {
      return ListenProblem{problem->message + "; correct the file, or remove admin.tls"};
    }
  }
  if (const std::string problem = page_key_.write(settings_); !problem.empty()) {
    log_.warn("admin.page_without_key", {{"problem", problem}});
  }
  log_.info("admin.listening", {{"address", settings_.listen},
                                {"tls", tls != nullptr},
                                {"socket", settings_.socket},
                                {"changes", !settings_.token.empty()}});
  server_.start(std::move(listeners), std::move(tls));
  return std::nullopt;
}

void AdminPort::request_stop() {
  server_.request_stop();
  // A stop does not wait for an operation's statement.
  watchdog_.cut_all(std::chrono::steady_clock::now());
}

void AdminPort::join() { server_.join(); }

AdminPort::Outcome AdminPort::respond(const HttpRequest& request) {
  if (const auto probe = probe_of(request.path)) {
    // From any address and without a token: container runtimes have none, and the answer reveals little.
    return reads(request) ? health(*probe) : wrong_method("GET, HEAD");
  }
  if (settings_.ui != config::AdminUi::off) {
    // Before the gate, which refuses requests from other sites' pages: a link to the page is one.
    if (auto page = page_response(request)) return reads(request) ? std::move(*page) : wrong_method("GET, HEAD");
  }
  if (auto refused = gate_.refuse_foreign(request)) return *refused;
  const auto operation = std::find_if(operations_.begin(), operations_.end(), [&](const operations::Operation& one) {
    return operations::is_path_of(one, request.path);
  });
  if (operation != operations_.end()) return respond_to_operation(request, *operation);
  const bool is_metrics = request.path == "/metrics";
  if (!is_metrics && request.path != "/openapi.json") {
    return refusal(404, "no such path; /openapi.json lists all paths");
  }
  if (!reads(request)) return wrong_method("GET, HEAD");
  if (auto refused = gate_.refuse_unauthorised(request, operations::Permission::read)) return *refused;
  if (!is_metrics) return HttpResponse{200, openapi_};
  return LaneWork{reading_lane,
                  [this](const std::atomic<bool>&) {
                    return HttpResponse{200, daemon_.metrics(), "text/plain; version=0.0.4; charset=utf-8"};
                  },
                  true, has_token(request)};
}

AdminPort::Outcome AdminPort::respond_to_operation(const HttpRequest& request, const operations::Operation& operation) {
  const bool changes = operation.permission == operations::Permission::change;
  if (changes ? request.method != "POST" : !reads(request)) return wrong_method(changes ? "POST" : "GET, HEAD");
  if (auto refused = gate_.refuse_unauthorised(request, operation.permission)) return *refused;
  if (changes) {
    if (auto refused = Gate::refuse_media(request)) return *refused;
  }
  auto given = given_of(request, operation);
  if (auto* refused = std::get_if<HttpResponse>(&given)) return std::move(*refused);
  std::string plan = changes ? take_plan(std::get<Given>(given)) : "";
  auto arguments = operations::read_arguments(operation.parameters, std::get<Given>(given), event::now());
  if (!arguments) return refusal(400, operation.verb + ": " + arguments.problem().message);
  const bool is_quick = operation.needs == operations::Needs::nothing || operation.verb == "instance show" ||
                        operation.verb == "config show";
  return LaneWork{
      is_quick ? reading_lane : operating_lane,
      [this, &operation, arguments = std::move(arguments).value(),
       caller = Caller{gate_.actor_of(request), has_token(request),
                       !gate_.refuse_unauthorised(request, operations::Permission::change), std::move(plan)}](
          const std::atomic<bool>& nobody_waits) {
        return operate(operation, arguments, caller, nobody_waits);
      },
      is_quick || changes, has_token(request)};
}

HttpResponse AdminPort::health(operations::Probe probe) const {
  const operations::Health found = daemon_.health(probe);
  const operations::Document document{{"is_well", found.is_well}, {"reasons", found.reasons}};
  return {found.is_well ? 200 : 503, document.dump() + "\n"};
}

HttpResponse AdminPort::operate(const operations::Operation& operation, const operations::Arguments& arguments,
                                const Caller& caller, const std::atomic<bool>& nobody_waits) {
  operations::Context context;
  context.connection = &connection_;
  context.daemon = &daemon_;
  context.name_space = name_space_;
  context.schema = schema_;
  context.topics = topics_;
  context.retention = daemon_.in_force().settings.retention;
  context.filter_bytes = daemon_.in_force().settings.ledger.filter_bytes;
  context.actor = caller.actor;
  context.shows_content = caller.has_token;
  const std::string change = operation.verb + " " + arguments.asked();
  if (!caller.plan.empty()) {
    const auto plan = plans_.find(caller.plan, change, Plans::Clock::now());
    if (plan == nullptr) {
      return refusal(409, operation.verb + ": the plan is too old, of another daemon or of other arguments; ask for it "
                                           "again with dry-run");
    }
    context.agreed = *plan;
  }
  const auto end = std::chrono::steady_clock::now() + settings_.answer_timeout * 4 / 5;
  // Work in batches stops between two of them if the client has gone, and in time to answer how far it came.
  context.pause = [&](std::chrono::milliseconds most) {
    const auto until = std::min(std::chrono::steady_clock::now() + most, end);
    while (!nobody_waits && std::chrono::steady_clock::now() < until) {
      std::this_thread::sleep_for(std::min<std::chrono::steady_clock::duration>(50ms, most));
    }
    return nobody_waits || std::chrono::steady_clock::now() >= end;
  };
  operations::Answer answer;
  try {
    answer = operations::run(operation, context, arguments);
  } catch (...) {
    answer = operations::answer_for(inbox::describe(std::current_exception()), connection_.where());
  }
  if (operation.permission == operations::Permission::change && !arguments.flag("dry-run")) {
    log_.info("admin.change_requested", {{"operation", operation.verb},
                                         {"arguments", arguments.asked()},
                                         {"actor", caller.actor},
                                         {"exit_status", static_cast<int>(answer.code)}});
  }
  const bool is_dry_run = operation.permission == operations::Permission::change && arguments.flag("dry-run");
  if (is_dry_run && answer.code == base::ExitCode::done && !answer.plan.is_null()) {
    answer.document[plan_name] = plans_.keep(change, std::move(answer.plan), Plans::Clock::now());
  }
  HttpResponse out = response_of(operation, answer);
  out.headers.emplace_back("Inboxd-May-Change", caller.may_change ? "yes" : "no");  // the page hides its buttons
  return out;
}

}  // namespace inboxd::admin
