// The content of an event: folded JSON, text or hexadecimal, with limits.
import {h} from './dom.js';
import {number, bytes as sizeText} from './format.js';
import {jsonTree} from './json_tree.js';
import {bytesOf, hexLines, isText, shortBytes, visible} from './values.js';

const textCut = 20_000;       // characters
const hexCut = 4_096;         // bytes
const jsonLimit = 8_000_000;  // characters: a longer text is not parsed

/** Shows the beginning; a button shows all. */
function limited(value, label, total, unit, cut, read) {
  const pre = h('pre', {class: 'raw', dir: 'ltr', tabindex: '0', 'aria-label': label}, read(cut));
  if (total <= cut) return h('div', {keep: value}, pre);
  const more = h('button', {type: 'button'}, `Show all ${unit(total)}`);
  const note = h('p', {class: 'faint'}, `The first ${unit(cut)} of ${unit(total)}. `, more);
  more.addEventListener('click', () => {
    pre.textContent = read(total);
    note.remove();
    pre.focus();
  });
  return h('div', {keep: value}, pre, note);
}

const characters = (count) => number(count) + ' characters';

export const textView = (text, label = 'text') =>
  limited(text, label, text.length, characters, textCut, (most) => visible(text.slice(0, most)));

function hexView(value) {
  const all = bytesOf(value);
  return limited(value, 'hexadecimal', all.length, sizeText, hexCut, (most) => hexLines(all, most));
}

/** The ways to show bytes, the most useful first: [name, function]. */
function viewsOf(value) {
  if (!isText(value)) return [['Hex', () => hexView(value)]];
  const isShort = value.length <= jsonLimit;
  const tree = isShort && /^\s*[[{"\-0-9tfn]/.test(value) ? jsonTree(value) : undefined;
  const out = [['Text', () => textView(value)], ['Hex', () => hexView(value)]];
  if (tree) out.unshift(['JSON', () => tree]);
  return out;
}

let lastView = '';

/** `value`: bytes as the API has them; null: a tombstone. `title`: a heading. */
export function contentView(title, value, size) {
  const head = h('h3', {}, title, ' ', h('span', {class: 'faint'}, size === null || size === undefined ? '' : sizeText(size)));
  if (value === null || value === undefined) {
    return h('section', {}, head, h('p', {class: 'faint'}, size ? 'Not kept: too large.' : 'No payload (a tombstone).'));
  }
  const views = viewsOf(value);
  const place = h('div', {});
  const buttons = views.map(([name, make]) => {
    const button = h('button', {type: 'button', 'aria-pressed': 'false'}, name);
    button.addEventListener('click', () => {
      lastView = name;
      choose(name, make);
    });
    return button;
  });
  const choose = (name, make) => {
    for (const button of buttons) button.setAttribute('aria-pressed', String(button.textContent === name));
    place.replaceChildren(make());
  };
  choose(...(views.find(([name]) => name === lastView) ?? views[0]));
  return h('section', {'aria-label': title, keep: value}, head,
           h('div', {class: 'views', role: 'group', 'aria-label': `how to show: ${title}`}, ...buttons,
             isText(value) ? copyButton('Copy', value) : ''),
           place);
}

export function headersView(headers) {
  if (!headers || headers.length === 0) return h('p', {class: 'faint'}, 'No headers.');
  const shown = headers.slice(0, 100);
  return h('div', {class: 'scroll'},
           h('table', {}, h('caption', {class: 'unseen'}, 'Headers'),
             h('thead', {}, h('tr', {}, h('th', {scope: 'col'}, 'Header'), h('th', {scope: 'col'}, 'Value'))),
             h('tbody', {}, ...shown.map(({name, value}) => h('tr', {},
               h('th', {scope: 'row', class: 'wraps'}, shortBytes(name, 200)),
               h('td', {class: 'wraps'}, value === null ? h('span', {class: 'faint'}, 'null') : longValue(value)))))),
           headers.length > shown.length ? h('p', {class: 'faint'}, `${number(headers.length - shown.length)} more headers: copy the command and use --json.`) : '');
}

/** A value in full behind its beginning. */
export function longValue(value, most = 300) {
  const text = isText(value) ? value : shortBytes(value, 100_000);
  if (text.length <= most) return h('span', {class: 'value'}, text === '' ? '(empty)' : visible(text));
  return h('details', {keep: text}, h('summary', {}, visible(text.slice(0, most)) + '…'), textView(text, 'the whole value'));
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {  // only where the browser trusts the address
    const area = h('textarea', {class: 'unseen'});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
}

export function copyButton(label, text) {
  const button = h('button', {type: 'button', title: text.length < 300 ? visible(text) : ''}, label);
  button.addEventListener('click', async () => {
    await copy(text);
    button.textContent = 'Copied';
    setTimeout(() => { button.textContent = label; }, 1_500);
  });
  return button;
}

/** A command of the terminal that does the same. */
export const copyCommand = (command) => copyButton('Copy as command', command);

/** Rows of /v1/config/show. */
export const settingsTable = (rows) => h('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'settings'}, h('table', {},
  h('caption', {class: 'unseen'}, 'Settings in force'),
  h('thead', {}, h('tr', {}, ['Key', 'Value', 'From'].map((title) => h('th', {scope: 'col'}, title)))),
  h('tbody', {}, rows.map(({key, text, origin, line}) => h('tr', {},
    h('th', {scope: 'row', class: 'wraps'}, visible(key)), h('td', {class: 'wraps'}, longValue(text)),
    h('td', {class: origin === 'default' ? 'faint' : ''}, line ? `line ${line}` : visible(origin)))))));
