// Handlers: pending events, windows, settings; pause, resume, run, back-fill.
import {ask} from '../ask.js';
import {retryWaiting} from '../actions.js';
import {confirmChange} from '../confirm.js';
import {copyCommand, longValue, settingsTable} from '../content.js';
import {get} from '../api.js';
import {h} from '../dom.js';
import {duration, number, rate} from '../format.js';
import {badge, button, closeLink, empty, facts, route, table, when} from '../list.js';
import {commandOf, short, visible} from '../values.js';

export const title = 'Handlers';
export const refreshMs = 5_000;

export async function load({handler, shard}, {signal}) {
  const {handlers} = await get('/v1/handlers/list', {}, {signal});
  if (!handler) return {handlers};
  const one = handlers.find((each) => each.handler === handler && (!shard || String(each.shard) === shard)) ?? null;
  if (one?.shard !== undefined) return {handlers, one, settings: []};  // of several databases, without their daemons
  const here = await get('/v1/instance/show', {}, {signal});
  return {handlers, one, here: here.handlers?.find((each) => each.handler === handler), settings: await settingsOf(handler, signal)};
}

/** The handler's settings in the answering daemon; none without the right to read the configuration. */
async function settingsOf(handler, signal) {
  let settings;
  try {
    ({settings} = await get('/v1/config/show', {}, {signal}));
  } catch (error) {
    if (error.status === 401 || error.status === 403) return null;
    throw error;
  }
  const name = settings.find(({key, value}) => /^handlers\[\d+\]\.name$/.test(key) && value === handler);
  if (!name) return [];
  const prefix = name.key.slice(0, -'name'.length);
  return settings.filter(({key}) => key.startsWith(prefix) && key !== name.key).map((one) => ({...one, key: one.key.slice(prefix.length)}));
}

export function render({handlers, one, here, settings}, {handler}) {
  if (one === null) return h('div', {}, closeLink(route('handlers'), 'Handlers'), empty(`No handler is named ${visible(handler)}.`));
  if (one) return detail(one, here, settings);
  if (handlers.length === 0) return empty('The database knows no handler yet.', 'Name one under handlers: in the configuration; a running daemon registers it.');
  return table({
    caption: 'Handlers', rows: handlers, href: ({handler, shard}) => route('handlers', {handler, shard}),
    columns: [
      {title: 'Handler', cell: (row) => visible(row.handler)},
      {title: 'State', cell: stateOf},
      {title: 'Mode', cell: ({mode}) => mode},
      ...['due', 'leased', 'retrying', 'waiting', 'dead'].map((name) =>
        ({title: name === 'leased' ? 'In memory' : name[0].toUpperCase() + name.slice(1), isNumber: true, cell: (row) => count(row, name)})),
      {title: 'Oldest', isNumber: true, cell: (row) => row.oldest_due_age_seconds === null ? '–' : duration(row.oldest_due_age_seconds)},
      {title: 'Next', cell: nextOf}],
    actions: (row) => changesOf(row).slice(0, 2)});
}

const count = (row, name) => (row['at_least_' + name] ? '≥ ' : '') + number(row[name]);

function stateOf({paused_reason, retired_at}) {
  if (retired_at) return badge('retired');
  return paused_reason === null ? badge('running', 'good') : h('span', {}, badge('paused', 'warn'), ' ', short(paused_reason, 80));
}

const nextOf = ({window, backfill, next_deliver_at}) =>
  backfill > 0 ? `back-fill, ${number(backfill)} offsets to go` : window?.next_close ? h('span', {}, 'closes ', when(window.next_close)) :
    next_deliver_at ? h('span', {}, 'from ', when(next_deliver_at)) : '–';

const about = (text) => h('p', {}, text);

async function pause(handler) {
  const given = await ask({title: `Pause ${visible(handler)}`, text: 'In all instances, across restarts. Its events wait; ingest goes on.',
                           fields: [{name: 'reason', label: 'Reason, shown by status and in the audit', isRequired: true}]});
  return given && confirmChange({title: 'Pause', path: '/v1/handlers/pause', arguments: {handler, reason: given.reason}, verb: 'Pause',
    describe: ({was_paused, paused_reason}) => about(was_paused ? `It is paused already: ${visible(paused_reason)}` : `${visible(handler)} is paused in all instances: ${visible(paused_reason)}`)});
}

const resume = (handler) => confirmChange({title: 'Resume', path: '/v1/handlers/resume', arguments: {handler}, verb: 'Resume',
  describe: ({paused_reason}) => about(paused_reason === null ? 'It is not paused.' : `${visible(handler)} runs again. It was paused: ${visible(paused_reason)}`)});

const run = (handler) => confirmChange({title: 'Close the window now', path: '/v1/handlers/run', arguments: {handler}, verb: 'Close the window',
  describe: ({events, is_running}) => about(`${number(events)} events wait for the close and are handled now.${is_running ? ' The last window comes to its end first.' : ''} The next close stays as planned.`)});

