#include "formats/registry_client.hpp"

#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/base64.hpp"
#include "base/http_exchange.hpp"
#include "base/text.hpp"

namespace inboxd::formats {
namespace {

using Document = nlohmann::json;

/// Of a schema and its references, together.
constexpr std::size_t max_references = 64;

/// The query for Protobuf's schemas in binary form.
constexpr const char* as_descriptors = "?format=serialized";

constexpr const char* tls_remedy =
    "; if certificates are the reason: registry.tls.ca is the authority of its certificate, and tls.certificate and "
    "tls.key are yours, if it demands one";
constexpr const char* no_schema = "answers without a schema; is registry.url right?";

/// 40401 to 40403: no such subject, version or schema. A wrong address gets 404 with other codes.
bool is_unknown(const Document& answer) {
  const auto code = answer.is_object() ? answer.find("error_code") : answer.end();
  if (!answer.is_object() || code == answer.end() || !code->is_number_integer()) return false;
  return *code >= 40401 && *code <= 40403;
}

std::string percent_encoded(std::string_view text) {
  constexpr std::string_view plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string out;
  for (const char c : text) {
    if (plain.find(c) != plain.npos) {
      out += c;
    } else {
      out += '%';
      out += base::hex(std::string_view{&c, 1});
    }
  }
  return out;
}

std::string member_text(const Document& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

/// A schema that another one refers to.
struct Reference {
  std::string path;  ///< below the registry's address
  std::string name;  ///< in the imports of the other
};

/// nullopt: they are malformed.
std::optional<std::vector<Reference>> references_in(const Document& schema) {
  std::vector<Reference> out;
  const auto found = schema.find("references");
  if (found == schema.end() || found->is_null()) return out;
  if (!found->is_array()) return std::nullopt;
  for (const Document& reference : *found) {
    const bool is_whole = reference.is_object() && !member_text(reference, "subject").empty() &&
                          reference.contains("version") && reference["version"].is_number_integer();
    if (!is_whole) return std::nullopt;
    out.push_back({"/subjects/" + percent_encoded(member_text(reference, "subject")) + "/versions/" +
                       std::to_string(reference["version"].get<std::int64_t>()),
                   member_text(reference, "name")});
  }
  return out;
}

}  // namespace

/// A schema's references, each after those that it refers to itself.
struct RegistryClient::References {
  std::string_view query = {};  ///< of each request
  std::set<std::string> seen = {};
  std::vector<std::string> names = {}, texts = {};
};

/// The answer to a request: a JSON object or list, or why there is none.
struct RegistryClient::Part {
  Document json;
  RegistryAnswer without;
  int status = 0;
  bool is_whole() const { return without.misfit.empty() && without.failure.empty(); }
};

std::string RegistryClient::refusal(int status) const {
  const std::string who = !settings_.user.empty()    ? "user " + settings_.user
                          : !settings_.token.empty() ? "the token of registry.token"
                                                     : "requests without a user";
  return "refuses " + who + " (status " + std::to_string(status) + ")";
}

RegistryClient::Part RegistryClient::ask(const std::string& path) {
  ++requests_;
  base::HttpQuestion question{settings_.url, std::chrono::steady_clock::now() + settings_.timeout};
  while (question.url.ends_with('/')) question.url.pop_back();
  question.url += path;
  question.headers = {"Accept: application/vnd.schemaregistry.v1+json, application/json"};
  if (!settings_.token.empty()) question.headers.push_back("Authorization: Bearer " + settings_.token.now());
  if (!settings_.user.empty()) {
    question.headers.push_back("Authorization: Basic " +
                               base::base64(settings_.user + ":" + settings_.password.now()));
  }
  question.authorities = settings_.ca;
  question.certificate = settings_.certificate;
  question.key = settings_.key;
  question.max_answer = settings_.max_answer;
  question.cancelled = &cancelled_;
  const base::HttpReply reply = base::exchange(question);
  Part out;
  out.status = reply.status;
  out.json = Document::parse(reply.body, nullptr, false);
  if (reply.is_too_large && reply.status == 200) {
    out.without.misfit = "is larger than registry.max_answer";
  } else if (reply.is_timeout) {
    out.without.failure = "does not answer within registry.timeout";  // the same each time: no news for the log
  } else if (!reply.problem.empty()) {
    const bool has_tls = base::lower(settings_.url).starts_with("https:");
    out.without.failure = "does not answer: " + reply.problem + (has_tls ? tls_remedy : "");
  } else if (reply.status == 401 || reply.status == 403) {
    out.without.failure = refusal(reply.status);
  } else if (reply.status == 404 && is_unknown(out.json)) {
    out.without.misfit = "is unknown to the registry";
    out.without.is_unknown = true;
  } else if (reply.status != 200) {
    out.without.failure = "answers with status " + std::to_string(reply.status) +
                          (reply.status == 404 ? ", but not as a schema registry; is registry.url right?" : "");
  } else if (out.json.is_discarded()) {
    out.without.failure = "answers without JSON; is registry.url right?";
  }
  return out;
}

/// An id that the registry cannot answer, though it answers others, must stop nothing but its own records.
RegistryClient::Part RegistryClient::ask_schema(const std::string& path) {
  Part out = ask(path);
  const bool is_doubtful = !out.without.failure.empty() && out.status >= 400 && out.status != 401 &&
                           out.status != 403 && out.status != 429 && out.status != 503;
  if (!is_doubtful || !probe().empty()) return out;
  if (out.status >= 500) {
    out.without.is_of_id = true;
  } else {
    out.without.misfit = "is refused by the registry (status " + std::to_string(out.status) + ")";
    out.without.failure.clear();
  }
  return out;
}

std::string RegistryClient::subject_of(const SchemaId& id) {
  const Part answer = ask(id.path() + "/versions");
  if (!answer.is_whole() || !answer.json.is_array() || answer.json.empty() || !answer.json[0].is_object()) return {};
  return member_text(answer.json[0], "subject");
}

/// Depth first: a schema comes after all that it refers to. False: `problem` says why.
bool RegistryClient::add_references(const Document& schema, References& to, RegistryAnswer& problem) {
  const auto paths = references_in(schema);
  if (!paths) {
    problem.misfit = "has references that cannot be read";
    return false;
  }
  for (const auto& [path, name] : *paths) {
    if (!to.seen.insert(path).second) continue;
    if (to.seen.size() > max_references) {
      problem.misfit = "has more than " + std::to_string(max_references) + " references";
      return false;
    }
    const Part part = ask_schema(path + std::string{to.query});
    if (!part.is_whole() || !part.json.is_object()) {
      problem = part.without;
      if (!problem.misfit.empty()) problem.misfit.insert(0, "has a reference that ");
      else if (problem.failure.empty()) problem.failure = no_schema;
      return false;
    }
    if (!add_references(part.json, to, problem)) return false;
    to.names.push_back(name);
    to.texts.push_back(member_text(part.json, "schema"));
  }
  return true;
}

/// Protobuf's schemas are fetched again, as descriptors. A failure of the registry is in `problem`.
base::Result<ProtobufSchema> RegistryClient::protobuf_of(Part& root, References& references, RegistryAnswer& problem) {
  std::vector<ProtobufFile> files;
  references.query = as_descriptors;
  if (!add_references(root.json, references, problem)) return base::Problem{problem.misfit};
  references.names.push_back("the schema itself");
  references.texts.push_back(member_text(root.json, "schema"));
  for (std::size_t i = 0; i < references.texts.size(); ++i) {
    auto descriptor = base::from_base64(references.texts[i]);
    if (!descriptor) return base::Problem{"is no descriptor; the registry does not know format=serialized"};
    files.push_back({references.names[i], *std::move(descriptor)});
  }
  return ProtobufSchema::of_files(files);
}

RegistryAnswer RegistryClient::fetch(const SchemaId& id) {
  RegistryAnswer out;
  if (!id.is_guid && id.is_beyond_int()) {
    out.misfit = "has a number beyond those of registries";
    out.is_unknown = true;
    return out;
  }
  Part root = ask_schema(id.path());
  const auto is_schema = [&] { return root.json.is_object() && !member_text(root.json, "schema").empty(); };
  const bool is_protobuf = root.is_whole() && is_schema() && member_text(root.json, "schemaType") == "PROTOBUF";
  if (is_protobuf) root = ask_schema(id.path() + as_descriptors);
  if (!root.is_whole()) return root.without;
  if (!is_schema()) {
    out.failure = no_schema;
    return out;
  }
  const std::string type = member_text(root.json, "schemaType");
  if (!type.empty() && type != "AVRO" && !is_protobuf) {
    out.misfit = "is of type " + base::escape_controls(base::shorten(type, 20)) + ", neither AVRO nor PROTOBUF";
    return out;
  }
  References references;
  const auto take = [&](auto parsed) {
    if (!out.failure.empty()) return;
    if (parsed) out.schema = Schema{std::move(parsed).value(), subject_of(id)};
    else out.misfit = parsed.problem().message;
  };
  if (is_protobuf) {
    take(protobuf_of(root, references, out));
  } else if (add_references(root.json, references, out)) {
    take(parse_avro(member_text(root.json, "schema"), references.texts));
  }
  return out;
}

std::string RegistryClient::probe() {
  const Part part = ask("/subjects?subjectPrefix=inboxd-check");
  if (!part.without.failure.empty()) return part.without.failure;
  return part.is_whole() && part.json.is_array() ? "" : "answers without its subjects; is registry.url right?";
}

}  // namespace inboxd::formats
