// Values of events as text that is safe to show: keys and payloads come from strangers.

/** Characters that are invisible or change the order of the text around them; lone surrogates, too. */
const hidden = new RegExp(
  '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180e' +
  '\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb' +
  '\\u{1d173}-\\u{1d17a}\\u{e0000}-\\u{e0fff}]|\\p{Cs}', 'gu');

const mark = (character) => `⟦U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟧`;

/** The text with a mark, such as ⟦U+202E⟧, in place of each hidden character. Keeps line feeds and tabs. */
export const visible = (text) => text.replace(hidden, mark);

/** On one line, cut after `most` characters. */
export function short(text, most = 120) {
  const cut = text.length > most ? text.slice(0, most) + '…' : text;
  return visible(cut.replace(/\s*\n\s*/g, ' ').replace(/\t/g, ' '));
}

/** Bytes as the API has them: text, or {base64}. */
export function bytesOf(value) {
  if (typeof value === 'string') return new TextEncoder().encode(value);
  return Uint8Array.from(atob(value.base64), (character) => character.charCodeAt(0));
}

export const isText = (value) => typeof value === 'string';

const hexDigits = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');

/** A key, value of a header or the like in a table; null: none. */
export function shortBytes(value, most = 60) {
  if (value === null || value === undefined) return '–';
  if (isText(value)) return value === '' ? '(empty)' : short(value, most);
  const bytes = bytesOf(value);
  return '0x' + hexDigits(bytes.slice(0, most / 2)) + (bytes.length > most / 2 ? '…' : '');
}

/** Lines of offset, hexadecimal digits and ASCII. */
export function hexLines(bytes, most) {
  const out = [];
  for (let at = 0; at < Math.min(bytes.length, most); at += 16) {
    const row = bytes.slice(at, Math.min(at + 16, most));
    const digits = Array.from(row, (byte) => byte.toString(16).padStart(2, '0')).join(' ');
    const ascii = Array.from(row, (byte) => byte > 31 && byte < 127 ? String.fromCharCode(byte) : '.').join('');
    out.push(at.toString(16).padStart(8, '0') + '  ' + digits.padEnd(49) + ascii);
  }
  return out.join('\n');
}

/** The parameters that select a key; null: the events have none, and no parameter selects them. */
export function keyParameters(key) {
  if (key === null || key === undefined) return null;
  return isText(key) && !key.includes('\0') ? {key} : {'key-hex': hexDigits(bytesOf(key))};
}

/** A word of a command line, for a POSIX shell. Control characters stay escapes: a terminal would obey them. */
export function shellWord(text) {
  if (/^[\w@%+=:,./-]+$/.test(text)) return text;
  hidden.lastIndex = 0;
  if (!hidden.test(text) && !/[\n\t]/.test(text)) return "'" + text.replace(/'/g, "'\\''") + "'";
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => '\\x' + byte.toString(16).padStart(2, '0'));
  return "$'" + bytes.join('') + "'";
}

/** `inboxd WORDS`, with the options that have a value. */
export function commandOf(words, options = {}) {
  const out = ['inboxd', ...words.map(shellWord)];
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null || value === '' || value === false) continue;
    for (const each of Array.isArray(value) ? value : [value]) {
      out.push('--' + name);
      if (each !== true) out.push(shellWord(String(each)));
    }
  }
  return out.join(' ');
}

/** The next microsecond after a time of the API: the `until` that includes it. */
export function justAfter(iso) {
  const [, seconds, fraction = ''] = /^(.*?)(?:\.(\d+))?Z$/.exec(iso);
  const micros = Number(fraction.padEnd(6, '0').slice(0, 6)) + 1;
  if (micros < 1_000_000) return `${seconds}.${String(micros).padStart(6, '0')}Z`;
  return new Date(Date.parse(seconds + 'Z') + 1_000).toISOString().replace('.000Z', 'Z');
}
