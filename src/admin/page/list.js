// Tables of rows that open, pages of long lists, filters, and the keys that walk through them.
import {h} from './dom.js';
import {ago, time} from './format.js';
import {withShard} from './table.js';

/** `#/events?key=a`; empty parameters are left out. */
export function route(screen, parameters = {}) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== null && value !== '' && value !== false) query.append(name, String(value));
  }
  const text = query.toString();
  return '#/' + screen + (text ? '?' + text : '');
}

export const go = (screen, parameters) => { location.hash = route(screen, parameters); };

/**
 * A table whose rows are cards on a narrow screen. `columns`: {title, cell: row → child, isNumber}; the first has the
 * row's link if `href` is given: row → address. `choice`: {ids: Set, idOf, change} adds a box to each row. `actions`:
 * row → buttons.
 */
export function table({caption, columns: given, rows, href, choice, actions, rowClass}) {
  const columns = withShard(given, rows);
  const head = columns.map((column) =>
    h('th', {scope: 'col', role: 'columnheader', class: column.isNumber ? 'number' : ''}, column.title));
  if (choice) head.unshift(h('th', {scope: 'col', role: 'columnheader'}, boxOfAll(rows, choice)));
  if (actions) head.push(h('th', {scope: 'col', role: 'columnheader'}, h('span', {class: 'unseen'}, 'Actions')));
  return h('table', {class: 'list', role: 'table'},
           h('caption', {class: 'unseen'}, caption),
           h('thead', {role: 'rowgroup'}, h('tr', {role: 'row'}, ...head)),
           h('tbody', {role: 'rowgroup'}, ...rows.map((row) => {
             const cells = columns.map((column, at) => {
               const inner = column.cell(row);
               const content = at === 0 && href ? h('a', {href: href(row), class: 'opens'}, inner) : inner;
               return h('td', {role: 'cell', class: column.isNumber ? 'number' : '', 'data-title': column.title}, content);
             });
             if (choice) cells.unshift(h('td', {role: 'cell', 'data-title': 'Choose'}, boxOf(row, choice)));
             if (actions) cells.push(h('td', {role: 'cell', class: 'actions'}, ...actions(row)));
             return h('tr', {role: 'row', class: rowClass ? rowClass(row) : ''}, ...cells);
           })));
}

function boxOf(row, {ids, idOf, nameOf, change}) {
  const box = h('input', {type: 'checkbox', 'aria-label': 'choose ' + nameOf(row)});
  box.checked = ids.has(idOf(row));
  box.addEventListener('change', () => {
    if (box.checked) ids.add(idOf(row));
    else ids.delete(idOf(row));
    change();
  });
  return box;
}

function boxOfAll(rows, {ids, idOf, change}) {
  const box = h('input', {type: 'checkbox', 'aria-label': 'choose all rows shown'});
  box.checked = rows.length > 0 && rows.every((row) => ids.has(idOf(row)));
  box.addEventListener('change', () => {
    for (const row of rows) {
      if (box.checked) ids.add(idOf(row));
      else ids.delete(idOf(row));
    }
    for (const each of box.closest('table').querySelectorAll('tbody input[type=checkbox]')) each.checked = box.checked;
    change();
  });
  return box;
}

/** A button that runs `work`; it cannot be pressed again meanwhile. */
/** A label that ends with … is a change, which readers do not see. */
export const button = (label, work, attributes = {}) => h('button', {type: 'button', class: label.endsWith('…') ? 'changes' : null, ...attributes, onclick: async ({currentTarget}) => {
  currentTarget.disabled = true;
  try {
    await work();
  } finally {
    currentTarget.disabled = false;
  }
}}, label);

/** Has the screen loaded again, as after a change. */
export const changed = () => document.dispatchEvent(new CustomEvent('inboxd-changed'));

