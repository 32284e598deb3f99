// Topics → inbox → handlers, with rates and lags.
import {sparkline} from '../chart.js';
import {h} from '../dom.js';
import {catchUp, last, recent, sum} from '../figures.js';
import {duration, number, rate} from '../format.js';
import {isLimited} from '../table.js';

export function flow(status, history) {
  return h('section', {class: 'flow', 'aria-label': 'Flow'}, topics(status, history), arrow(), inbox(status, history), arrow(),
           outcomes(status, history));
}

const arrow = () => h('span', {class: 'arrow', 'aria-hidden': 'true'}, '→');

const total = (values) => values.some((value) => value === null) ? null : values.reduce((all, value) => all + value, 0);

export function caught(seconds) {
  if (seconds === null) return '–';
  return seconds === 0 ? 'keeps up' : seconds === Infinity ? h('span', {class: 'text-warn'}, 'not shrinking') : duration(seconds) + ' to catch up';
}

function topics(status, history) {
  const names = [...new Set(status.topics.filter(({is_newest}) => is_newest).map(({topic}) => topic))];
  return h('div', {class: 'stage'}, h('h2', {}, 'Topics'), h('ul', {}, names.map((name) => {
    const partitions = status.topics.filter(({topic, is_newest}) => topic === name && is_newest);
    const series = history.topics[name] ?? {};
    const halted = partitions.filter(({halted_reason}) => halted_reason).length;
    const lag = partitions[0].source === 'kafka' ? total(partitions.map((each) => each.lag)) : 0;
    const seconds = last(series.lag_s);
    return h('li', {'data-key': name}, h('span', {class: 'name'}, name),
      sparkline(series.in_per_s, {label: name + ', records read', unit: '/s'}),
      h('span', {class: 'figure'}, rate(recent(series.in_per_s, history.step_s))),
      h('span', {class: 'below'}, halted > 0 ? h('span', {class: 'text-bad'}, `${halted} halted · `) : null,
        lag === null ? 'lag unknown' : lag === 0 ? 'no lag' : [`lag ${number(lag)}`, seconds ? ` · ${duration(seconds)}` : null, ' · ', caught(catchUp(series.lag, history.step_s, recent(series.in_per_s, history.step_s)))]));
  })));
}

const count = (row, name) => (isLimited(row, name) ? '≥ ' : '') + number(row[name]);

function inbox(status, history) {
  const stored = sum(Object.values(history.topics).map(({in_per_s}) => in_per_s));
  const pending = (name) => ({[name]: status.handlers.reduce((all, each) => all + each[name], 0),
                              ['at_least_' + name]: status.handlers.some((each) => isLimited(each, name))});
  const line = (word, value, href) => [h('dt', {}, word), h('dd', {}, href ? h('a', {href}, value) : value)];
  return h('div', {class: 'stage'}, h('h2', {}, 'Inbox'),
    h('div', {class: 'stored'}, sparkline(stored, {label: 'records read', unit: '/s'}), h('span', {class: 'figure'}, rate(recent(stored, history.step_s)))),
    h('dl', {class: 'counts'}, ['due', 'leased', 'retrying', 'waiting', 'dead'].map((name) => line({leased: 'in memory'}[name] ?? name, count(pending(name), name))),
      line('quarantined', count(status, 'quarantined')), line('outbox', count(status.outbox, 'backlog'))));
}

function outcomes(status, history) {
  return h('div', {class: 'stage'}, h('h2', {}, 'Handlers'), h('ul', {}, [...new Set(status.handlers.map(({handler}) => handler))].map((handler) => {
    const isPaused = status.handlers.some((each) => each.handler === handler && each.paused_reason !== null);
    const series = history.handlers[handler] ?? {};
    const waiting = last(series.waiting);
    return h('li', {'data-key': handler}, h('span', {class: 'name'}, handler),
      sparkline(series.done_per_s, {label: handler + ', events done', unit: '/s', tone: last(series.failed_per_s) > 0 ? 'bad' : ''}),
      h('span', {class: 'figure'}, rate(recent(series.done_per_s, history.step_s))),
      h('span', {class: 'below'}, isPaused ? h('span', {class: 'text-warn'}, 'paused · ') : null,
        waiting ? [`${number(waiting)} wait · `, caught(catchUp(series.waiting, history.step_s, recent(series.done_per_s, history.step_s)))] : waiting === 0 ? 'nothing waits' : '–'));
  })));
}
