// The operations table as an HTTP interface.
#include "admin/api.hpp"

#include <catch2/catch_test_macros.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace inboxd;
using namespace inboxd::admin;

namespace {

operations::Operation operation(const std::string& verb) {
  for (auto& one : operations::operations()) {
    if (one.verb == verb) return one;
  }
  throw std::logic_error{"no operation " + verb};
}

std::filesystem::path openapi_file() { return "config/openapi.json"; }

}  // namespace

TEST_CASE("config/openapi.json matches the operations table", "[generated]") {
  if (std::getenv("UPDATE_GENERATED") != nullptr) std::ofstream{openapi_file(), std::ios::binary} << openapi_text();
  std::ifstream file{openapi_file(), std::ios::binary};
  std::ostringstream text;
  text << file.rdbuf();
  INFO("config/openapi.json is stale; run UPDATE_GENERATED=1 build/release/tests/unit/unit_admin '[generated]'");
  CHECK((text.str() == openapi_text()));
}

TEST_CASE("every operation is in the OpenAPI document, with every parameter but yes") {
  const auto document = openapi();
  for (const operations::Operation& one : operations::operations()) {
    CAPTURE(one.verb);
    const bool changes = one.permission == operations::Permission::change;
    const auto& entry = document.at("paths").at(path_of(one)).at(changes ? "post" : "get");
    std::size_t wanted = 0;
    for (const operations::Parameter& parameter : one.parameters) wanted += is_asked_over_http(parameter) ? 1 : 0;
    if (changes) {
      const auto& schema = entry.at("requestBody").at("content").at("application/json").at("schema");
      CHECK(schema.at("properties").size() == wanted + 1);  // and `plan`
      CHECK_FALSE(schema.at("properties").contains("yes"));
      CHECK(entry.contains("security"));
    } else {
      CHECK(entry.at("parameters").size() == wanted);
    }
  }
}

TEST_CASE("an answer is the same after the way over HTTP and back") {
  const auto list = operation("dead list");
  const operations::Answer answer{base::ExitCode::no, {{"total", 0}}, "no dead letter matches"};
  HttpResponse response = response_of(list, answer);
  CHECK(response.status == 200);
  for (auto& [name, value] : response.headers) CHECK(name == exit_status_header);
  const operations::Answer back = answer_of(response);
  CHECK(back.code == answer.code);
  CHECK(back.document == answer.document);
  CHECK(back.message == answer.message);
  CHECK(answer_of(refusal(401, "no")).code == base::ExitCode::not_allowed);
  CHECK(answer_of(refusal(401, "no")).document.is_null());
  CHECK(answer_of(refusal(401, "no")).message == "no");
  CHECK(answer_of(refusal(503, "ask again later")).code == base::ExitCode::try_again);
}

TEST_CASE("an answer of another service on the daemon's port is recognised as foreign") {
  for (const char* const body : {R"({"timestamp":"2026-01-01","status":404,"error":"Not Found","path":"/v1/status"})",
                                 R"({"message":"hello"})", R"({"message":"no","code":5})", "<html></html>", "[]", ""}) {
    for (const int status : {200, 401, 404}) {
      HttpResponse response;
      response.status = status;
      response.body = body;
      const operations::Answer answer = answer_of(response);
      CHECK(answer.code == base::ExitCode::unavailable);
      CHECK(answer.document.is_null());
      CHECK(answer.message == "the process at admin.listen is not an inboxd (status " + std::to_string(status) + ")");
    }
  }
}

TEST_CASE("every exit status has an HTTP status") {
  const auto status = [](const std::string& verb, base::ExitCode code) {
    return response_of(operation(verb), {code, nullptr, ""}).status;
  };
  CHECK(status("dead list", base::ExitCode::no) == 200);
  CHECK(status("dead show", base::ExitCode::no) == 404);
  CHECK(status("dead replay", base::ExitCode::no) == 409);
  CHECK(status("dead replay", base::ExitCode::usage) == 400);
  CHECK(status("dead replay", base::ExitCode::try_again) == 503);
  CHECK(status("dead list", base::ExitCode::unavailable) == 503);
  CHECK(status("dead list", base::ExitCode::not_allowed) == 403);
  CHECK(status("dead list", base::ExitCode::bug) == 500);
}

TEST_CASE("a change's body has the arguments of the command line") {
  HttpRequest request;
  request.body = R"({"handler": "billing", "type": ["a", "b*"], "rate": 50, "all": false, "dry-run": true})";
  const auto given = std::get<Given>(given_of(request, operation("dead replay")));
  CHECK(given == Given{{"handler", {"billing"}}, {"type", {"a", "b*"}}, {"rate", {"50"}}, {"dry-run", {"true"}}});
  for (const char* const wrong : {"[]", "{", "1", R"({"yes": true})", R"({"rate": 1.5})", R"({"type": [["a"]]})",
                                  R"({"all": 1})", R"({"handler": {"a": 1}})"}) {
    CAPTURE(wrong);
    request.body = wrong;
    CHECK(std::holds_alternative<HttpResponse>(given_of(request, operation("dead replay"))));
  }
}

TEST_CASE("a body that is nested deeper than a thread's stack is refused") {
  constexpr std::size_t deep = 500'000;
  HttpRequest request;
  request.body = R"({"type": )" + std::string(deep, '[') + std::string(deep, ']') + "}";
  const auto given = given_of(request, operation("dead replay"));
  REQUIRE(std::holds_alternative<HttpResponse>(given));
  CHECK(std::get<HttpResponse>(given).status == 400);
}
