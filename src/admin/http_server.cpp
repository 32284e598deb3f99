#include "admin/http_server.hpp"

#include <poll.h>
#include <pthread.h>

#include <algorithm>
#include <cassert>
#include <array>
#include <cerrno>
#include <utility>

#include "base/mutex.hpp"

namespace inboxd::admin {
namespace {

using namespace std::chrono_literals;

/// New connections accepted in a row: a flood of them must leave time for the others.
constexpr int accepted_at_once = 32;
/// The time for a refused client to stop sending before its connection is cut.
constexpr auto last_words = 1s;
constexpr auto out_of_descriptors = 200ms;
constexpr const char* ask_again_after_s = "1";

HttpResponse busy(const std::string& message) {
  HttpResponse out = refusal(503, message);
  out.headers.emplace_back("Retry-After", ask_again_after_s);
  return out;
}

}  // namespace

HttpServer::HttpServer(Limits limits, std::vector<std::string> lanes, Respond respond, base::Logger& log,
                       Answered answered)
    : limits_{limits}, respond_{std::move(respond)}, log_{log}, answered_{std::move(answered)} {
  for (std::string& name : lanes) lanes_.push_back(std::make_unique<Lane>(std::move(name), limits_.queue));
}

HttpServer::~HttpServer() {
  request_stop();
  join();
}

void HttpServer::start(std::vector<Listener> listeners, std::unique_ptr<Tls> tls) {
  listeners_ = std::move(listeners);
  tls_ = std::move(tls);
  for (auto& lane : lanes_) lane->start();
  thread_ = std::thread{[this] { run(); }};
  pthread_setname_np(thread_.native_handle(), limits_.thread.c_str());
}

void HttpServer::request_stop() {
  stopping_ = true;
  wake_.notify();
  for (auto& lane : lanes_) lane->request_stop();
}

void HttpServer::join() {
  if (thread_.joinable()) thread_.join();
  for (auto& lane : lanes_) lane->join();
}

void HttpServer::run() {
  if (limits_.gives_way) give_way();
  while (!stopping_) turn();
  take_finished();  // as far as the sockets take them at once
  connections_.clear();
  listeners_.clear();
}

/// A client that sends no more may still wait for its answer, which it needs if requests have an effect.
int HttpServer::hang_up() const { return limits_.may_repeat ? 0 : POLLRDHUP; }

void HttpServer::turn() {
  std::vector<pollfd> polled{{wake_.descriptor(), POLLIN, 0}};
  std::vector<std::uint64_t> ids;
  const bool accepts = Clock::now() >= accept_again_;
  for (const Listener& listener : listeners_) {
    polled.push_back({listener.descriptor(), static_cast<short>(accepts ? POLLIN : 0), 0});
  }
  auto next = Clock::now() + (accepts ? 1s : out_of_descriptors);
  for (const auto& [id, connection] : connections_) {
    const bool speaks = connection->state == Connection::State::sending;
    const bool works = connection->state == Connection::State::working;
    ids.push_back(id);
    const Stream& stream = connection->stream;
    const int events = works ? hang_up() : speaks ? stream.awaited(POLLOUT) : stream.awaited(POLLIN);
    polled.push_back({stream.descriptor(), static_cast<short>(events), 0});
    next = std::min(next, connection->deadline);
  }
  const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  ::poll(polled.data(), polled.size(), std::max(static_cast<int>(wait.count()), 0));

  wake_.clear();
  take_finished();
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const short events = polled[1 + listeners_.size() + i].revents;
    if (events != 0) serve(ids[i], *connections_.at(ids[i]), events);
  }
  end_late(Clock::now());
  for (const std::uint64_t id : gone_) connections_.erase(id);
  gone_.clear();
  for (std::size_t i = 0; i < listeners_.size(); ++i) {
    if (polled[1 + i].revents != 0) accept_from(listeners_[i]);
  }
  count();
}

void HttpServer::Connection::change(State to) {
  assert((to == State::working && state == State::receiving) ||
         (to == State::sending && (state == State::receiving || state == State::working)) ||
         ((to == State::receiving || to == State::closing) && state == State::sending) ||
         (to == State::closing && state == State::receiving));  // TLS has failed
  state = to;
}

void HttpServer::accept_from(const Listener& listener) {
  for (int i = 0; i < accepted_at_once; ++i) {
    auto [socket, peer] = listener.accept();
    if (!socket) {
      // Without a free descriptor the connection waits in the kernel: try again later, do not spin.
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM) accept_again_ = Clock::now() + out_of_descriptors;
      return;
    }
    TlsSession session;
    if (tls_ && !listener.is_unix()) {
      session = tls_->session(socket.get());
      if (!session) continue;
    }
    if (connections_.size() >= limits_.connections) make_room();
    const auto now = Clock::now();
    connections_.emplace(next_id_++, new Connection{Stream{std::move(socket), std::move(session)},
                                                    std::move(peer),
                                                    {},
                                                    0,
                                                    RequestReader{limits_.request},
                                                    Connection::State::receiving,
                                                    now + limits_.receive,
                                                    now,
                                                    {},
                                                    0,
                                                    false,
                                                    true,
                                                    false,
                                                    nullptr,
                                                    nullptr});
  }
}

