#include "cli/shards_page.hpp"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <span>
#include <utility>
#include <variant>

#include "admin/api.hpp"
#include "admin/http_client.hpp"
#include "admin/page.hpp"
#include "admin/page_key.hpp"
#include "base/text.hpp"
#include "config/shared_topics.hpp"
#include "event/now.hpp"

namespace inboxd::cli {
namespace {

using admin::HttpResponse;
using operations::Document;
using operations::Operation;

/// For connecting, and for each statement: a database that is away must not hold up the others for long.
constexpr std::chrono::milliseconds max_wait{5'000};

std::vector<Shard> hurried(std::vector<Shard> shards) {
  for (Shard& shard : shards) {
    config::Database& database = shard.settings.database;
    database.deadline = std::min(database.deadline, max_wait);
    database.connecting_beyond_deadline = {};
  }
  return shards;
}

std::vector<std::string> files_of(const std::vector<Shard>& shards) {
  std::vector<std::string> out;
  for (const Shard& shard : shards) out.push_back(shard.file);
  return out;
}

/// All operations. Reads take the parameter `shard`, because ids of rows are numbered in each database.
std::vector<Operation> operations_of_page() {
  auto out = operations::operations();
  for (Operation& one : out) {
    operations::Parameter shard{"shard", operations::Parameter::Kind::number, "of this database only", "NUMBER"};
    shard.most = config::max_shards;
    if (one.permission != operations::Permission::change) one.parameters.push_back(std::move(shard));
  }
  return out;
}

/// The holder of the key passes the gate for everything.
config::Admin only_by_key() {
  config::Admin out;
  out.ui = config::AdminUi::full;
  return out;
}

}  // namespace

ShardsPage::ShardsPage(const Session& session, std::vector<Shard> shards)
    : session_{session},
      shards_{hurried(std::move(shards))},
      files_{files_of(shards_)},
      operations_{operations_of_page()},
      settings_{only_by_key()},
      key_{admin::random_page_key()},
      gate_{settings_, key_},
      log_{command_log()},
      server_{{}, {"page read"}, [this](const admin::HttpRequest& request) { return respond(request); }, log_} {}

std::string ShardsPage::start() {
  auto listening = admin::listen_on("127.0.0.1:0");
  if (const auto* problem = std::get_if<admin::ListenProblem>(&listening)) return problem->message;
  auto& listeners = std::get<0>(listening);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(listeners.front().descriptor(), reinterpret_cast<sockaddr*>(&address), &size);
  port_ = ntohs(address.sin_port);
  server_.start(std::move(listeners));
  return "";
}

std::string ShardsPage::link() const {
  return "http://127.0.0.1:" + std::to_string(port_) + "/#token=" + key_ + "&actor=" + admin::encoded(actor());
}

ShardsPage::Outcome ShardsPage::respond(const admin::HttpRequest& request) const {
  const bool is_read = request.method == "GET" || request.method == "HEAD";
  // Before the gate, as on a daemon's port: the files have no data.
  if (auto page = admin::page_response(request); page && is_read) return std::move(*page);
  if (auto refused = gate_.refuse_foreign(request)) return *refused;
  if (gate_.refuse_unauthorised(request, operations::Permission::change)) {
    return admin::refusal(401, "open the link that `inboxd --shards FILE ui` has printed; its key is another after "
                               "each start");
  }
  const auto found = std::ranges::find_if(
      operations_, [&](const Operation& one) { return operations::is_path_of(one, request.path); });
  if (found != operations_.end() && found->permission == operations::Permission::change) {
    return admin::refusal(409, why_not_all(found->verb, files_));
  }
  if (found == operations_.end()) return admin::refusal(404, "no such path");
  if (found->needs != operations::Needs::database) {
    return admin::refusal(404, "only a running daemon has this: open its page, by `inboxd --config FILE ui` with " +
                                   base::joined(files_));
  }
  if (!is_read) return admin::refusal(405, "method not allowed; use GET, HEAD");
  const auto given = admin::given_of(request, *found);
  if (const auto* const refused = std::get_if<HttpResponse>(&given)) return *refused;
  auto arguments = operations::read_arguments(found->parameters, std::get<admin::Given>(given), event::now());
  if (!arguments) return admin::refusal(400, found->verb + ": " + arguments.problem().message);
  return admin::LaneWork{0, [this, &operation = *found, arguments = std::move(arguments).value()](
                                const std::atomic<bool>&) { return answer(operation, arguments); },
                         false, true};
}

HttpResponse ShardsPage::answer(const Operation& operation, const operations::Arguments& arguments) const {
  std::span<const Shard> asked{shards_};
  if (const auto index = arguments.number("shard")) {
    const auto is_asked = [&](const Shard& one) { return one.settings.shard.index == *index; };
    const auto found = std::ranges::find_if(asked, is_asked);
    if (found == asked.end()) return admin::refusal(404, "no configuration is of shard " + std::to_string(*index));
    asked = {&*found, 1};
  }
  ShardAnswers found = ask_shards(session_, asked, operation, arguments);
  if (found.answered == 0) {
    found.all = {found.worst, nullptr, base::joined(found.away)};
  } else {
    if (found.all.document.is_null()) found.all.document = Document::object();
    if (!found.not_shown.empty()) {
      found.away.push_back("not shown: " + found.not_shown + "; choose a time, or the page of one database");
    }
    name_away(found.all.document, found.away);
    if (operation.verb == "status") found.all.document["databases"] = files_;
  }
  HttpResponse out = admin::response_of(operation, found.all);
  out.headers.emplace_back("Inboxd-May-Change", "no");  // the page hides its buttons
  return out;
}

}  // namespace inboxd::cli
