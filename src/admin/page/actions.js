// The changes that several screens offer. Each asks, shows its dry run and asks again.
import {ask} from './ask.js';
import {confirmChange} from './confirm.js';
import {diffView} from './diff.js';
import {h} from './dom.js';
import {number} from './format.js';
import {format} from './json_tree.js';
import {stateBadge} from './list.js';
import {isText, keyParameters, shortBytes, visible} from './values.js';

const sentence = (...parts) => h('p', {}, ...parts);
const plural = (count, one, many = one + 's') => `${number(count)} ${count === 1 ? one : many}`;
const byName = (counts) => Object.entries(counts ?? {}).map(([name, count]) => `${visible(name)}: ${number(count)}`).join(', ');

/** Lines of a dry run's numbers; lines without a number are left out. */
const lines = (...pairs) =>
  h('ul', {}, ...pairs.filter(([count]) => count > 0).map(([count, text]) => h('li', {}, `${number(count)} ${text}`)));

function aboutEvent(answer, effect) {
  return h('div', {}, sentence('The event is ', stateBadge(answer.state), ` for ${visible(answer.handler)}, after `,
                               plural(answer.attempts, 'attempt'), '.'),
           sentence(effect));
}

export const retryEvent = (id, handler) => confirmChange({
  title: 'Retry now', path: '/v1/events/retry', arguments: {id, handler}, verb: 'Retry now',
  describe: (answer) => aboutEvent(answer, 'It is tried again at once instead of at its next try.')});

export async function skipEvent(id, handler) {
  const given = await ask({title: 'Skip an event', fields: [{name: 'reason', label: 'Reason, kept with the dead letter', isRequired: true}]});
  return given && confirmChange({
    title: 'Skip', path: '/v1/events/skip', arguments: {id, handler, reason: given.reason}, verb: 'Skip the event',
    describe: (answer) => aboutEvent(answer, 'It becomes a dead letter of class operator.skipped; later events of its key go on without it. It can be replayed.')});
}

export const retryWaiting = (handler, error) => confirmChange({
  title: 'Retry waiting events', path: '/v1/events/retry', arguments: error ? {handler, error: [error]} : {handler},
  verb: 'Retry now', describe: (answer) => sentence(`Tried at once instead of at the next try: `, h('strong', {}, plural(answer.matched, 'event')), ` of ${visible(handler)}.`)});

const matching = (answer, one, names, effect) =>
  sentence(h('strong', {}, plural(answer.matched, one)), ` (${byName(names)}): ${effect}`);

function aboutLetters(answer, effect) {
  return h('div', {}, matching(answer, 'dead letter', answer.handlers, effect),
           lines([answer.parked, 'events that they have parked come along'],
                 [answer.of_retired_handlers, 'more belong to retired handlers and are left alone'],
                 [answer.awaited_by_backfill, 'more wait for a back-fill and are left alone']),
           answer.more ? sentence('More match than one change takes: repeat it for the rest.') : '');
}

/** The numbers of the last answer, and its message. */
export function outcome(answer) {
  const counts = [[answer.replayed, 'replayed'], [answer.discarded, 'discarded'], [answer.released, 'released'],
                  [answer.changed, 'changed'], [answer.events, 'stored as events'], [answer.duplicates, 'duplicates dropped'],
                  [answer.changed_meanwhile, 'left alone: changed meanwhile by somebody else']];
  const told = counts.some(([count]) => count > 0) ? lines(...counts) : sentence('Done.');
  return h('div', {}, told, answer.message ? sentence(visible(answer.message)) : '');
}

export const replayLetters = (selection) => confirmChange({
  title: 'Replay', path: '/v1/dead/replay', arguments: selection, verb: 'Replay', done: outcome,
  describe: (answer) => aboutLetters(answer, 'delivered again, from the first attempt.')});

export const discardLetters = (selection) => confirmChange({
  title: 'Discard', path: '/v1/dead/discard', arguments: selection, verb: 'Discard for good', done: outcome,
  describe: (answer) => aboutLetters(answer, 'removed for good. Outcomes and the audit keep a record of them.')});

/** `group`: of /v1/dead/list. */
export async function noteLetters({handler, error_class: error, note}) {
  const given = await ask({title: `Note on ${visible(error)} of ${visible(handler)}`,
                           text: 'Everybody sees it with the group. An empty note takes it away.',
                           fields: [{name: 'note', label: 'Note', value: note ?? ''}]});
  return given && confirmChange({
    title: 'Note', path: '/v1/dead/note', arguments: {handler, error, note: given.note}, verb: 'Note',
    describe: (answer) => sentence(h('strong', {}, plural(answer.matched, 'dead letter')), ': ',
                                   given.note ? visible(given.note) : 'without a note.')});
}

