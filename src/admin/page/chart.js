// Lines over time, as SVG. null in the values is unknown and leaves a gap.
import {h} from './dom.js';
import {short} from './format.js';

/** The runs of known values as lists of [x, y]. */
function runsOf(values, top, width, height) {
  const runs = [];
  let run = null;
  values.forEach((value, at) => {
    if (value === null || value === undefined) {
      run = null;
      return;
    }
    if (!run) runs.push(run = []);
    const x = values.length < 2 ? width : at * width / (values.length - 1);
    run.push([x.toFixed(1), (height - 1 - (height - 2) * (top > 0 ? value / top : 0)).toFixed(1)]);
  });
  return runs;
}

const known = (values) => (values ?? []).filter((value) => value !== null && value !== undefined);
const points = (run) => (run.length === 1 ? [run[0], run[0]] : run).map((point) => point.join(',')).join(' ');

/**
 * A small line without axes, for a cell of a table. `label`: what it shows; screen readers read its last and its largest
 * value, too. `top`: the value at the upper edge, for lines with the same scale.
 */
export function sparkline(values, {label = '', tone = '', width = 96, height = 22, unit = '', top = 0} = {}) {
  const some = known(values);
  if (some.length === 0) return h('span', {class: 'spark none', 'aria-hidden': 'true'});
  const most = Math.max(...some);
  const text = `${label}: now ${short(some.at(-1))}${unit}, at most ${short(most)}${unit}`;
  return h('svg', {class: 'spark ' + tone, viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img', 'aria-label': text},
           h('title', {}, text),
           runsOf(values, Math.max(most, top), width, height).map((run) => [
             h('polygon', {points: `${run[0][0]},${height} ${points(run)} ${run.at(-1)[0]},${height}`}),
             h('polyline', {points: points(run), 'stroke-linecap': 'round'})]));
}

/**
 * A chart with a scale. `series`: [{name, values, tone}]; `from`, `to`: milliseconds since 1970; `marks`:
 * [{at: milliseconds, kind, text}], drawn as upright lines.
 */
export function chart({title, series, from, to, marks = [], unit = '', height = 96}) {
  const width = 600;
  const most = Math.max(0, ...series.flatMap((each) => known(each.values)));
  const x = (at) => ((at - from) * width / Math.max(1, to - from)).toFixed(1);
  const last = series.map(({name, values}) => `${name} ${short(known(values).at(-1))}${unit}`).join(', ');
  return h('figure', {class: 'chart'},
    h('figcaption', {}, h('span', {}, title), series.length > 1 ? h('span', {class: 'legend'}, series.map(({name, tone}) =>
      h('span', {class: 'series ' + (tone ?? '')}, name))) : null),
    h('div', {class: 'plot'},
      h('span', {class: 'top'}, short(most) + unit),
      h('svg', {viewBox: `0 0 ${width} ${height}`, preserveAspectRatio: 'none', role: 'img',
                'aria-label': `${title}: now ${last}; at most ${short(most)}${unit}`},
        h('line', {class: 'grid', x1: 0, x2: width, y1: 1, y2: 1}), h('line', {class: 'grid', x1: 0, x2: width, y1: height - 1, y2: height - 1}),
        marks.filter(({at}) => at >= from && at <= to).map(({at, kind, text}) =>
          h('line', {class: 'mark ' + kind, x1: x(at), x2: x(at), y1: 0, y2: height}, text ? h('title', {}, text) : null)),
        series.flatMap(({values, tone}) => runsOf(values ?? [], most, width, height).map((run) =>
          h('polyline', {class: tone ?? '', points: points(run), 'stroke-linecap': 'round'}))))));
}
