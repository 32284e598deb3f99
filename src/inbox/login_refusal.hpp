#pragma once
#include <string>
#include <string_view>

namespace inboxd::inbox {

/// Whether libpq itself ended the connection to the host tried last, for a certificate, a key or the lack of TLS: there
/// is no SQLSTATE, and a retry does not help. libpq's words, in English because the daemon sets no locale. Pure.
bool is_tls_refused(std::string_view message);

/// How to mend a refused login, by the sentence of libpq or the server. Pure.
std::string login_remedy(std::string_view message);

}  // namespace inboxd::inbox
