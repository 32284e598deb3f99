// The handlers' table.
import {sparkline} from '../chart.js';
import {h} from '../dom.js';
import {last, recent} from '../figures.js';
import {duration, number, short} from '../format.js';
import {route} from '../list.js';
import {screens} from '../screens.js';
import {isLimited, table} from '../table.js';

export function handlers(status, history) {
  const rows = status.handlers.map((state) => ({...state, series: history.handlers[state.handler] ?? {}}));
  const step = history.step_s;
  return h('section', {}, h('h2', {}, 'Handlers'), table({
    caption: 'Handlers', rows, keyOf: ({handler, shard}) => handler + (shard ?? ''),
    columns: [
      {title: 'Handler', width: 14, cell: nameOf},
      {title: 'Done a minute', isNumber: true, cell: ({series}) => perMinute(recent(series.done_per_s, step))},
      {title: 'Failing', isNumber: true, cell: (row) => failing(row, step)},
      {title: 'Calls', isNumber: true, cell: ({running_calls: calls, concurrency}) => calls === null ? '–' : `${calls} of ${concurrency}`},
      {title: 'p99', isNumber: true, cell: ({series}) => millis(recent(series.p99_ms, step))},
      {title: 'Waiting', isNumber: true, cell: (row) => waiting(row)},
      {title: 'Oldest', isNumber: true, cell: ({oldest_due_age_seconds: age}) => duration(age)},
      {title: 'Blocked keys', isNumber: true, cell: ({series, handler}) => linked(last(series.blocked_keys), 'keys', handler)},
      {title: 'Dead', isNumber: true, cell: (row) => linked(row.dead, 'failures', row.handler, isLimited(row, 'dead'))},
      {title: 'Last error', width: 16, cell: (row) => lastError(row, status.findings)},
    ]}));
}

const perMinute = (perSecond) => perSecond === null ? '–' : short(perSecond * 60);
const millis = (value) => value === null ? '–' : duration(value / 1000);
const hasScreen = (name) => screens.some((each) => each.name === name);

function nameOf({handler, shard, paused_reason: paused, mode}) {
  const name = hasScreen('handlers') ? h('a', {href: route('handlers', {handler, shard})}, handler) : handler;
  return [h('strong', {}, name), ' ', paused !== null ? h('span', {class: 'badge warn', title: paused}, 'paused') : h('span', {class: 'faint'}, mode)];
}

function failing({series}, step) {
  const failed = recent(series.failed_per_s, step);
  const all = failed === null ? null : failed + (recent(series.done_per_s, step) ?? 0);
  if (all === null) return '–';
  const share = all === 0 ? 0 : failed / all;
  return share === 0 ? '0 %' : h('span', {class: 'text-bad'}, share < 0.01 ? '< 1 %' : Math.round(share * 100) + ' %');
}

function waiting(row) {
  const all = row.due + row.retrying + row.waiting;
  const limited = ['due', 'retrying', 'waiting'].some((name) => isLimited(row, name));
  return h('span', {class: 'with-spark'}, sparkline(row.series.waiting, {label: row.handler + ', events that wait', width: 48}), (limited ? '≥ ' : '') + number(all));
}

function linked(value, screen, handler, isLeast) {
  if (value === null) return '–';
  const text = (isLeast ? '≥ ' : '') + number(value);
  return value > 0 && hasScreen(screen) ? h('a', {href: `#/${screen}?` + new URLSearchParams({handler})}, text) : text;
}

/** The class of failures with the latest failure. */
function lastError({series: {failures}, handler, shard}, findings) {
  let at = -1;
  let name = null;
  for (const [each, values] of Object.entries(failures ?? {})) {
    const latest = values.findLastIndex((value) => value > 0);
    if (latest > at) [at, name] = [latest, each];
  }
  const told = findings.find(({kind, message, shard: of}) => kind === 'handler_fails' && of === shard && message.includes(`handler ${handler},`));
  return name ? h('code', {}, name) : told ? told.message.replace(/^.*the last with /, '').split('\n')[0] : h('span', {class: 'faint'}, '–');
}
