// Dead letters by handler and error class; a group's dead letters, with changes of all of them or of some.
import {copyCommand} from '../content.js';
import {discardLetters, noteLetters, replayLetters} from '../actions.js';
import {get} from '../api.js';
import {sparkline} from '../chart.js';
import {h} from '../dom.js';
import {number} from '../format.js';
import {badge, button, changed, closeLink, empty, filters, nextPage, route, stateBadge, table, when} from '../list.js';
import {commandOf, justAfter, short, shortBytes, visible} from '../values.js';

export const title = 'Failures';

const pageSize = 50;
const replayName = 'inboxd.lastReplay';
const noClass = '(no error)';  // parked behind another dead letter: never called
/** The filter of the address as the API takes it. A group without a class has an empty error. */
const filterOf = ({handler, error, type, message, key, since}) => {
  const out = {handler, error, type, message, key, since};
  if (error === noClass) out.error = [''];
  for (const name of Object.keys(out)) if (!out[name]) delete out[name];
  return out;
};

export async function load(parameters, {signal}) {
  const isGroup = Boolean(parameters.handler || parameters.error || parameters.since || parameters.key);
  const list = await get('/v1/dead/list', {...filterOf(parameters), before: parameters.before, limit: isGroup ? pageSize : 1}, {signal});
  return {list, isGroup, replay: await sinceReplay(signal)};
}

/** The dead letters since the last replay from this tab. */
async function sinceReplay(signal) {
  const replay = JSON.parse(sessionStorage.getItem(replayName) ?? 'null');
  if (!replay) return null;
  const {total} = await get('/v1/dead/list', {...replay.filter, since: replay.since, limit: 1}, {signal});
  return {...replay, total};
}

/** Of all groups, as of the load: later dead letters are left alone. */
function untilOf(groups) {
  const last = groups.map(({last_died_at}) => last_died_at).sort((one, two) => Date.parse(one) - Date.parse(two) || (one < two ? -1 : 1)).at(-1);
  return last && justAfter(last);
}

const asBody = (filter) => {
  const out = {...filter};
  for (const name of ['error', 'type']) if (typeof out[name] === 'string') out[name] = [out[name]];
  return out;
};

async function replayAll(filter, until) {
  const answer = await replayLetters({...asBody(filter), until});
  if (!answer) return;
  sessionStorage.setItem(replayName, JSON.stringify({filter: filter.handler ? {handler: filter.handler} : {}, since: until}));
  changed();
}

const discardAll = (filter, until) => discardLetters({...asBody(filter), until});

export function render({list, isGroup, replay}, parameters) {
  return h('div', {}, isGroup ? closeLink(route('failures'), 'All failures') : '', aboutReplay(replay),
           filters('failures', [
             {name: 'message', label: 'Text in the last error', value: parameters.message, isSearch: true, isWide: true},
             {name: 'type', label: 'Type', value: parameters.type, hint: 'OrderPlaced or order.*'},
             {name: 'key', label: 'Key', value: parameters.key},
             {name: 'since', label: 'Died since', value: parameters.since, hint: '2h or 2026-01-31T12:00:00Z'}],
             {handler: parameters.handler, error: parameters.error}),
           list.total === 0 ? nothing(parameters) : isGroup ? group(list, parameters) : groups(list, parameters));
}

function aboutReplay(replay) {
  if (!replay) return '';
  const forget = button('Forget', () => {
    sessionStorage.removeItem(replayName);
    changed();
  });
  const {handler} = replay.filter;
  const since = h('span', {}, 'Since your last replay', handler ? ` of ${visible(handler)}` : '', ', ');
  if (replay.total === 0) return h('p', {class: 'notice', role: 'status'}, since, 'nothing has failed for good. ', forget);
  return h('p', {class: 'notice', role: 'status'}, since,
           h('a', {href: route('failures', {...replay.filter, since: replay.since})},
             replay.total === 1 ? '1 dead letter' : `${number(replay.total)} dead letters`), '. ', forget);
}

function nothing(parameters) {
  if (parameters.message || parameters.type || parameters.key || parameters.since || parameters.handler) return empty('No dead letter matches.');
  return empty('No dead letters: every event was handled, or is still being tried.',
               h('a', {href: route('events', {state: 'retrying'})}, 'Events that wait for another try'));
}

const hours = (lastDay) => Array.from({length: 24}, (_, at) => lastDay[String(23 - at)] ?? 0);