/** A form of filters that changes the address. `fields`: {name, label, kind, hint, options, value}. */
export function filters(screen, fields, kept = {}) {
  const form = h('form', {class: 'filters', role: 'search'},
                 ...fields.map((field) => h('label', {class: field.isWide ? 'wide' : ''}, field.label, inputOf(field))),
                 h('button', {type: 'submit'}, 'Search'),
                 fields.some((field) => field.value) ? h('a', {href: route(screen, kept)}, 'Clear') : '');
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const given = {...kept};
    for (const [name, value] of new FormData(form)) given[name] = value.trim();
    go(screen, given);
  });
  return form;
}

function inputOf({name, options, hint, value, isSearch}) {
  if (options) {
    const out = h('select', {name}, h('option', {value: ''}, 'any'),
                  ...options.map((option) => h('option', {value: option}, option)));
    if (value && !options.includes(value)) out.append(h('option', {value}, value));
    out.value = value ?? '';
    return out;
  }
  const out = h('input', {name, type: isSearch ? 'search' : 'text', placeholder: hint ?? '', autocomplete: 'off',
                          spellcheck: 'false', ...(isSearch ? {'data-search': ''} : {})});
  out.value = value ?? '';
  return out;
}

/** A link to the next page; the browser's Back is the way to the page before. */
export const nextPage = (screen, parameters, mark) =>
  mark ? h('p', {class: 'pages'}, h('a', {href: route(screen, {...parameters, before: mark}), rel: 'next'}, 'Older →')) :
    parameters.before ? h('p', {class: 'pages faint'}, 'The list ends here.') : '';

/** A list of pairs: [name, child]; a child that is null or false is left out. */
export const facts = (pairs) =>
  h('dl', {class: 'facts'}, ...pairs.filter(([, value]) => value !== null && value !== undefined && value !== false && value !== '')
    .flatMap(([name, value]) => [h('dt', {}, name), h('dd', {}, value)]));

export const badge = (word, tone = '') => h('span', {class: 'badge ' + tone}, word);

const tones = {dead: 'bad', expired: 'bad', missing: 'bad', retrying: 'warn', parked: 'warn', blocked: 'warn', done: 'good',
               leased: 'busy', due: 'busy'};
export const stateBadge = (state) => badge(state, tones[state] ?? '');

/** Nothing to show, and the next step. */
export const empty = (fact, ...next) => h('div', {class: 'empty'}, h('p', {}, fact), next.length ? h('p', {}, ...next) : '');

function isTyping(target) {
  return target.matches('input:not([type=checkbox]), textarea, select, [contenteditable]');
}

function walk(step) {
  const links = [...document.querySelectorAll('main .list a.opens')];
  if (links.length === 0) return false;
  const at = links.findIndex((link) => link.closest('tr').contains(document.activeElement));
  links[Math.min(links.length - 1, Math.max(0, at < 0 ? 0 : at + step))].focus();
  return true;
}

/** j, k and the arrows walk through a list, Enter opens, Escape closes, / searches. */
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector('dialog[open]')) return;
  if (isTyping(event.target)) {
    if (event.key === 'Escape') event.target.blur();
    return;
  }
  const isInList = document.activeElement?.closest('.list') !== null;
  const arrows = isInList ? {ArrowDown: 1, ArrowUp: -1} : {};
  const step = {j: 1, k: -1, ...arrows}[event.key];
  if (step && walk(step)) event.preventDefault();
  if (event.key === '/') {
    const search = document.querySelector('main [data-search]');
    event.preventDefault();
    if (search) search.focus();
    else go('events');
  }
  if (event.key === 'Escape') document.querySelector('main a[data-close]')?.click();
});

export const closeLink = (href, label) => h('a', {href, 'data-close': '', class: 'close'}, '← ' + label);

let steps = 0;
addEventListener('hashchange', () => { ++steps; });

/** To the screen before, wherever that was; `href` if the address was opened directly. */
export function backLink(href) {
  const out = closeLink(href, 'Back');
  out.addEventListener('click', (event) => {
    if (steps === 0) return;
    event.preventDefault();
    history.back();
  });
  return out;
}

/** A time with its age. */
export const when = (iso) => iso ? h('span', {class: 'when'}, time(iso), ' ', h('span', {class: 'faint'}, ago(iso))) : '–';
