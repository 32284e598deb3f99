#include "webhook/posted.hpp"

#include <algorithm>
#include <set>

#include "base/text.hpp"

namespace inboxd::webhook {
namespace {

using inbox::Receipt;

bool prefers_minimal(const admin::HttpRequest& request) {
  const std::string* const prefer = request.header("prefer");
  return prefer != nullptr && base::lower(*prefer).find("return=minimal") != std::string::npos;
}

std::string document_of(const event::Event& event, bool is_repeated) {
  return R"({"event_id": ")" + event.event_id.text() + R"(", "repeated": )" + (is_repeated ? "true" : "false") + "}";
}

}  // namespace

admin::HttpResponse answer_to(const Posted& posted, const Receipt* receipts) {
  const Receipt* const end = receipts + posted.events.size();
  if (const auto* const conflict = std::find(receipts, end, Receipt::conflict); conflict != end) {
    const std::string id = posted.events[static_cast<std::size_t>(conflict - receipts)].event_id.text();
    auto out = admin::refusal(409, "event " + id + " is known with another payload or key, and nothing of this request "
                                   "was stored; send each event with an id of its own");
    out.event_id = id;
    return out;
  }
  std::string body;
  std::set<std::size_t> seen;
  for (const std::size_t place : posted.places) {
    const bool is_repeated = receipts[place] == Receipt::repeated || !seen.insert(place).second;
    body += (body.empty() ? "" : ", ") + document_of(posted.events[place], is_repeated);
  }
  if (posted.is_batch) body = R"({"events": [)" + body + "]}";
  const bool is_repeated = std::find(receipts, end, Receipt::staged) == end;
  admin::HttpResponse out{202, body + "\n"};
  if (is_repeated) out.outcome = "repeated";
  if (!prefers_minimal(posted.request)) return out;
  out.body.clear();
  if (is_repeated) out.status = 200;
  out.headers.emplace_back("Preference-Applied", "return=minimal");
  return out;
}

}  // namespace inboxd::webhook