void HttpServer::make_room() {
  // Connections with an answer under way come last.
  const auto rank = [](const Connection& connection) {
    return std::pair{connection.state == Connection::State::working || connection.state == Connection::State::sending,
                     connection.heard};
  };
  const auto least = std::min_element(connections_.begin(), connections_.end(),
                                      [&](const auto& a, const auto& b) { return rank(*a.second) < rank(*b.second); });
  if (least == connections_.end()) return;
  counts_.evicted += 1;
  leave(*least->second);
  connections_.erase(least);
}

void HttpServer::serve(std::uint64_t id, Connection& connection, short events) {
  if ((events & (POLLERR | POLLNVAL)) != 0 ||
      ((events & (POLLHUP | hang_up())) != 0 && connection.state == Connection::State::working)) {
    return drop(id);
  }
  switch (connection.state) {
    case Connection::State::receiving:
    case Connection::State::closing:
      receive(id, connection);
      break;
    case Connection::State::sending:
      send_out(id, connection);
      break;
    case Connection::State::working:
      break;
  }
}

void HttpServer::receive(std::uint64_t id, Connection& connection) {
  std::array<char, 16 << 10> buffer;
  const auto count = connection.stream.receive(buffer.data(), buffer.size());
  if (count == Stream::try_later) return;
  if (connection.state == Connection::State::closing && count > 0) return;
  if (count == 0) {
    const bool has_refused = connection.state == Connection::State::receiving && connection.stream.has_refused();
    return has_refused ? close(connection) : drop(id);
  }
  const auto state = connection.reader.take({buffer.data(), static_cast<std::size_t>(count)});
  // The time runs from the first byte, so that neither a slow request nor empty lines extend it.
  if (!std::exchange(connection.is_timed, true)) connection.deadline = Clock::now() + limits_.receive;
  if (state == RequestReader::State::wants_continue) {
    connection.stream.send("HTTP/1.1 100 Continue\r\n\r\n");
  }
  next_request(id, connection);
}

void HttpServer::next_request(std::uint64_t id, Connection& connection) {
  if (connection.reader.state() == RequestReader::State::refused) {
    return answer_unread(id, connection, connection.reader.problem());
  }
  if (connection.reader.state() != RequestReader::State::complete) return;
  HttpRequest request = connection.reader.next();
  request.peer = connection.peer;
  connection.path = request.path;
  connection.body_bytes = request.body.size();
  connection.keep_alive = request.keep_alive;
  connection.without_body = request.method == "HEAD";
  connection.heard = Clock::now();
  counts_.requests += 1;
  auto outcome = outcome_for(request);
  if (const auto* response = std::get_if<HttpResponse>(&outcome)) return answer(id, connection, *response);
  if (const auto* later = std::get_if<LaterWork>(&outcome)) return later->begin({id, begin_work(connection)});
  hand_over(id, connection, std::move(std::get<LaneWork>(outcome)));
}

void HttpServer::hand_over(std::uint64_t id, Connection& connection, LaneWork work) {
  Lane& lane = *lanes_.at(work.lane);
  const auto nobody_waits = std::make_shared<std::atomic<bool>>(false);
  const bool has_token = work.has_token;
  const bool is_taken = lane.add({[this, id, asked = std::move(work), nobody_waits] {
                                    HttpResponse response = work_for(asked, *nobody_waits);
                                    {
                                      const base::Lock lock{mutex_};
                                      unsent_ += response.body.size();
                                      finished_.push_back({id, nobody_waits, std::move(response)});
                                    }
                                    wake_.notify();
                                  },
                                  nobody_waits, has_token});
  if (!is_taken) {
    ++counts_.queue_full;
    return answer(id, connection, busy("too many requests are waiting (admin.queue); try again later"));
  }
  connection.change(Connection::State::working);
  connection.deadline = Clock::now() + limits_.answer;
  connection.lane = &lane;
  connection.nobody_waits = nobody_waits;
}

HttpServer::Outcome HttpServer::outcome_for(HttpRequest& request) {
  try {
    return respond_(request);
  } catch (const std::exception& error) {
    log_.error("admin.bug", {{"error", error.what()}});
    return refusal(500, "a bug, please report it with the daemon's log");
  }
}

NobodyWaits HttpServer::begin_work(Connection& connection) {
  connection.nobody_waits = std::make_shared<std::atomic<bool>>(false);
  connection.change(Connection::State::working);
  connection.deadline = Clock::now() + limits_.answer;
  return connection.nobody_waits;
}

void HttpServer::finish(Answers answers) {
  {
    const base::Lock lock{mutex_};
    for (auto& [ticket, response] : answers) {
      unsent_ += response.body.size();
      finished_.push_back({ticket.connection, std::move(ticket.nobody_waits), std::move(response)});
    }
  }
  wake_.notify();
}