const headerLines = (headers) => (headers ?? []).filter(({name, value}) => isText(name) && isText(value) && !/[\n]/.test(name + value))
  .map(({name, value}) => `${name}=${value}`).join('\n');

/** `letter`: of /v1/dead/show. */
export async function editLetter(letter) {
  const content = letter.edit ?? letter.event;
  if (content.payload !== null && !isText(content.payload)) {
    return ask({title: 'Edit', text: 'The payload is not text. Edit it as a file, with: inboxd dead edit ' +
                letter.dead_letter_id + ' --payload FILE', fields: [], verb: 'Close'});
  }
  const before = content.payload ?? '';
  const headersBefore = headerLines(content.headers);
  const given = await ask({
    title: `Edit for ${visible(letter.handler)} and replay`, verb: 'Continue',
    text: 'Only this handler gets the edited content. The original stays. Headers can be added or replaced, not removed.',
    fields: [{name: 'payload', label: 'Payload', value: before, isLong: true},
             {name: 'headers', label: 'Headers, NAME=VALUE, one a line', value: headersBefore, isLong: true}],
    extra: (values) => editTools(before, values)});
  if (!given) return null;
  const known = new Set(headersBefore.split('\n'));
  const header = given.headers.split('\n').filter((line) => line.trim() !== '' && !known.has(line));
  const change = {id: String(letter.dead_letter_id)};
  // A text area has line feeds only: unchanged text keeps its bytes.
  if (given.payload !== before.replace(/\r\n?/g, '\n')) change.payload = given.payload;
  if (header.length > 0) change.header = header;
  return confirmChange({
    title: 'Edit and replay', path: '/v1/dead/edit', arguments: change, verb: 'Replay with the edit', done: outcome,
    describe: (answer) => h('div', {},
      sentence(`The payload of ${number(answer.payload_size_before ?? 0)} bytes becomes one of ${number(answer.payload_size ?? 0)} bytes, for ${visible(answer.handler)} only.`),
      change.payload === undefined ? sentence('The payload stays.') : differenceOf(before, change.payload),
      header.length > 0 ? sentence('Headers: ' + header.map((line) => visible(line)).join(', ')) : '',
      lines([answer.parked, 'events that it has parked come along']))});
}

/** Formatted JSON is compared line by line; other text as it is. */
function differenceOf(before, after) {
  const one = format(before);
  const two = format(after);
  return one !== undefined && two !== undefined && one !== two ? diffView(one, two) : diffView(before, after);
}

function editTools(before, values) {
  const place = h('div', {role: 'status', 'aria-label': 'difference'});
  const show = h('button', {type: 'button'}, 'Show the difference');
  show.addEventListener('click', () => {
    const {payload} = values();
    const isBroken = format(before) !== undefined && format(payload) === undefined;
    place.replaceChildren(isBroken ? h('p', {class: 'warning'}, 'The payload was JSON and is none now.') : '', differenceOf(before, payload));
  });
  const tidy = h('button', {type: 'button'}, 'Format JSON');
  tidy.addEventListener('click', () => {
    const area = tidy.closest('form').querySelector('textarea');
    area.value = format(area.value) ?? area.value;
  });
  return h('div', {class: 'tools'}, h('div', {class: 'buttons'}, show, tidy), place);
}

export const releaseKey = (handler, key) => confirmChange({
  title: 'Release a parked key', path: '/v1/lanes/release', arguments: {handler, ...keyParameters(key)}, verb: 'Release', done: outcome,
  describe: (answer) => sentence(`Key ${shortBytes(key)}: `, plural(answer.waiting, 'parked event'), ', delivered in their order. The dead letter that parks the key stays.')});

const reasons = (still) => Object.entries(still ?? {}).map(([reason, count]) => [count, `stay: ${visible(reason)}`]);

export const retryRecords = (selection) => confirmChange({
  title: "Try again with today's rules", path: '/v1/quarantine/retry', arguments: selection, verb: 'Try again', done: outcome,
  describe: (answer) => h('div', {},
    matching(answer, 'record', answer.topics, "read by today's configuration."),
    lines([answer.events, 'become events'], [answer.duplicates, 'are duplicates of stored events and are dropped'],
          [answer.skipped, 'are tombstones of a topic that skips them and are dropped'],
          [answer.unsubscribed, 'of the events have no handler'], ...reasons(answer.still),
          [answer.not_kept, 'were too large to keep and are left alone']),
    answer.message ? sentence(visible(answer.message)) : '')});

export const discardRecords = (selection) => confirmChange({
  title: 'Discard records', path: '/v1/quarantine/discard', arguments: selection, verb: 'Discard for good', done: outcome,
  describe: (answer) => matching(answer, 'record', answer.topics, 'removed for good; the audit lists them.')});
