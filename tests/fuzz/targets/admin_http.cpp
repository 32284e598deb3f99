// Requests to the admin port: however a stream of bytes is cut, the same requests are read from it.
#include <algorithm>
#include <string>
#include <vector>

#include "admin/http_message.hpp"
#include "fuzz/target.hpp"

using namespace inboxd;
using Reader = admin::RequestReader;

namespace {

struct Seen {
  std::vector<std::string> requests;
  int refused = 0;  ///< with this status
  bool operator==(const Seen&) const = default;
};

std::string text_of(const admin::HttpRequest& request) {
  std::string out = request.method + ' ' + request.path + '?' + request.query + '\n';
  for (const auto& [name, value] : request.headers) out += name + ':' + value + '\n';
  return out + (request.keep_alive ? "keep\n" : "close\n") + request.body;
}

Seen read(std::string_view bytes, std::size_t piece) {
  constexpr Reader::Limits limits{512, 1'024, 8};
  Seen out;
  Reader reader{limits};
  for (; !bytes.empty(); bytes.remove_prefix(std::min(piece, bytes.size()))) {
    auto state = reader.take(bytes.substr(0, piece));
    while (state == Reader::State::complete) {
      const auto request = reader.next();
      fuzz::require(request.body.size() <= limits.body_bytes, "a body keeps its limit");
      fuzz::require(request.headers.size() <= limits.headers, "headers keep their limit");
      out.requests.push_back(text_of(request));
      if (const auto pairs = admin::query_of(request.query)) fuzz::require(pairs->size() <= 1'000, "pairs are few");
      state = reader.state() == Reader::State::complete ? Reader::State::complete : reader.take("");
    }
    if (state == Reader::State::refused) {
      out.refused = reader.problem().status;
      fuzz::require(out.refused >= 400, "a refusal has a status");
      return out;
    }
  }
  return out;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input{data, size};
  const std::size_t piece = 1 + input.below(64);
  const Seen whole = read(input.rest(), 1U << 20);
  const Seen cut = read(input.rest(), piece);
  fuzz::require(whole.requests == cut.requests, "pieces of any size give the same requests");
  fuzz::require(whole.refused == cut.refused, "pieces of any size give the same refusal");
  return 0;
}
