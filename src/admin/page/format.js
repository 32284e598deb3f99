// Values as people read them.
import {h} from './dom.js';

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const clock = new Intl.DateTimeFormat(undefined, {hour: '2-digit', minute: '2-digit', second: '2-digit', hourCycle: 'h23'});
const day = new Intl.DateTimeFormat(undefined, {month: 'short', day: 'numeric'});
const dayOfYear = new Intl.DateTimeFormat(undefined, {year: 'numeric', month: 'short', day: 'numeric'});
const whole = new Intl.NumberFormat('en-US');

/** A moment in the viewer's zone; UTC is its title. */
export function time(iso) {
  if (!iso) return '–';
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return String(iso);
  const now = new Date();
  const date = at.toDateString() === now.toDateString() ? '' :
    (at.getFullYear() === now.getFullYear() ? day : dayOfYear).format(at) + ', ';
  return h('time', {datetime: iso, title: `${at.toISOString().replace('T', ' ').replace('.000Z', 'Z')} UTC (shown in ${zone})`},
           date + clock.format(at));
}

/** `3 min`; of seconds. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return '–';
  const s = Math.abs(seconds);
  if (s < 1) return s === 0 ? '0 s' : `${Math.max(1, Math.round(s * 1000))} ms`;
  if (s < 10) return `${Math.round(s * 10) / 10} s`;
  if (s < 120) return `${Math.round(s)} s`;
  if (s < 7200) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${Math.round(s / 3600)} h`;
  return `${Math.round(s / 86400)} d`;
}

/** `3 min ago`, or `in 3 min`; of a moment, or of a number of seconds. */
export function ago(when) {
  if (when === null || when === undefined) return '–';
  const seconds = typeof when === 'number' ? when : (Date.now() - new Date(when).getTime()) / 1000;
  if (Number.isNaN(seconds)) return '–';
  if (Math.abs(seconds) < 1.5) return 'now';
  return seconds < 0 ? 'in ' + duration(seconds) : duration(seconds) + ' ago';
}

export const number = (value) => value === null || value === undefined ? '–' : whole.format(value);

/** `12.3k`: a number where there is little room. */
export function short(value) {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  if (size >= 1e6) return (value / 1e6).toFixed(size < 1e7 ? 1 : 0) + 'M';
  if (size >= 1e4) return (value / 1e3).toFixed(size < 1e5 ? 1 : 0) + 'k';
  return size < 10 && !Number.isInteger(value) ? value.toFixed(1) : whole.format(Math.round(value));
}

export function bytes(value) {
  if (value === null || value === undefined) return '–';
  const units = ['B', 'kB', 'MB', 'GB', 'TB'];
  let at = 0;
  let left = value;
  while (left >= 1000 && at < units.length - 1) {
    left /= 1000;
    ++at;
  }
  return `${at === 0 || left >= 100 ? Math.round(left) : left.toFixed(1)} ${units[at]}`;
}

export const rate = (perSecond) => perSecond === null || perSecond === undefined ? '–' : short(perSecond) + '/s';
