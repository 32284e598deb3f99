// Changes: figures and marks on one time axis.
import {chart} from '../chart.js';
import {h} from '../dom.js';
import {largest, sum} from '../figures.js';
import {time} from '../format.js';

const shown_marks = 12;

export function changes({steps, step_s: step, end, topics, handlers, marks = []}, span) {
  const to = Date.parse(end);
  const from = to - steps * step * 1000;
  const placed = marks.map((mark) => ({...mark, at_ms: Date.parse(mark.at)})).sort((one, other) => other.at_ms - one.at_ms);
  const lines = placed.map(({at_ms, kind, text}) => ({at: at_ms, kind, text}));
  const all = (table, name) => Object.values(table).map((each) => each[name]);
  const draw = (title, series, unit) => chart({title, series, unit, from, to, marks: lines});
  return h('section', {class: 'changes'},
    h('div', {class: 'head'}, h('h2', {}, 'What changed?'), h('span', {class: 'choice'}, [['1h', 'last hour'], ['24h', 'last day']].map(([each, word]) =>
      h('a', {href: each === '1h' ? '#/' : '#/?span=24h', 'aria-current': each === span ? 'true' : null}, word)))),
    steps === 0 ? h('p', {class: 'faint'}, 'This daemon keeps no history.') : h('div', {class: 'charts'},
      draw('Records and events', [{name: 'read', values: sum(all(topics, 'in_per_s'))}, {name: 'done', values: sum(all(handlers, 'done_per_s')), tone: 'good'}], '/s'),
      draw('Lag', [{name: 'lag', values: sum(all(topics, 'lag')), tone: 'warn'}], ''),
      draw('Failed attempts', [{name: 'failed', values: sum(all(handlers, 'failed_per_s')), tone: 'bad'}], '/s'),
      draw('Slowest call, p99', [{name: 'p99', values: largest(all(handlers, 'p99_ms'))}], ' ms')),
    steps === 0 ? null : h('div', {class: 'axis', 'aria-hidden': 'true'}, time(new Date(from).toISOString()), time(new Date(to).toISOString())),
    placed.length === 0 ? h('p', {class: 'faint'}, 'No start, crash, reload or change of an operator in this time.') :
      h('ol', {class: 'marks', 'aria-label': 'Changes, the newest first'}, placed.slice(0, shown_marks).map(({at, kind, text, who}) =>
        h('li', {'data-key': at + kind + text}, time(at), h('span', {class: 'badge ' + ({crash: 'bad', change: 'busy', reload: 'busy'}[kind] ?? '')}, kind), h('span', {}, text, who ? h('span', {class: 'faint'}, ' · ' + who) : null)))));
}
