// Changes by operators, newest first.
import {copyCommand, longValue} from '../content.js';
import {get} from '../api.js';
import {h} from '../dom.js';
import {empty, filters, route, table, when} from '../list.js';
import {commandOf, justAfter, short, visible} from '../values.js';

export const title = 'Audit';

const pageSize = 100;

const filterOf = ({actor, operation, since, until}) => ({actor, operation, since, until});

export const load = (parameters, {signal}) => get('/v1/audit/list', {...filterOf(parameters), limit: Number(parameters.limit || pageSize)}, {signal});

export function render({changes}, parameters) {
  const limit = Number(parameters.limit || pageSize);
  return h('div', {},
    filters('audit', [{name: 'operation', label: 'Operation', value: parameters.operation, hint: 'dead replay or dead*', isSearch: true},
                      {name: 'actor', label: 'By', value: parameters.actor, hint: 'ann*'},
                      {name: 'since', label: 'Since', value: parameters.since, hint: '24h or 2026-01-31T12:00:00Z'},
                      {name: 'until', label: 'Until', value: parameters.until, hint: 'a time'}]),
    changes.length === 0 ? empty('No change matches.', 'Every change by command, API or this page is recorded here.') : table({
      caption: 'Changes, newest first', rows: changes,
      columns: [
        {title: 'Made', cell: ({occurred_at}) => when(occurred_at)},
        {title: 'Operation', cell: ({operation}) => visible(operation)},
        {title: 'By', cell: ({actor}) => longValue(actor, 100)},
        {title: 'Request', cell: ({target}) => longValue(target, 200)},
        {title: 'Effect', cell: ({detail}) => detailOf(detail)}]}),
    changes.length === limit && limit < 10_000 ? h('p', {class: 'pages'},
      h('a', {href: route('audit', {...parameters, limit: Math.min(10_000, limit * 5)})}, 'Show more')) :
      changes.length === limit ? h('p', {class: 'pages'}, h('a', {href: route('audit', {...parameters, limit: '', until: justAfter(changes.at(-1).occurred_at)})}, 'Older →')) : '',
    h('p', {}, copyCommand(commandOf(['audit', 'list'], filterOf(parameters)))));
}

function detailOf(detail) {
  if (detail === null || detail === undefined) return '–';
  if (typeof detail !== 'object') return short(String(detail));
  const parts = Object.entries(detail).map(([name, value]) => `${name}: ${typeof value === 'object' ? JSON.stringify(value) : value}`);
  return longValue(parts.join(', '), 200);
}
