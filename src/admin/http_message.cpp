#include "admin/http_message.hpp"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/text.hpp"

namespace inboxd::admin {
namespace {

/// The part of a large body's memory that a connection keeps for its next request.
constexpr std::size_t kept_bytes = 64 << 10;

bool is_token_character(char c) {
  const bool is_alphanumeric = (base::lower(c) >= 'a' && base::lower(c) <= 'z') || (c >= '0' && c <= '9');
  return is_alphanumeric || std::string_view{"!#$%&'*+-.^_`|~"}.find(c) != std::string_view::npos;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), is_token_character);
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }

std::optional<int> hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (base::lower(c) >= 'a' && base::lower(c) <= 'f') return base::lower(c) - 'a' + 10;
  return std::nullopt;
}

std::optional<std::string> decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const auto high = hex_digit(text[i + 1]);
    const auto low = hex_digit(text[i + 2]);
    if (!high || !low) return std::nullopt;
    out += static_cast<char>(*high * 16 + *low);
    i += 2;
  }
  return out;
}

/// The number of bytes at the end of an incomplete head that may begin the empty line after it.
std::size_t begun_end(std::string_view head) {
  constexpr std::string_view end = "\r\n\r\n";
  std::size_t out = end.size() - 1;
  while (!head.ends_with(end.substr(0, out))) --out;
  return out;
}

}  // namespace

const std::string* HttpRequest::header(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(), [&](const auto& one) { return one.first == name; });
  return found == headers.end() ? nullptr : &found->second;
}

