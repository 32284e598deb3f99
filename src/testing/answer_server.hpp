#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/http_server.hpp"
#include "base/logger.hpp"
#include "base/mutex.hpp"
#include "base/result.hpp"
#include "testing/test_file.hpp"

namespace inboxd::testing {

/// Requests by handler, in the order of their arrival.
using Requests = std::map<std::string, std::vector<admin::HttpRequest>>;

/// A service on a port of this machine, in place of those that handlers `http` call: gives recorded answers, and keeps
/// the requests. Its own thread.
class AnswerServer final {
 public:
  explicit AnswerServer(base::Logger& log);
  ~AnswerServer();

  std::optional<base::Problem> start();
  /// A handler's URL, with the path and query of its real URL. The handler's name is the first part of the path, which
  /// requests() leaves out.
  std::string url_for(const std::string& handler, const std::string& real) const;
  /// For the next case: forgets the requests. Handlers without answers get 204.
  void set(std::map<std::string, std::vector<RecordedAnswer>> answers);
  Requests requests() const;

 private:
  admin::HttpResponse answer(const admin::HttpRequest& request);

  std::string address_;
  mutable base::Mutex mutex_;
  std::map<std::string, std::vector<RecordedAnswer>> answers_ GUARDED_BY(mutex_);
  Requests requests_ GUARDED_BY(mutex_);
  admin::HttpServer server_;
};

}  // namespace inboxd::testing
