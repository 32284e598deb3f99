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

/// A TCP proxy to a port of 127.0.0.1 that behaves as badly as asked: it cuts, delays, stands still. Its functions may
/// be called from any thread; its own thread lives as long as it does.
class Proxy final {
 public:
  /// Listens on a free port, unless one is given.
  explicit Proxy(int target_port, int port = 0);
  ~Proxy();
  Proxy(const Proxy&) = delete;
  Proxy& operator=(const Proxy&) = delete;

  int port() const { return port_; }

  /// Ends all connections, as a network that goes away would.
  void cut();
  /// While on, new connections end at once.
  void refuse(bool on);
  /// While on, nothing passes in either direction.
  void freeze(bool on);
  /// Every byte takes that long in each direction.
  void delay(milliseconds time);

  /// While not empty: wherever these bytes come from the server, the last of them arrives as another. What is split
  /// over two reads is missed.
  void spoil(std::string bytes);

  enum class Cut {
    before,  ///< the client's bytes do not reach the server any more
    after,   ///< they do, and the server's whole answer is thrown away: it did what was asked, nobody hears of it
    hold,    ///< the same, but the connection stays: the client waits for the answer until the proxy ends
  };
  /// Cuts the connection over which these bytes come from the client, the next so many times that they do. PostgreSQL:
  /// see `executes`.
  void cut_at(std::string bytes, Cut when, int times = 1, int skip = 0);
  /// How many connections were cut (or held) by `cut_at`.
  int cuts() const;
  int connections() const;  ///< open now
  int accepted() const;     ///< ever

  /// What a client sends when it runs a prepared statement of that name: an unnamed portal, then the name.
  static std::string executes(const std::string& statement);

 private:
  struct Chunk {
    std::int64_t due_ms;
    std::string bytes;
  };
  struct Pair {
    int client = -1;
    int server = -1;
    std::deque<Chunk> to_server, to_client;
    std::string seen;           ///< the end of what the client sent, for bytes split over reads
    std::optional<Cut> sprung;  ///< what the trap has in store for the answer
    std::string answer;         ///< what was kept from the client
    bool done = false;
  };
  struct Trap {
    std::string bytes;
    Cut when;
    int times;
    int skip;
  };

  void run();
  void accept_one();
  void from_client(Pair& pair);
  void from_server(Pair& pair);
  bool spring(Pair& pair, const std::string& bytes);
  void flush(Pair& pair, std::int64_t now);
  void end_pair(Pair& pair);
  void close_pair(Pair& pair);
  void wake();

  int target_port_;
  int port_;
  int listener_ = -1;
  int wake_[2] = {-1, -1};
  mutable std::mutex mutex_;
  std::list<Pair> pairs_;
  std::optional<Trap> trap_;
  milliseconds delay_{0};
  std::string spoilt_;
  bool refusing_ = false;
  bool frozen_ = false;
  bool stopping_ = false;
  int cuts_ = 0;
  int accepted_ = 0;
  std::thread thread_;
};

}  // namespace inboxd::support