HttpResponse HttpServer::work_for(const LaneWork& asked, const std::atomic<bool>& nobody_waits) {
  if (!asked.is_small) {
    const base::Lock lock{mutex_};
    if (unsent_ > limits_.unsent) return busy("other clients have too many unread answers; try again later");
  }
  try {
    return asked.work(nobody_waits);
  } catch (const std::exception& error) {
    log_.error("admin.bug", {{"error", error.what()}});
    return refusal(500, "a bug, please report it with the daemon's log");
  }
}

void HttpServer::answer(std::uint64_t id, Connection& connection, const HttpResponse& response) {
  if (response.status == 401) {
    ++counts_.unauthorised;
  } else if (response.status == 403) {
    ++counts_.forbidden;
  } else if (response.status >= 400 && response.status < 500) {
    ++counts_.other_refusals;
  }
  note(connection, &response);
  abandon(connection);
  connection.change(Connection::State::sending);
  connection.deadline = Clock::now() + limits_.answer;
  connection.out = bytes_of(response, connection.without_body, !connection.keep_alive);
  connection.sent = 0;
  send_out(id, connection);
}

/// The request is malformed or late; the rest of the connection cannot be read.
void HttpServer::answer_unread(std::uint64_t id, Connection& connection, const HttpResponse& response) {
  ++counts_.malformed;
  connection.keep_alive = false;
  connection.path = connection.reader.request().path;
  connection.body_bytes = connection.reader.body_bytes();
  answer(id, connection, response);
}

void HttpServer::send_out(std::uint64_t id, Connection& connection) {
  while (connection.sent < connection.out.size()) {
    const auto count = connection.stream.send(std::string_view{connection.out}.substr(connection.sent));
    if (count == Stream::try_later) return;
    if (count == 0) return drop(id);
    connection.sent += static_cast<std::size_t>(count);
  }
  std::string{}.swap(connection.out);  // clear() would keep the memory
  sent(id, connection);
}

void HttpServer::sent(std::uint64_t id, Connection& connection) {
  if (!connection.keep_alive) return close(connection);
  connection.change(Connection::State::receiving);
  connection.is_timed = connection.reader.has_begun();
  connection.deadline = Clock::now() + (connection.is_timed ? limits_.receive : limits_.idle);
  next_request(id, connection);
}

void HttpServer::close(Connection& connection) {
  connection.stream.finish();
  connection.change(Connection::State::closing);
  connection.deadline = Clock::now() + last_words;
}

void HttpServer::take_finished() {
  std::vector<Finished> finished;
  {
    const base::Lock lock{mutex_};
    finished.swap(finished_);
  }
  for (const auto& [id, nobody_waits, response] : finished) {
    const auto found = connections_.find(id);
    if (found != connections_.end() && found->second->nobody_waits == nobody_waits) {
      answer(id, *found->second, response);
    }
  }
}

void HttpServer::count() {
  counts_.open = static_cast<std::int64_t>(connections_.size());
  std::size_t waiting = 0;
  for (const auto& lane : lanes_) waiting += lane->waiting();
  counts_.waiting = static_cast<std::int64_t>(waiting);
  std::size_t unsent = 0;
  for (const auto& [id, connection] : connections_) unsent += connection->out.size();
  const base::Lock lock{mutex_};
  for (const Finished& each : finished_) unsent += each.response.body.size();
  unsent_ = unsent;
}

void HttpServer::end_late(Clock::time_point now) {
  for (const auto& [id, connection] : connections_) {
    if (now < connection->deadline) continue;
    if (connection->state == Connection::State::working) {
      // A next request would wait behind this one in the lane.
      connection->keep_alive = false;
      const std::string late = "the answer took longer than " + std::string{limits_.request.keys} + ".answer_timeout; ";
      answer(id, *connection,
             limits_.may_repeat ? busy(late + "send the request again")
                                : refusal(503, late + "check what was done before you repeat the request"));
    } else if (connection->state == Connection::State::receiving && connection->reader.has_begun()) {
      answer_unread(id, *connection, refusal(408, "the request did not arrive in time (" +
                                                      std::string{limits_.request.keys} + ".receive_timeout)"));
    } else {
      drop(id);
    }
  }
}

void HttpServer::note(const Connection& connection, const HttpResponse* response) const {
  if (answered_) answered_({connection.path, connection.body_bytes, connection.peer, response});
}

/// The client goes, perhaps before its answer.
void HttpServer::leave(Connection& connection) {
  if (connection.state == Connection::State::working) note(connection, nullptr);
  abandon(connection);
}

/// The lane's work for the connection is useless now: removes a waiting job.
void HttpServer::abandon(Connection& connection) {
  if (connection.lane != nullptr) connection.lane->abandon(connection.nobody_waits);
  else if (connection.nobody_waits) *connection.nobody_waits = true;
  connection.lane = nullptr;
  connection.nobody_waits.reset();
}

void HttpServer::drop(std::uint64_t id) {
  leave(*connections_.at(id));
  gone_.push_back(id);
}

}  // namespace inboxd::admin
