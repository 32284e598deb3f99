// Requests to /v1 on this origin, with the token of this tab.

export class ApiError extends Error {
  constructor(status, message, document) {
    super(message);
    this.status = status;
    this.document = document;
  }
}

const stored = (name) => sessionStorage.getItem('inboxd.' + name) ?? '';

/** Called with each answer that asks for a token. */
export const access = {refused: () => {}};

export const hasToken = () => stored('token') !== '';
export const actor = () => stored('actor');

export function signIn(token, name) {
  sessionStorage.setItem('inboxd.token', token);
  if (name) sessionStorage.setItem('inboxd.actor', name);
}
export function signOut() {
  sessionStorage.removeItem('inboxd.token');
}

/** Takes `#token=…&actor=…` out of the address, so that it stays out of history and screenshots. */
export function takeTokenFromAddress() {
  if (!location.hash.startsWith('#token=')) return;
  const given = new URLSearchParams(location.hash.slice(1));
  signIn(given.get('token'), given.get('actor'));
  history.replaceState(null, '', location.pathname + (given.get('to') ? '#/' + given.get('to') : ''));
}

async function ask(path, options) {
  const headers = {...options.headers};
  if (hasToken()) headers.Authorization = 'Bearer ' + stored('token');
  if (actor()) headers['Inboxd-Actor'] = actor();
  let response;
  try {
    response = await fetch(path, {...options, headers, cache: 'no-store', credentials: 'same-origin'});
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'The daemon does not answer.');
  }
  const document = await response.json().catch(() => null);
  if (response.ok && document !== null) return document;
  const message = document?.message ?? `The daemon answers with ${response.status}.`;
  if (response.status === 401 || response.status === 403) access.refused(response.status, message);
  throw new ApiError(response.status, message, document);
}

function queryOf(parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined && each !== null && each !== '' && each !== false) query.append(name, String(each));
    }
  }
  return query.size > 0 ? '?' + query : '';
}

export const get = (path, parameters, {signal} = {}) => ask(path + queryOf(parameters), {signal});

export const post = (path, parameters, {signal} = {}) =>
  ask(path, {method: 'POST', signal, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(parameters ?? {})});