function groups(list, parameters) {
  return h('div', {},
    h('p', {}, h('strong', {}, number(list.total)), list.total === 1 ? ' dead letter' : ' dead letters'),
    table({
      caption: 'Dead letters by handler and error class, the largest group first', rows: list.groups,
      href: ({handler, error_class}) => route('failures', {...parameters, handler, error: error_class || noClass}),
      columns: [
        {title: 'Error class', cell: (row) => h('span', {}, short(row.error_class) || noClass, noteOf(row))},
        {title: 'Handler', cell: ({handler}) => visible(handler)},
        {title: 'Dead', isNumber: true, cell: ({dead}) => number(dead)},
        {title: 'Last 24 hours', cell: ({last_day}) => sparkline(hours(last_day), {label: aboutDay(last_day)})},
        {title: 'First', cell: ({first_died_at}) => when(first_died_at)},
        {title: 'Last', cell: ({last_died_at}) => when(last_died_at)}],
      actions: (row) => {
        const filter = filterOf({...parameters, handler: row.handler, error: row.error_class || noClass});
        const until = justAfter(row.last_died_at);
        return [button('Replay…', () => replayAll(filter, until)), button('Discard…', () => discardAll(filter, until))];
      }}));
}

const noteOf = ({note, noted_by: by, noted_at: at}) =>
  note ? h('span', {class: 'note'}, h('br', {}), short(note, 200), h('span', {class: 'faint'}, ` ${visible(by)}, `, when(at))) : '';

const aboutDay = (lastDay) => {
  const counts = hours(lastDay);
  return `${number(counts.reduce((sum, one) => sum + one, 0))} in the last 24 hours, ${number(counts.at(-1))} in the last hour`;
};

const chosen = new Set();
let chosenIn = '';

function group(list, parameters) {
  const place = JSON.stringify(filterOf(parameters));
  if (place !== chosenIn) chosen.clear();
  chosenIn = place;
  const filter = filterOf(parameters);
  const until = untilOf(list.groups);
  const noted = list.groups.length === 1 && list.groups[0].error_class ? list.groups[0] : null;
  const some = h('span', {class: 'chosen buttons', keep: {}});  // not patched: `change` writes into it
  const change = () => some.replaceChildren(...(chosen.size === 0 ? [] : [
    `${number(chosen.size)} chosen: `,
    button('Replay…', () => changeChosen(replayLetters)), button('Discard…', () => changeChosen(discardLetters))]));
  change();
  return h('div', {},
    h('h2', {class: 'wraps'}, visible([parameters.error, parameters.handler].filter(Boolean).join(' · ')) || 'Dead letters'),
    noted?.note ? h('p', {class: 'notice'}, visible(noted.note), ' ', h('span', {class: 'faint'}, `${visible(noted.noted_by)}, `, when(noted.noted_at))) : '',
    h('p', {class: 'buttons'},
      h('strong', {}, `${number(list.total)} ${list.total === 1 ? 'dead letter' : 'dead letters'}`),
      button(list.total === 1 ? 'Replay…' : 'Replay all…', () => replayAll(filter, until)),
      button(list.total === 1 ? 'Discard…' : 'Discard all…', () => discardAll(filter, until)),
      noted ? button('Note…', () => noteLetters(noted)) : '', some,
      copyCommand(commandOf(['dead', 'list'], {...filter, error: filter.error === undefined ? null : filter.error}))),
    table({
      caption: 'Dead letters, newest first', rows: list.dead_letters,
      href: ({event}) => route('event', {id: event.event_id}),
      choice: {ids: chosen, idOf: ({dead_letter_id}) => dead_letter_id, nameOf: ({dead_letter_id}) => `dead letter ${dead_letter_id}`, change},
      columns: [
        {title: 'Event', cell: ({event}) => visible(`${event.topic}/${event.partition}/${event.offset}`)},
        {title: 'Died', cell: ({died_at}) => when(died_at)},
        {title: 'State', cell: (letter) => h('span', {}, stateBadge(letter.state), again(letter, parameters))},
        {title: 'Type', cell: ({event}) => short(event.event_type, 40) || '–'},
        {title: 'Key', cell: ({event}) => shortBytes(event.key, 40)},
        {title: 'Attempts', isNumber: true, cell: ({attempts}) => String(attempts)},
        ...(parameters.handler ? [] : [{title: 'Handler', cell: ({handler}) => visible(handler)}]),
        {title: 'Last error', cell: ({error_class, last_error}) =>
          h('span', {}, parameters.error ? '' : short(error_class, 40) + ' ', short(last_error, 160))}]}),
    nextPage('failures', parameters, list.next));
}

/** Stored before the replay after which it died. */
const again = ({event}, {since}) =>
  since && Date.parse(event.received_at) < Date.parse(since) ? h('span', {}, ' ', badge('again', 'warn')) : '';

async function changeChosen(work) {
  if (!await work({id: [...chosen].map(String)})) return;
  chosen.clear();
  changed();
}
