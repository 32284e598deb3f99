// Keys of sequential handlers with events that wait for a failed event, or parked by a dead letter.
import {discardLetters, releaseKey, replayLetters, retryEvent, skipEvent} from '../actions.js';
import {copyCommand, longValue} from '../content.js';
import {get} from '../api.js';
import {h} from '../dom.js';
import {number} from '../format.js';
import {button, closeLink, empty, facts, filters, route, stateBadge, table, when} from '../list.js';
import {commandOf, keyParameters, short, shortBytes, visible} from '../values.js';
import {eventTable} from './events.js';

export const title = 'Blocked keys';
export const refreshMs = 5_000;

const shownKey = 256;  // bytes of a key that a lane keeps
export async function load(parameters, {signal}) {
  const {handler, key} = parameters;
  const hex = parameters['key-hex'];
  const filter = {handler, key, 'key-hex': hex};
  const {lanes} = await get('/v1/lanes/list', {...filter, limit: 200}, {signal});
  if (!handler || (!key && !hex) || lanes.length !== 1) return {lanes};
  const [lane] = lanes;
  const state = lane.state === 'parked' ? 'parked' : 'waiting';
  const waiting = lane.waiting > 0 ? await get('/v1/events/list', {...filter, state, limit: 100}, {signal}) : {events: []};
  return {lanes, lane, waiting};
}

export function render({lanes, lane, waiting}, parameters) {
  if (lane) return oneKey(lane, waiting);
  const search = filters('keys', [{name: 'key', label: 'Key', value: parameters.key, isSearch: true},
                                  {name: 'handler', label: 'Handler', value: parameters.handler}]);
  if (lanes.length === 0) {
    const isFiltered = parameters.key || parameters.handler || parameters['key-hex'];
    return h('div', {}, search, isFiltered ? empty('This key is neither blocked nor parked.') :
             empty('No key is blocked: no sequential handler waits for a failed event.', h('a', {href: route('failures')}, 'Failures')));
  }
  return h('div', {}, search, table({
    caption: 'Blocked and parked keys, keys with most events first', rows: lanes,
    href: ({handler, key}) => route('keys', {handler, ...keyParameters(key)}),
    columns: [
      {title: 'Key', cell: ({key}) => shortBytes(key)},
      {title: 'Handler', cell: ({handler}) => visible(handler)},
      {title: 'State', cell: ({state}) => stateBadge(state)},
      {title: 'Wait', isNumber: true, cell: (row) => number(row.waiting)},
      {title: 'Attempts', isNumber: true, cell: ({attempts}) => String(attempts)},
      {title: 'Next try', cell: nextTry},
      {title: 'Last error', cell: ({last_error}) => short(last_error ?? '', 160) || '–'}],
    actions: actionsOf}),
    lanes.length === 200 ? h('p', {class: 'faint'}, 'The 200 keys with most events. Filter for others.') : '');
}

const nextTry = ({state, due_at}) => state === 'parked' ? 'never: parked' : due_at ? when(due_at) : 'runs now';

function actionsOf({handler, key, state, head_event_id: id}) {
  if (id === null) return [];
  if (state === 'blocked') {
    return [button('Retry now…', () => retryEvent(id, handler)), button('Skip…', () => skipEvent(id, handler))];
  }
  const head = async () => {
    const {dead_letters} = await get('/v1/dead/show', {id}, {});
    return {id: dead_letters.filter((letter) => letter.handler === handler).map((letter) => String(letter.dead_letter_id))};
  };
  return [button('Replay…', async () => replayLetters(await head())), button('Release…', () => releaseKey(handler, key)),
          button('Discard first…', async () => discardLetters(await head()))];
}

function oneKey(lane, waiting) {
  const next = waiting.events.at(-1);
  const isAll = waiting.events.length >= lane.waiting;
  return h('div', {},
    closeLink(route('keys'), 'Blocked keys'),
    h('h2', {class: 'wraps'}, 'Key ', shortBytes(lane.key, 200)),
    h('p', {class: 'buttons'}, ...actionsOf(lane), copyCommand(commandOf(['lanes', 'list'], {handler: lane.handler, ...keyParameters(lane.key)}))),
    facts([
      ['Handler', h('a', {href: route('handlers', {handler: lane.handler, shard: lane.shard})}, visible(lane.handler))],
      ['Shard', lane.shard], ['State', stateBadge(lane.state)],
      ['Held by', lane.head_event_id && h('a', {href: route('event', {id: lane.head_event_id})}, lane.head_event_id)],
      ['Attempts', String(lane.attempts)], ['Next try', nextTry(lane)],
      ['Last error', lane.last_error && longValue(lane.last_error, 2_000)],
      ['Wait behind it', number(lane.waiting)],
      [lane.state === 'parked' ? 'Runs first if released' : 'Runs if skipped',
       next && isAll ? h('a', {href: route('event', {id: next.event_id})}, visible(`${next.topic}/${next.partition}/${next.offset}`)) :
         lane.waiting === 0 ? 'nothing: no event waits' : null]]),
    lane.waiting === 0 ? '' : h('section', {}, h('h3', {}, 'Events that wait'),
      waiting.events.length > 0 ? eventTable(waiting.events.toReversed(), 'Events that wait, in their order') : h('p', {class: 'faint'}, whyNone(lane)),
      waiting.events.length > 0 && !isAll ? h('p', {class: 'faint'}, `${number(waiting.events.length)} of ${number(lane.waiting)}, of the newest events.`) : ''));
}

const isCut = (key) => keyParameters(key)?.['key-hex']?.length >= 2 * shownKey || new TextEncoder().encode(key ?? '').length >= shownKey;

const whyNone = ({key}) => isCut(key) ? 'Not listed: the key is longer than the list keeps.' :
  'Not listed: they are not among the newest 20,000 events, or the handler orders by another value than the record’s key (order_by).';
