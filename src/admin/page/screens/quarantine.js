// Records that could not become events: by topic and reason, one reason's records, one record.
import {copyCommand, contentView, headersView, longValue} from '../content.js';
import {discardRecords, retryRecords} from '../actions.js';
import {get} from '../api.js';
import {h} from '../dom.js';
import {bytes, number} from '../format.js';
import {button, closeLink, empty, facts, filters, nextPage, route, table, when} from '../list.js';
import {commandOf, justAfter, short, shortBytes, visible} from '../values.js';

export const title = 'Quarantine';

const pageSize = 50;
const about = {
  no_id: 'No event id was found by the topic’s rules (envelope, on_missing_id).',
  bad_id: 'The id was found and is not usable.',
  too_large: 'Larger than topics[].payload_limit.',
  undecodable: 'The bytes are not what the topic’s envelope or format expects.',
  conflict: 'A stored event has the same id and another payload.',
  poison: 'PostgreSQL refused the record.',
};

const filterOf = ({topic, reason, since}) => ({topic, reason, since});
const asBody = ({topic, reason, since}) =>
  ({...(topic ? {topic: [topic]} : {}), ...(reason ? {reason: [reason]} : {}), ...(since ? {since} : {})});

export async function load(parameters, {signal}) {
  if (parameters.record) {
    try {
      return {one: (await get('/v1/quarantine/show', {id: parameters.record, shard: parameters.shard}, {signal})).records[0]};
    } catch (error) {
      if (error.status !== 404) throw error;
      return {isGone: true};
    }
  }
  const isGroup = Boolean(parameters.topic && parameters.reason);
  return {isGroup, list: await get('/v1/quarantine/list',
                                   {...filterOf(parameters), before: parameters.before, groups: true, limit: isGroup ? pageSize : 1}, {signal})};
}

export function render({list, isGroup, one, isGone}, parameters) {
  if (isGone) return h('div', {}, closeLink(route('quarantine'), 'Quarantine'), empty('The record is no longer in quarantine: it became an event, or was discarded.'));
  if (one) return record(one);
  return h('div', {}, isGroup ? closeLink(route('quarantine', {since: parameters.since}), 'Quarantine') : '',
    filters('quarantine', [{name: 'topic', label: 'Topic', value: parameters.topic, hint: 'orders or ord*', isSearch: true},
                           {name: 'reason', label: 'Reason', value: parameters.reason, options: Object.keys(about)},
                           {name: 'since', label: 'Since', value: parameters.since, hint: '2h or 2026-01-31T12:00:00Z'}]),
    list.groups.length === 0 ? nothing(parameters) : isGroup ? group(list, parameters) : groups(list, parameters));
}

function nothing({topic, reason, since}) {
  if (topic || reason || since) return empty('No record in quarantine matches.');
  return empty('Nothing is in quarantine: every record became an event.', 'To see how a record would be read: ', h('code', {}, 'inboxd explain --topic TOPIC'));
}

const work = (change, selection) => () => change(selection);

const changesOf = (row, {since}) => {
  const selection = {...asBody({topic: row.topic, reason: row.reason, since}), until: justAfter(row.last_received_at)};
  return [button('Try again…', work(retryRecords, selection)), button('Discard…', work(discardRecords, selection))];
};

function groups({groups: rows}, parameters) {
  return table({
    caption: 'Quarantined records by topic and reason, most records first', rows,
    href: ({topic, reason}) => route('quarantine', {topic, reason, since: parameters.since}),
    columns: [
      {title: 'Topic', cell: ({topic}) => visible(topic)},
      {title: 'Reason', cell: ({reason}) => h('span', {title: about[reason] ?? ''}, visible(reason))},
      {title: 'Records', isNumber: true, cell: ({records}) => number(records)},
      {title: 'Rule that failed (newest record)', cell: ({detail}) => short(detail, 200)},
      {title: 'First', cell: (row) => when(row.first_received_at)},
      {title: 'Last', cell: (row) => when(row.last_received_at)}],
    actions: (row) => changesOf(row, parameters)});
}

function group(list, parameters) {
  const [row] = list.groups;
  return h('div', {},
    h('h2', {class: 'wraps'}, visible(`${row.topic}: ${row.reason}`)),
    h('p', {}, about[row.reason] ?? ''),
    h('p', {class: 'buttons'}, h('strong', {}, `${number(row.records)} ${row.records === 1 ? 'record' : 'records'}`), ...changesOf(row, parameters),
      copyCommand(commandOf(['quarantine', 'list'], filterOf(parameters)))),
    table({
      caption: 'Records, newest first', rows: list.records, href: (one) => route('quarantine', {record: one.quarantine_id, shard: one.shard}),
      columns: [
        {title: 'Place', cell: (one) => visible(`${one.topic}/${one.partition}/${one.offset}`)},
        {title: 'Received', cell: (one) => when(one.received_at)},
        {title: 'Key', cell: (one) => shortBytes(one.key, 40)},
        {title: 'Size', isNumber: true, cell: (one) => one.payload_size === null ? 'tombstone' : bytes(one.payload_size)},
        {title: 'Rule that failed', cell: (one) => short(one.detail, 200)}]}),
    nextPage('quarantine', parameters, list.next));
}

function record(one) {
  const id = String(one.quarantine_id);
  return h('div', {},
    closeLink(route('quarantine', {topic: one.topic, reason: one.reason}), visible(`${one.topic}: ${one.reason}`)),
    h('h2', {class: 'wraps'}, visible(`${one.topic}/${one.partition}/${one.offset}`)),
    h('p', {class: 'buttons'}, button('Try again…', work(retryRecords, {id: [id]})), button('Discard…', work(discardRecords, {id: [id]})),
      copyCommand(commandOf(['explain'], {quarantine: id}))),
    facts([
      ['Reason', `${one.reason}. ${about[one.reason] ?? ''}`],
      ['Rule that failed', longValue(one.detail, 2_000)],
      ['Event id', one.event_id && h('a', {href: route('event', {id: one.event_id})}, one.event_id)],
      ['Key', one.key === null ? 'none' : longValue(one.key)],
      ['Written to Kafka', one.kafka_timestamp && when(one.kafka_timestamp)],
      ['Received', when(one.received_at)]]),
    contentView('Body', one.payload, one.payload_size),
    h('section', {}, h('h3', {}, 'Headers'), headersView(one.headers)));
}
