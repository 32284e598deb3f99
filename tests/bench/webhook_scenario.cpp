// Events over HTTP: the port of ingest.listen in this process, asked over connections that are kept. Limits, measured
// in the same run: the port's own refusals, which take no database, and inbox.receive without HTTP.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/socket.hpp"
#include "in_process_inbox.hpp"
#include "inbox/local_events.hpp"
#include "inbox/received_events.hpp"
#include "latency.hpp"
#include "postgres_session.hpp"
#include "scenarios.hpp"
#include "support/test_environment.hpp"
#include "webhook/port.hpp"

namespace inboxd::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* topic = "hooks";
constexpr int client_threads = 2;
constexpr int connections_each = 32;
constexpr int steady_rate = 1'000;
constexpr double wanted_rate = 10'000;
constexpr double wanted_p99_ms = 10;

/// A client's connection: sends a request, and the next once the answer is there.
class Sender final {
 public:
  explicit Sender(int port) : socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)} {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int on = 1;
    ::setsockopt(socket_.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      throw std::runtime_error("the port of the bench does not answer");
    }
  }
  int descriptor() const { return socket_.get(); }

  void send(const std::string& path, const std::string& id, const std::string& body) {
    const std::string request = "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nIdempotency-Key: " + id +
                                "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    if (::send(socket_.get(), request.data(), request.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(request.size())) {
      throw std::runtime_error("a request could not be sent");
    }
    sent_ = Clock::now();
  }
  /// The status, once the answer has arrived; 0: not yet.
  int receive() {
    char buffer[4'096];
    const auto count = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (count <= 0) throw std::runtime_error("the port closed a connection");
    answer_.append(buffer, static_cast<std::size_t>(count));
    const auto end = answer_.find("\r\n\r\n");
    const auto length = answer_.find("Content-Length: ");
    if (end == answer_.npos || answer_.size() < end + 4 + std::stoul(answer_.substr(length + 16))) return 0;
    const int status = std::stoi(answer_.substr(9, 3));
    answer_.clear();
    return status;
  }
  Clock::duration waited() const { return Clock::now() - sent_; }

 private:
  base::Socket socket_;
  std::string answer_;
  Clock::time_point sent_;
};

struct Load {
  int port = 0;
  std::string path;
  int status = 202;
  std::string body;
  std::string ids;           ///< begin of each id
  std::chrono::seconds time{5};
  double per_second = 0;     ///< of a thread; 0: as fast as answers come
};

/// The requests of a thread; adds their latencies.
Latencies send_all(const Load& load, int thread) {
  Latencies out;
  std::vector<Sender> senders;
  std::vector<pollfd> polled;
  for (int i = 0; i < connections_each; ++i) {
    senders.emplace_back(load.port);
    polled.push_back({senders.back().descriptor(), POLLIN, 0});
  }
  std::deque<std::size_t> idle;  // each in turn: the port closes one without a request
  for (std::size_t i = 0; i < senders.size(); ++i) idle.push_back(i);
  const auto began = Clock::now(), end = began + load.time;
  std::int64_t sent = 0;
  while (Clock::now() < end || idle.size() < senders.size()) {
    const std::chrono::duration<double> passed = Clock::now() - began;
    const double due = load.per_second == 0 ? 1e18 : passed.count() * load.per_second;
    while (!idle.empty() && Clock::now() < end && static_cast<double>(sent) < due) {
      const std::string id = load.ids + std::to_string(thread) + "." + std::to_string(sent++);
      senders[idle.front()].send(load.path, id, load.body);
      idle.pop_front();
    }
    if (::poll(polled.data(), polled.size(), 1) <= 0) continue;
    for (std::size_t i = 0; i < polled.size(); ++i) {
      if (polled[i].revents == 0) continue;
      const int status = senders[i].receive();
      if (status == 0) continue;
      if (status != load.status) throw std::runtime_error("a request was answered with " + std::to_string(status));
      out.push_back(static_cast<std::uint32_t>(
          std::chrono::duration_cast<std::chrono::microseconds>(senders[i].waited()).count()));
      idle.push_back(i);
    }
  }
  return out;
}

