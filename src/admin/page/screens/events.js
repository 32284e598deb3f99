// Stored events: a search box that takes any id or key, filters, pages.
import {get} from '../api.js';
import {h} from '../dom.js';
import {bytes, number} from '../format.js';
import {empty, filters, nextPage, route, table, when} from '../list.js';
import {commandOf, short, shortBytes, visible} from '../values.js';
import {copyCommand} from '../content.js';

export const title = 'Events';

const states = ['due', 'leased', 'retrying', 'waiting', 'parked', 'done', 'dead', 'expired', 'skipped', 'discarded'];
const pageSize = 50;
const firstSearch = 20_000;
const place = /^.+\/\d+\/\d+$/;

const asked = ({topic, type, handler, state, since, until, before, search}) =>
  ({topic, type, handler, state, since, until, before, search, limit: pageSize});

/** The event with an id; null: none. Several: their summaries. */
async function findById(id, options) {
  try {
    const {event} = await get('/v1/events/show', {id}, options);
    return {one: event.event_id};
  } catch (error) {
    if (error.status !== 404) throw error;
    return {several: error.document?.events ?? []};
  }
}

function open(id) {
  location.replace(route('event', {id}));
  return {isElsewhere: true};
}

export async function load(parameters, {signal}) {
  const {handlers} = await get('/v1/handlers/list', {}, {signal});
  const text = parameters.q ?? '';
  if (place.test(text)) {
    const found = await findById(text, {signal});
    if (found.one) return open(text);
  }
  const filter = asked(parameters);
  // An exact key before an id: a search for a producer's id that no index knows reads all events.
  const list = await get('/v1/events/list', text ? {...filter, key: text} : filter, {signal});
  if (text && list.events.length === 0 && !parameters.before) {
    const found = await findById(text, {signal});
    if (found.one) return open(found.one);
    if (found.several.length > 0) return {handlers, list: {events: found.several, complete: true}, isById: true};
  }
  return {handlers, list};
}

export function render({handlers, list, isById, isElsewhere}, parameters) {
  if (isElsewhere) return h('p', {}, 'One event has this id.');
  return h('div', {},
    filters('events', [
      {name: 'q', label: 'Key, event id, producer’s id or TOPIC/PARTITION/OFFSET', value: parameters.q, isSearch: true, isWide: true},
      {name: 'handler', label: 'Handler', value: parameters.handler, options: [...new Set(handlers.map(({handler}) => handler))]},
      {name: 'state', label: 'State', value: parameters.state, options: states},
      {name: 'topic', label: 'Topic', value: parameters.topic, hint: 'orders or ord*'},
      {name: 'type', label: 'Type', value: parameters.type, hint: 'OrderPlaced or order.*'},
      {name: 'since', label: 'Since', value: parameters.since, hint: '2h or 2026-01-31T12:00:00Z'},
      {name: 'until', label: 'Until', value: parameters.until, hint: '30m or a time'}]),
    isById ? h('p', {}, 'Several events have this id.') : aboutKey(parameters, list),
    list.events.length === 0 ? nothing(parameters, list) : eventTable(list.events),
    aboutSearch(parameters, list),
    nextPage('events', parameters, list.next),
    h('p', {}, copyCommand(commandOf(['events', 'list'], {...asked(parameters), key: parameters.q, before: null}))));
}

function aboutKey({q}, list) {
  if (!q || list.events.length === 0) return '';
  return h('p', {}, `Events with the key ${short(q)}. `, h('a', {href: route('event', {id: q})}, 'Look for an event with this id'));
}

export const eventTable = (events, caption = 'Events, newest first') => table({
  caption, rows: events, href: (event) => route('event', {id: event.event_id}),
  columns: [
    {title: 'Place', cell: (event) => event.topic ? visible(`${event.topic}/${event.partition}/${event.offset}`) : event.event_id},
    {title: 'Received', cell: (event) => when(event.received_at)},
    {title: 'Type', cell: (event) => short(event.event_type ?? '', 60) || '–'},
    {title: 'Key', cell: (event) => shortBytes(event.key)},
    {title: 'Producer’s id', cell: (event) => short(event.source_id ?? '', 50)},
    {title: 'Size', isNumber: true, cell: (event) => event.payload_size === null ? 'tombstone' : bytes(event.payload_size ?? 0)}]});

function nothing(parameters, list) {
  const {q, before} = parameters;
  if (before) return empty('No older event.');
  if (q) return empty(list.complete === false ? `No event found so far has the key ${short(q)}, and none has it as its id.`
                                              : `No event has ${short(q)} as its key or id.`,
                      'It may be purged, or in ', h('a', {href: route('quarantine')}, 'quarantine'), '.');
  const isFiltered = ['topic', 'type', 'handler', 'state', 'since', 'until'].some((name) => parameters[name]);
  if (isFiltered) return empty(list.message ? visible(list.message) : 'No event matches.');
  return empty('No event is stored yet.', 'Send a record to a configured topic; ',
               h('a', {href: route('partitions')}, 'partitions'), ' show whether it is read, ',
               h('a', {href: route('quarantine')}, 'quarantine'), ' whether it was refused.');
}

/** How far a search went, and how it continues. */
function aboutSearch(parameters, list) {
  if (list.complete !== false || list.next) return '';
  const far = Number(parameters.search || firstSearch);
  const further = {...parameters, search: Math.min(far * 10, 1_000_000_000)};
  return h('p', {}, `Searched the newest ${number(list.looked_at)} events, back to `, when(list.back_to), '. ',
           h('a', {href: route('events', further)}, 'Search ten times as many'), ' · ',
           h('a', {href: route('events', {...parameters, until: list.next_until, before: ''})}, 'Search on from there'));
}
