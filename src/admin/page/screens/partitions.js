// Partitions: positions, lag, halts; accept-gap, accept-recreated, seek.
import {ask} from '../ask.js';
import {confirmChange} from '../confirm.js';
import {copyCommand, longValue} from '../content.js';
import {get} from '../api.js';
import {h} from '../dom.js';
import {number} from '../format.js';
import {badge, button, empty, filters, table, when} from '../list.js';
import {commandOf, visible} from '../values.js';

export const title = 'Partitions';
export const refreshMs = 5_000;

export const load = ({topic, halted}, {signal}) =>
  get('/v1/partitions/list', {topic, halted: Boolean(halted)}, {signal});

export function render({partitions}, parameters) {
  return h('div', {},
    filters('partitions', [{name: 'topic', label: 'Topic', value: parameters.topic, hint: 'orders or ord*', isSearch: true},
                           {name: 'halted', label: 'Halted', value: parameters.halted, options: ['only']}]),
    partitions.length === 0 ? nothing(parameters) : table({
      caption: 'Partitions', rows: partitions,
      columns: [
        {title: 'Partition', cell: (row) => h('span', {}, visible(`${row.topic}/${row.partition}`), row.source === 'kafka' || !row.source ? '' : h('span', {class: 'faint'}, ' ' + visible(row.source)))},
        {title: 'State', cell: stateOf},
        {title: 'Position', isNumber: true, cell: (row) => orDash(row.position)},
        {title: 'High watermark', isNumber: true, cell: (row) => orDash(row.high_watermark)},
        {title: 'Lag', isNumber: true, cell: (row) => row.lag === null ? 'unknown' : number(row.lag)},
        {title: 'Accepted gaps', cell: (row) => row.accepted_gaps.slice(0, 20).map(({from, to}) => `${from}–${to - 1}`).join(', ') || '–'}],
      actions: actionsOf}),
    h('p', {}, copyCommand(commandOf(['partitions', 'list'], {topic: parameters.topic, halted: Boolean(parameters.halted)}))));
}

const orDash = (value) => value === null ? '–' : number(value);

function nothing({topic, halted}) {
  if (topic || halted) return empty('No partition matches.');
  return empty('No partition is known yet.', 'Name a topic under topics: in the configuration. A running daemon finds its partitions within seconds; ',
               h('code', {}, 'inboxd check'), ' says what keeps it from that.');
}

function stateOf(row) {
  if (row.halted_reason !== null) {
    return h('div', {}, badge('halted', 'bad'), ' ', row.halted_at ? when(row.halted_at) : '', h('div', {}, longValue(row.halted_reason, 400)),
             row.what_to_do ? h('div', {class: 'faint'}, visible(row.what_to_do)) : '');
  }
  if (row.transaction_open_since !== null) return h('span', {}, badge('held', 'warn'), ' by an open transaction since ', when(row.transaction_open_since));
  if (row.position === null) return badge('not started');
  return row.is_newest ? badge('reading', 'good') : badge('former incarnation');
}

const offsets = (count) => count === 1 ? '1 offset' : `${number(count)} offsets`;
const about = (...parts) => h('p', {}, ...parts);

const acceptGap = ({topic, partition}) => confirmChange({
  title: 'Accept a gap', path: '/v1/partitions/accept-gap', arguments: {topic, partition}, verb: 'Skip the lost offsets',
  describe: ({accepted}) => h('ul', {}, ...accepted.map((one) =>
    h('li', {}, `${visible(one.topic)}/${one.partition}: ${offsets(one.lost)}, ${number(one.from)} to ${number(one.to - 1)}, are lost and skipped; reading continues at ${number(one.position)}.`)))});

const acceptRecreated = ({topic, partition}) => confirmChange({
  title: 'Accept a topic that was created again', path: '/v1/partitions/accept-recreated', arguments: {topic, partition}, verb: 'Start at its beginning',
  describe: ({accepted}) => h('ul', {}, ...accepted.map((one) =>
    h('li', {}, `${visible(one.topic)}/${one.partition} is read from ${number(one.position)}, as ${visible(one.new_incarnation)}.`)))});

async function seek({topic, partition}) {
  const given = await ask({
    title: `Read ${visible(topic)}/${partition} from another offset`,
    text: 'Known events are absorbed. Events that the ledger has forgotten are stored and delivered as new. The dry run shows how many.',
    fields: [{name: 'to', label: 'Offset, or the time of the first event received', hint: '81723 or 2026-01-31T12:00:00Z', isRequired: true}]});
  return given && confirmChange({
    title: 'Seek', path: '/v1/partitions/seek', arguments: {topic, partition, to: given.to}, verb: 'Read from there',
    describe: (answer) => h('div', {},
      about(`From ${number(answer.position)} to ${number(answer.to)}.`),
      answer.read_again > 0 ? about(`${offsets(answer.read_again)} are read again: ${number(answer.known)} are known and absorbed, at most ${number(answer.new_at_most)} are stored and delivered as new.`) : '',
      answer.passed_over > 0 ? h('p', {class: 'warning'}, `${offsets(answer.passed_over)} are passed over and never read.`) : '')});
}

function actionsOf(row) {
  const of = (label, work) => button(label, () => work(row));
  if (row.new_incarnation !== null) return [of('Accept recreated…', acceptRecreated)];
  if (row.gap !== null) return [of('Accept gap…', acceptGap)];
  return row.position === null || row.halted_reason !== null || !row.is_newest ? [] : [of('Seek…', seek)];
}
