// Requests to /v1 of the port that served the page, with the token of this tab.

/** `status` 0: no answer. `document`: the answer's JSON, if any. */
export class ApiError extends Error {
  constructor(status, message, document) {
    super(message);
    this.status = status;
    this.document = document;
  }
}

const max_wait_ms = 60_000;  // a daemon that is suspended never answers
const stored = (name) => sessionStorage.getItem('inboxd.' + name) ?? '';

/**
 * The shell's. `refused`: a change is refused, or the token is none of the daemon's (any more). `told`: whether the caller
 * may change anything.
 */
export const access = {refused: () => {}, told: () => {}};

/** Sentences about databases that did not answer, of all answers since it was cleared; with --shards only. */
export const away = new Set();

export const hasToken = () => stored('token') !== '';
export const actor = () => stored('actor');

export function signIn(token, name) {
  sessionStorage.setItem('inboxd.token', token);
  if (name) sessionStorage.setItem('inboxd.actor', name);
}

export const signOut = () => sessionStorage.removeItem('inboxd.token');

/** Takes `#token=…&actor=…` out of the address, so that it is in no history and no screenshot. */
export function takeTokenFromAddress() {
  if (!location.hash.startsWith('#token=')) return;
  const given = new URLSearchParams(location.hash.slice(1));
  signIn(given.get('token'), given.get('actor'));
  history.replaceState(null, '', location.pathname + '#/');
}

async function ask(path, options) {
  const headers = {...options.headers};
  if (hasToken()) headers.Authorization = 'Bearer ' + stored('token');
  // Header values are Latin-1; the port reads them as bytes.
  if (actor()) headers['Inboxd-Actor'] = unescape(encodeURIComponent(actor()));
  const signal = AbortSignal.any([AbortSignal.timeout(max_wait_ms), ...(options.signal ? [options.signal] : [])]);
  let response;
  let document = null;
  try {
    response = await fetch(path.slice(1), {...options, headers, signal, cache: 'no-store', credentials: 'same-origin'});
    const mayChange = response.headers.get('Inboxd-May-Change');  // a refusal does not say
    if (mayChange) access.told(mayChange !== 'no');
    document = await response.json().catch((error) => {
      if (error.name === 'AbortError') throw error;
      return null;
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'The daemon does not answer.', null);
  }
  for (const sentence of document?.away ?? []) away.add(sentence);
  if (response.ok && document !== null) return document;
  throw new ApiError(response.status, document?.message ?? `The daemon answered with status ${response.status}.`, document);
}

function queryOf(parameters) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters ?? {})) {
    // An empty text in a list is a value: the class of an error without a class.
    for (const each of Array.isArray(value) ? value : [value === '' ? null : value]) {
      if (each !== undefined && each !== null && each !== false) query.append(name, String(each));
    }
  }
  return query.size > 0 ? '?' + query : '';
}

export async function get(path, parameters, {signal} = {}) {
  const target = path + queryOf(parameters);
  try {
    return await ask(target, {signal});
  } catch (error) {
    if (error.status !== 401 || !hasToken()) throw error;
    // The token is none of this daemon's: its key is another after each start. Some reads need none.
    signOut();
    access.refused(error);
    return ask(target, {signal});
  }
}

export async function post(path, parameters, {signal} = {}) {
  try {
    return await ask(path, {method: 'POST', signal, headers: {'Content-Type': 'application/json'}, body: JSON.stringify(parameters ?? {})});
  } catch (error) {
    if (error.status === 401 || error.status === 403) access.refused(error);
    throw error;
  }
}
