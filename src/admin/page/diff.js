// The difference of two texts, line by line.
import {h} from './dom.js';
import {visible} from './values.js';

const most = 1_500;  // lines compared in full; the table grows with their square

/** Lines as {sign: ' ' | '-' | '+', line}. */
export function diff(before, after) {
  const one = before.split('\n');
  const two = after.split('\n');
  let first = 0;
  while (first < one.length && first < two.length && one[first] === two[first]) ++first;
  let last = 0;
  while (last < one.length - first && last < two.length - first && one.at(-1 - last) === two.at(-1 - last)) ++last;
  const line = (sign) => (text) => ({sign, line: text});
  const left = one.slice(first, one.length - last);
  const right = two.slice(first, two.length - last);
  const middle = left.length > most || right.length > most ? [...left.map(line('-')), ...right.map(line('+'))]
                                                            : longestCommon(left, right);
  return [...one.slice(0, first).map(line(' ')), ...middle, ...one.slice(one.length - last).map(line(' '))];
}

function longestCommon(left, right) {
  const width = right.length + 1;
  const length = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; --i) {
    for (let j = right.length - 1; j >= 0; --j) {
      length[i * width + j] = left[i] === right[j] ? length[(i + 1) * width + j + 1] + 1
                                                   : Math.max(length[(i + 1) * width + j], length[i * width + j + 1]);
    }
  }
  const out = [];
  let i = 0;
  let j = 0;
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      out.push({sign: ' ', line: left[i++]});
      ++j;
    } else if (j === right.length || (i < left.length && length[(i + 1) * width + j] >= length[i * width + j + 1])) {
      out.push({sign: '-', line: left[i++]});
    } else {
      out.push({sign: '+', line: right[j++]});
    }
  }
  return out;
}

/** Changed lines with three lines around them. */
export function diffView(before, after) {
  const lines = diff(before, after);
  const isNear = lines.map(() => false);
  lines.forEach(({sign}, at) => {
    if (sign !== ' ') isNear.fill(true, Math.max(0, at - 3), at + 4);
  });
  if (!isNear.includes(true)) return h('p', {class: 'faint'}, 'No difference.');
  const names = {'+': 'added: ', '-': 'removed: ', ' ': ''};
  const out = [];
  let isSkipping = false;
  lines.slice(0, 20_000).forEach(({sign, line}, at) => {
    if (!isNear[at]) {
      if (!isSkipping) out.push(h('span', {class: 'faint'}, '⋯\n'));
      isSkipping = true;
      return;
    }
    isSkipping = false;
    const text = visible(line.length > 2_000 ? line.slice(0, 2_000) + '…' : line);
    out.push(h('span', {class: sign === '+' ? 'added' : sign === '-' ? 'removed' : ''},
               h('span', {class: 'unseen'}, names[sign]), sign + ' ' + text + '\n'));
  });
  return h('pre', {class: 'diff', tabindex: '0', 'aria-label': 'difference'}, ...out);
}