async function backfill(handler) {
  const given = await ask({
    title: `Back-fill ${visible(handler)}`, text: 'Delivers stored events of its subscription, below live events. The daemons do the work, also when this page is closed.',
    fields: [{name: 'from', label: 'Received from', hint: '7d or 2026-01-31T00:00:00Z; empty: the oldest'},
             {name: 'to', label: 'Received before', hint: 'empty: now'},
             {name: 'topic', label: 'Topic', hint: 'orders or ord*'}, {name: 'type', label: 'Type', hint: 'OrderPlaced or order.*'},
             {name: 'rate', label: 'At most per second', hint: 'empty: no limit'},
             {name: 'again', label: 'also events that it has done, skipped, expired or given up', isFlag: true}]});
  if (!given) return null;
  const {topic, type, again, ...rest} = given;
  const change = {handler, ...Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== '')),
                  ...(topic ? {topic: [topic]} : {}), ...(type ? {type: [type]} : {}), ...(again ? {again} : {})};
  return confirmChange({title: 'Back-fill', path: '/v1/handlers/backfill', arguments: change, verb: 'Start the back-fill',
    describe: ({offsets, configured_by}) => h('div', {}, about(`It passes ${number(offsets)} stored offsets${again ? ', and repeats events that are done' : ''}.`),
      configured_by.length === 0 ? h('p', {class: 'warning'}, 'No running daemon configures the handler: nothing happens until one does.') : '')});
}

const cancelBackfill = (handler) => confirmChange({title: 'End the back-fill', path: '/v1/handlers/backfill', arguments: {handler, cancel: true}, verb: 'End it',
  describe: ({offsets, left}) => about(`${number(offsets - left)} of ${number(offsets)} offsets are passed. Events that are pending already stay.`)});

function changesOf(row) {
  const of = (label, work) => button(label, () => work(row.handler));
  if (row.retired_at) return [];
  const out = [row.paused_reason === null ? of('Pause…', pause) : of('Resume…', resume)];
  if (row.mode === 'batch') out.push(of('Run now…', run));
  if (row.retrying > 0) out.push(of('Retry waiting…', retryWaiting));
  out.push(row.backfill > 0 ? of('End back-fill…', cancelBackfill) : of('Back-fill…', backfill));
  return out;
}

let largest = {handler: '', offsets: 0};

/** The part that is done since this page first saw the back-fill. */
function backfillOf({handler, backfill}) {
  if (backfill === 0) return null;
  if (largest.handler !== handler || largest.offsets < backfill) largest = {handler, offsets: backfill};
  const bar = h('progress', {max: String(largest.offsets), value: String(largest.offsets - backfill), 'aria-label': 'back-fill since this page was opened'});
  return h('span', {}, bar, ` ${number(backfill)} offsets to go`);
}

const link = (row, state) => h('a', {href: route('events', {handler: row.handler, state})}, count(row, state));

function detail(row, here, settings) {
  const {handler, window} = row;
  return h('div', {},
    closeLink(route('handlers'), 'Handlers'), h('h2', {class: 'wraps'}, visible(handler), ' ', stateOf({...row, paused_reason: row.paused_reason && ''})),
    h('p', {class: 'buttons'}, ...changesOf(row), copyCommand(commandOf(['status']))),
    facts([
      ['Paused', row.paused_reason !== null && longValue(row.paused_reason)],
      ['Shard', row.shard], ['Mode', row.mode], ['Topics', row.topics.length ? visible(row.topics.join(', ')) : 'all'],
      ['Types', row.types.length ? visible(row.types.join(', ')) : 'all'], ['Started from', visible(row.started_from)],
      ['Retired', row.retired_at && when(row.retired_at)],
      ['Due', link(row, 'due')], ['In memory', link(row, 'leased')], ['Retrying', link(row, 'retrying')], ['Waiting', link(row, 'waiting')],
      ['Dead', h('a', {href: route('failures', {handler})}, count(row, 'dead'))],
      ['Blocked keys', row.mode === 'sequential' && h('a', {href: route('keys', {handler})}, 'show')],
      ['Calls', row.running_calls === null ? null : `${number(row.running_calls)} of ${number(row.concurrency)} run`],
      ['Oldest due', row.oldest_due_age_seconds === null ? null : duration(row.oldest_due_age_seconds)],
      ['Back-fill', backfillOf(row)]]),
    window ? h('section', {}, h('h3', {}, 'Window'), facts([
      ['Next close', window.next_close ? when(window.next_close) : 'no instance has run the handler yet'],
      ['Postponed', window.postponed > 0 && `${window.postponed} closes with too few events`],
      ['Last close', window.closed_at && when(window.closed_at)], ['Running', window.is_running ? 'yes' : null],
      ['Events', number(window.events)], ['Retrying', number(window.retrying)], ['Dead', number(window.dead)],
      ['Calls took', window.seconds === null ? null : duration(window.seconds)]])) : '',
    here ? h('section', {}, h('h3', {}, 'In this daemon'), facts([
      ['In flight', number(here.in_flight)], ['Queued', number(here.queued)], ['Rate', rate(here.per_second)],
      ['Abandoned calls', here.abandoned_calls > 0 && number(here.abandoned_calls)],
      ['Past their deadline', here.deadlines_passed > 0 && number(here.deadlines_passed)]])) : '',
    row.shard === undefined ? settingsOrReason(settings) : '');
}

function settingsOrReason(settings) {
  if (settings === null) return h('p', {class: 'faint'}, 'Settings need a token.');
  if (settings.length === 0) return h('p', {class: 'faint'}, 'The daemon that serves this page does not configure the handler.');
  return h('section', {}, h('h3', {}, 'Settings: retries, fuse, limits'), settingsTable(settings));
}
