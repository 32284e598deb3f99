// Lines over time, as SVG. null in the values is unknown and leaves a gap.
import {h} from './dom.js';
import {short} from './format.js';

/** The runs of known values as points. */
function lines(values, top, width, height) {
  const runs = [];
  let run = null;
  values.forEach((value, at) => {
    if (value === null || value === undefined) {
      run = null;
      return;
    }
    if (!run) runs.push(run = []);
    const x = values.length < 2 ? width : at * width / (values.length - 1);
    run.push(`${x.toFixed(1)},${(height - 1 - (height - 2) * (top > 0 ? value / top : 0)).toFixed(1)}`);
  });
  return runs;
}

const known = (values) => values.filter((value) => value !== null && value !== undefined);

/** A small line without axes. `label`: what it shows; its last and largest value are read out, too. */
export function sparkline(values, {label = '', tone = '', width = 120, height = 24, unit = ''} = {}) {
  const some = known(values ?? []);
  if (some.length === 0) return h('span', {class: 'spark none', 'aria-hidden': 'true'});
  const top = Math.max(...some);
  const text = `${label}: now ${short(some.at(-1))}${unit}, at most ${short(top)}${unit}`;
  return h('svg', {class: 'spark ' + tone, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': text},
           h('title', {}, text),
           lines(values, top, width, height).map((run) => run.length === 1 ?
             h('circle', {cx: run[0].split(',')[0], cy: run[0].split(',')[1], r: 1.5}) : h('polyline', {points: run.join(' ')})));
}

/**
 * A chart with a scale and a time axis. `series`: [{name, values, tone}]; `from`, `to`: milliseconds; `marks`:
 * [{at: milliseconds, kind}] as lines.
 */
export function chart({title, series, from, to, marks = [], unit = ''}) {
  const width = 600;
  const height = 120;
  const top = Math.max(0, ...series.flatMap((each) => known(each.values ?? [])));
  const x = (at) => (at - from) * width / Math.max(1, to - from);
  return h('figure', {class: 'chart'},
           h('figcaption', {}, title, series.length > 1 ? h('span', {class: 'legend'}, series.map((each) =>
             h('span', {class: 'key ' + (each.tone ?? '')}, each.name))) : ''),
           h('div', {class: 'plot'},
             h('span', {class: 'top'}, top > 0 ? short(top) + unit : ''),
             h('svg', {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img',
                       'aria-label': `${title}: at most ${short(top)}${unit}`},
               marks.filter((mark) => mark.at >= from && mark.at <= to).map((mark) =>
                 h('line', {class: 'mark ' + mark.kind, x1: x(mark.at), x2: x(mark.at), y1: 0, y2: height})),
               series.flatMap((each) => lines(each.values ?? [], top, width, height).map((run) =>
                 h('polyline', {class: each.tone ?? '', points: run.length === 1 ? run[0] + ' ' + run[0] : run.join(' ')}))))));
}
