#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/wait.hpp"

namespace inboxd::support {

/// A TCP proxy to a port of 127.0.0.1 that injects faults. Any thread may call it.
class Proxy final {
 public:
  /// Listens on a free port by default.
  explicit Proxy(int target_port, int port = 0);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const { return port_; }

  /// Ends all connections.
  void cut();
  /// While on, closes new connections.
  void refuse(bool on);
  /// While on, forwards nothing.
  void freeze(bool on);
  /// The open connections forward nothing any more, and stay open; later connections work.
  void hold_open_connections();
  void delay(milliseconds time);

  /// Replaces the last byte of this sequence wherever the server sends it in a single read; empty: off.
  void corrupt(std::string bytes);

  enum class Cut {
    before,  ///< the client's bytes do not reach the server
    after,   ///< the bytes reach the server, and its whole answer is dropped
    hold,    ///< the same, but the client keeps waiting until the proxy ends
  };
  /// Cuts the connection when the client sends these bytes, `times` times after `skip` others. PostgreSQL: see
  /// `executes`.
  void cut_at(std::string bytes, Cut when, int times = 1, int skip = 0);
  int cuts() const;
  int connections() const;  ///< open now
  int accepted() const;     ///< ever

  /// The bytes of running a prepared statement: an unnamed portal, then the name.
  static std::string executes(const std::string& statement);

 private:
  struct Chunk {
    std::int64_t due_ms;
    std::string bytes;
  };
  struct Connection {
    int client = -1;
    int server = -1;
    std::deque<Chunk> to_server, to_client;
    std::string seen;                ///< the end of the client's bytes, for matches split over reads
    std::optional<Cut> pending_cut;  ///< pending cut of the answer
    std::string answer;
    bool held = false;
    bool done = false;
  };
  struct CutRule {
    std::string bytes;
    Cut when;
    int times;
    int skip;
  };

  void run();
  void accept_one();
  void from_client(Connection& pair);
  void from_server(Connection& pair);
  bool must_cut(Connection& pair, const std::string& bytes);
  void flush(Connection& pair, std::int64_t now);
  void end_pair(Connection& pair);
  void close_pair(Connection& pair);
  void wake();

  int target_port_;
  int port_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  mutable std::mutex mutex_;
  std::list<Connection> pairs_;
  std::optional<CutRule> cut_rule_;
  milliseconds delay_{0};
  std::string corrupt_bytes_;
  bool refusing_ = false;
  bool frozen_ = false;
  bool stopping_ = false;
  int cuts_ = 0;
  int accepted_ = 0;
  std::thread thread_;
};

}  // namespace inboxd::support
