// Is anything wrong? Does it keep up? What changed?
import {get} from '../api.js';
import {h} from '../dom.js';
import {ago, number, time} from '../format.js';
import {crashesOf, sentenceOf, showStatus, toneOf} from '../light.js';
import {copyCommand, remedyButtons, remedyText} from '../remedies.js';
import {changes} from '../overview/changes.js';
import {daemons} from '../overview/daemons.js';
import {flow} from '../overview/flow.js';
import {handlers} from '../overview/handlers.js';
import {visible} from '../values.js';

export const title = 'Overview';
export const refreshMs = 3_000;

/** Without the history, its figures are unknown. */
const no_history = {steps: 0, step_s: 10, topics: {}, handlers: {}, marks: [], crashes: [], end: null};

export async function load({span}, {signal}) {
  const [status, history] = await Promise.all([
    get('/v1/status', {}, {signal}),
    get('/v1/history', {span: span === '24h' ? '24h' : '1h'}, {signal}).catch((error) => {
      if (error.status === 404 || error.status === 503) return no_history;
      throw error;
    })]);
  showStatus(status);
  return {status, history};
}

export function render({status, history}, {span}) {
  return [verdict(status), aboutDatabases(status), findings(status), isEmpty(status) ? firstSteps(status) : null, flow(status, history),
          handlers(status, history), daemons(status), status.databases ? null : changes(history, span === '24h' ? '24h' : '1h')];
}

/** With --shards. A daemon's figures and changes are on its own page. */
const aboutDatabases = ({databases}) => databases && h('p', {class: 'faint'}, `${databases.length} databases as one system. Rates, changes and the configuration are on the page of each: `,
  h('code', {}, 'inboxd --config FILE ui'), ', with ', databases.slice(0, 3).join(', '), databases.length > 3 ? ', …' : '.');

const earliest = (list) => list.map(({since}) => since).filter(Boolean).sort()[0];

function verdict(status) {
  const problems = status.findings.filter(({severity}) => severity === 'problem');
  const since = earliest(problems.length > 0 ? problems : status.findings) ?? null;
  return h('p', {class: 'verdict ' + toneOf(status), role: 'status'}, h('strong', {}, sentenceOf(status)),
           since ? h('span', {class: 'since'}, 'since ', time(since), `, ${ago(since)}`) : null);
}

function findings(status) {
  const crashed = crashesOf(status).map(({shard, host, process_id, last_seen_at, trouble}) => ({
    shard, severity: 'remark', kind: 'crash', since: last_seen_at, remedy: null,
    message: `${host} (process ${process_id}) went away without a word` + (trouble ? '\n' + trouble : '')}));
  const all = [...status.findings.flatMap((finding) => finding.kind === 'partition_halted' ? halted(status, finding) : [finding]), ...crashed];
  return all.length === 0 ? null : h('section', {class: 'cards', 'aria-label': 'Findings'}, withKeys(all).map(card));
}

/** A card keeps its place while its numbers change; equal cards are told apart by their order. */
function withKeys(all) {
  const counts = new Map();
  return all.map((finding) => {
    const key = finding.kind + (finding.shard ?? '') + (finding.key ?? finding.message.split('\n')[0].replace(/\d+/g, '#'));
    counts.set(key, (counts.get(key) ?? 0) + 1);
    return {...finding, key: key + ' ' + counts.get(key)};
  });
}

/** Each halted partition with its reason; beyond some, their number alone. */
function halted({topics}, finding) {
  const each = topics.filter(({halted_reason: reason, shard}) => reason !== null && shard === finding.shard);
  if (each.length === 0 || each.length > 5) return [finding];
  return each.map(({topic, partition, halted_reason: reason, halted_at: since, what_to_do: remedy}) =>
    ({...finding, message: `${visible(topic)}/${partition} is halted\n${visible(reason)}`, since, remedy: remedy ?? finding.remedy, key: `${topic}/${partition}`}));
}

/** The first line says what; the rest is an error, verbatim. */
function card({severity, message, remedy, since, key, shard}) {
  const [what, ...more] = message.split('\n');
  return h('article', {class: 'card finding ' + (severity === 'problem' ? 'bad' : 'warn'), 'data-key': key},
    h('h2', {}, h('span', {class: 'unseen'}, severity + ': '), shard === undefined ? '' : `Shard ${shard}: `, what),
    more.length > 0 ? h('pre', {}, more.join('\n')) : null,
    h('p', {class: 'faint'}, since ? ['Since ', time(since), `, ${ago(since)}. `] : null, remedy ? [remedyText(capital(remedy)), '.'] : null),
    remedy ? h('div', {class: 'buttons'}, remedyButtons(remedy)) : null);
}

const capital = (text) => text.startsWith('inboxd ') ? text : text[0].toUpperCase() + text.slice(1);

const isEmpty = ({topics, quarantined}) => quarantined === 0 && topics.every(({position}) => !position);

function firstSteps({topics, handlers: known}) {
  const topic = topics.find(({source}) => source === 'kafka')?.topic ?? topics[0]?.topic;
  const send = `kafka-console-producer.sh --bootstrap-server BROKERS --topic ${topic ?? 'TOPIC'}`;
  return h('section', {class: 'empty steps'}, h('h2', {}, 'Nothing has arrived yet'),
    topic ? h('p', {}, 'Send the first record to topic ', h('code', {}, topic), ', such as ', h('code', {}, '{"orderId": "A-1"}'), ':') :
            h('p', {}, 'No partition is known yet. If this stays, ', h('code', {}, 'inboxd check'), ' names the reason.'),
    topic ? h('p', {}, h('code', {}, send), ' ', copyCommand(send)) : null,
    h('p', {class: 'faint'}, `Within a second it is an event here, and ${known.length === 1 ? known[0].handler + ' gets' : number(known.length) + ' handlers get'} it.`));
}