Latencies run_load(const Load& load) {
  std::vector<Latencies> parts(client_threads);
  std::vector<std::thread> threads;
  for (int i = 0; i < client_threads; ++i) {
    threads.emplace_back([&, i] { parts[static_cast<std::size_t>(i)] = send_all(load, i); });
  }
  for (std::thread& thread : threads) thread.join();
  Latencies out;
  for (const Latencies& part : parts) out.insert(out.end(), part.begin(), part.end());
  return out;
}

/// Events a second of inbox.receive, with as many events a call as there are connections.
double staging_rate(inbox::Connection& connection, const std::string& body, std::chrono::seconds time) {
  const auto end = Clock::now() + time;
  std::int64_t count = 0;
  while (Clock::now() < end) {
    std::vector<event::Event> events(client_threads * connections_each);
    std::vector<inbox::ReceivedEvent> received;
    for (event::Event& event : events) {
      event.event_id = base::random_uuid();
      event.event_type = topic;
      event.payload = body;
      received.push_back({static_cast<std::int32_t>(received.size()), topic, &event, false});
    }
    inbox::receive(connection, {}, received);
    count += static_cast<std::int64_t>(events.size());
  }
  return static_cast<double>(count) / static_cast<double>(time.count());
}

config::Settings settings_for(const std::string& url, int port) {
  config::Settings out;
  out.database.url = url;
  out.ingest.listen = "127.0.0.1:" + std::to_string(port);
  out.topics.emplace_back();
  out.topics[0].name = topic;
  out.topics[0].source = config::Source::local;
  out.topics[0].http.open = true;
  return out;
}

}  // namespace

void measure_webhook(const Options& options, Report& report) {
  const ScratchDatabase database{options.postgres};
  InProcessInbox local_inbox{options, database.url(), "bench", 1};
  inbox::declare_local(*local_inbox.connect("declare"), {{topic, 1 << 20}});
  const auto direct = local_inbox.connect("staging");
  PostgresSession session{database.url()};
  const auto settings = settings_for(database.url(), support::free_port());
  inbox::Watchdog watchdog;
  base::Logger log{base::LogLevel::error, base::LogFormat::text};
  const inbox::LedgerFilters filters;
  webhook::Port port{settings, filters, watchdog, log};
  if (const auto problem = port.start()) throw std::runtime_error(problem->message);
  const auto time = std::chrono::seconds{options.smoke ? 1 : 5};
  Load load;
  load.port = std::stoi(settings.ingest.listen.substr(settings.ingest.listen.find(':') + 1));
  load.body = std::string(options.payload, 'x');
  load.time = time;
  const auto rate_of = [&](const Latencies& all) {
    return static_cast<double>(all.size()) / static_cast<double>(time.count());
  };
  std::vector<double> rates, ratios, p99;
  for (int round = 0; round < options.rounds; ++round) {
    load.ids = "r" + std::to_string(round) + ".";
    load.path = "/v1/topics/unknown/events";
    load.status = 404;
    const double http = rate_of(run_load(load));
    const double staging = staging_rate(*direct, load.body, time);
    load.path = std::string{"/v1/topics/"} + topic + "/events";
    load.status = 202;
    const Latencies full = run_load(load);
    rates.push_back(rate_of(full));
    ratios.push_back(rates.back() / std::min(http, staging));
    report.note("limits: refusals " + rate_text(http) + ", inbox.receive alone " + rate_text(staging) +
                "; events over HTTP " + rate_text(rates.back()) + ", " + percentiles_text(full));
    load.ids += "steady.";
    load.per_second = static_cast<double>(steady_rate) / client_threads;
    const Latencies steady = run_load(load);
    load.per_second = 0;
    p99.push_back(percentile_ms(steady, 0.99));
    report.note("at " + std::to_string(steady_rate) + "/s: " + percentiles_text(steady));
    session.run("truncate inbox.local_event");
  }
  port.request_stop();
  port.join();
  report.goal("requests a second, " + std::to_string(client_threads * connections_each) + " connections",
              rate_text(median(rates)), ">= 10k/s", median(rates) >= wanted_rate);
  report.goal("of the smaller limit", fixed(median(ratios), 2), ">= 0.50", median(ratios) >= 0.5);
  report.goal("p99 at 1,000/s", fixed(median(p99), 1) + " ms", "< 10 ms", median(p99) < wanted_p99_ms);
}

}  // namespace inboxd::bench