std::string_view reason_of(int status) {
  switch (status) {
    case 200:
      return "OK";
    case 202:
      return "Accepted";
    case 304:
      return "Not Modified";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

HttpResponse refusal(int status, const std::string& message) {
  const nlohmann::ordered_json document{{"status", status}, {"message", message}};
  HttpResponse out{status, document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n"};
  return out;
}

std::string bytes_of(const HttpResponse& response, bool without_body, bool close) {
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out.append(reason_of(response.status)).append("\r\nContent-Type: ").append(response.content_type);
  if (response.status != 304) out.append("\r\nContent-Length: ").append(std::to_string(response.body.size()));
  // No answer may be read by another site's script, or run another file than the page's own.
  out.append("\r\nX-Content-Type-Options: nosniff");
  out.append("\r\nContent-Security-Policy: default-src 'none'; frame-ancestors 'none'");
  if (response.is_page) {
    out.append("; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; "
               "form-action 'none'\r\nCache-Control: no-cache\r\nReferrer-Policy: no-referrer\r\n"
               "Cross-Origin-Resource-Policy: same-origin\r\nCross-Origin-Opener-Policy: same-origin");
  } else {
    out.append("\r\nCache-Control: no-store");
  }
  for (const auto& [name, value] : response.headers) out.append("\r\n").append(name).append(": ").append(value);
  if (close) out.append("\r\nConnection: close");
  out.append("\r\n\r\n");
  if (!without_body) out.append(response.body);
  return out;
}

RequestReader::State RequestReader::take(std::string_view bytes) {
  buffer_.append(bytes);
  return state_ = state_ == State::refused ? state_ : read();
}

HttpRequest RequestReader::next() {
  HttpRequest out = std::move(request_);
  out.body = buffer_.substr(head_size_, body_size_);
  buffer_.erase(0, head_size_ + body_size_);
  if (buffer_.capacity() > kept_bytes && buffer_.size() < kept_bytes) buffer_.shrink_to_fit();
  head_size_ = body_size_ = 0;
  request_ = {};
  state_ = read();
  return out;
}

RequestReader::State RequestReader::read() {
  if (head_size_ == 0) {
    // The standard asks to ignore empty lines before a request.
    while (buffer_.starts_with("\r\n")) buffer_.erase(0, 2);
    const auto end = buffer_.find("\r\n\r\n");
    const std::size_t seen = end == std::string::npos ? buffer_.size() - begun_end(buffer_) : end;
    if (seen > limits_.header_bytes) {
      return refuse(431, "the request has more than " + std::to_string(limits_.header_bytes) +
                             " bytes before its body (" +
                             std::string{limits_.keys} + ".header_limit)");
    }
    if (end == std::string::npos) return State::wants_more;
    head_size_ = end + 4;
    if (const State state = read_head(std::string_view{buffer_}.substr(0, end)); state != State::complete) return state;
  }
  return buffer_.size() < head_size_ + body_size_ ? State::wants_more : State::complete;
}

RequestReader::State RequestReader::read_head(std::string_view head) {
  bool is_first = true;
  while (!head.empty() || is_first) {
    const auto end = std::min(head.find("\r\n"), head.size());
    const std::string_view line = head.substr(0, end);
    if (is_first ? !read_request_line(line) : !read_header(line)) {
      return state_ == State::refused ? state_ : refuse(400, "the request is not HTTP/1.1");
    }
    if (request_.headers.size() > limits_.headers) {
      return refuse(431, "the request has more than " + std::to_string(limits_.headers) + " headers");
    }
    is_first = false;
    head.remove_prefix(std::min(end + 2, head.size()));
  }
  return check_headers();
}

bool RequestReader::read_request_line(std::string_view line) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last) return false;
  const std::string_view version = line.substr(last + 1);
  const std::string_view target = line.substr(first + 1, last - first - 1);
  if (!is_token(line.substr(0, first)) || !target.starts_with('/')) return false;
  if (std::any_of(target.begin(), target.end(), [](char c) { return is_control(c) || c == ' '; })) return false;
  if (version != "HTTP/1.1" && version != "HTTP/1.0") {
    if (version.starts_with("HTTP/")) refuse(505, "only HTTP/1.1 is supported");
    return false;
  }
  is_old_ = version == "HTTP/1.0";
  request_.keep_alive = !is_old_;
  request_.method = line.substr(0, first);
  const auto question = target.find('?');
  request_.path = target.substr(0, question);
  if (question != std::string_view::npos) request_.query = target.substr(question + 1);
  return true;
}

bool RequestReader::read_header(std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return false;  // refuses folded lines, too
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (std::any_of(value.begin(), value.end(), [](char c) { return is_control(c) && c != '\t'; })) return false;
  request_.headers.emplace_back(base::lower(line.substr(0, colon)), value);
  return true;
}

RequestReader::State RequestReader::check_headers() {
  const auto count = [&](std::string_view name) {
    return std::count_if(request_.headers.begin(), request_.headers.end(),
                         [&](const auto& header) { return header.first == name; });
  };
  if (count("host") > 1 || (count("host") == 0 && !is_old_)) return refuse(400, "send exactly one header Host");
  for (const char* const once : {"content-length", "content-type", "origin", "sec-fetch-site", "authorization"}) {
    if (count(once) > 1) return refuse(400, std::string{"header "} + once + " appears twice");
  }
  if (count("transfer-encoding") > 0) return refuse(411, "chunked bodies are not supported; send Content-Length");
  if (const std::string* length = request_.header("content-length")) {
    const auto [end, error] = std::from_chars(length->data(), length->data() + length->size(), body_size_);
    const bool is_number = error == std::errc{} && end == length->data() + length->size() && length->front() != '+';
    if (!is_number && error != std::errc::result_out_of_range) return refuse(400, "Content-Length is not a number");
    if (!is_number || body_size_ > limits_.body_bytes) {
      return refuse(413, "the body has more than " + std::to_string(limits_.body_bytes) + " bytes (" +
                             std::string{limits_.keys} + ".body_limit)");
    }
  }
  if (const std::string* connection = request_.header("connection")) {
    const std::string wish = base::lower(*connection);
    if (wish.find("close") != std::string::npos)
      request_.keep_alive = false;
    else if (wish.find("keep-alive") != std::string::npos)
      request_.keep_alive = true;
  }
  if (const std::string* expect = request_.header("expect")) {
    if (base::lower(*expect) != "100-continue") return refuse(417, "of expectations only 100-continue is supported");
    if (buffer_.size() < head_size_ + body_size_) return State::wants_continue;
  }
  return State::complete;
}

RequestReader::State RequestReader::refuse(int status, const std::string& message) {
  problem_ = refusal(status, message);
  return state_ = State::refused;
}

std::optional<std::vector<std::pair<std::string, std::string>>> query_of(std::string_view encoded) {
  std::vector<std::pair<std::string, std::string>> out;
  while (!encoded.empty()) {
    const std::string_view pair = encoded.substr(0, encoded.find('&'));
    encoded.remove_prefix(std::min(pair.size() + 1, encoded.size()));
    if (pair.empty()) continue;
    const auto equals = std::min(pair.find('='), pair.size());
    auto name = decoded(pair.substr(0, equals));
    auto value = decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!name || !value) return std::nullopt;
    out.emplace_back(std::move(*name), std::move(*value));
  }
  return out;
}

}  // namespace inboxd::admin
