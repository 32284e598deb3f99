// JSON as a tree that keeps the text: numbers are not rounded, and names keep their order and repetitions.
import {h} from './dom.js';
import {visible} from './values.js';

const cut = 300;       // characters of a string shown at first
const page = 100;      // members shown at first
const openDepth = 2;   // levels that are open at first

/** The end of the string literal that begins at `start`. */
function endOfString(text, start) {
  for (let at = start + 1;; ++at) {
    at = text.indexOf('"', at);
    let backslashes = 0;
    while (text[at - 1 - backslashes] === '\\') ++backslashes;
    if (backslashes % 2 === 0) return at + 1;
  }
}

const separators = new Set([' ', '\n', '\r', '\t', ',', ':']);

function endOfWord(text, start) {
  let at = start;
  while (at < text.length && !separators.has(text[at]) && text[at] !== ']' && text[at] !== '}') ++at;
  return at;
}

/** A node is {literal} or {members: [{name, node}], isObject}; undefined: the text is no JSON. */
export function parse(text) {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const root = {members: [], isObject: false};
  const open = [root];
  let name;
  const add = (node) => {
    open.at(-1).members.push({name, node});
    name = undefined;
  };
  for (let at = 0; at < text.length;) {
    const character = text[at];
    if (separators.has(character)) {
      ++at;
    } else if (character === '{' || character === '[') {
      const node = {members: [], isObject: character === '{'};
      add(node);
      open.push(node);
      ++at;
    } else if (character === '}' || character === ']') {
      open.pop();
      ++at;
    } else {
      const end = character === '"' ? endOfString(text, at) : endOfWord(text, at);
      const literal = text.slice(at, end);
      at = end;
      if (open.at(-1).isObject && name === undefined) name = literal;
      else add({literal});
    }
  }
  return root.members[0].node;
}

/** One member a line, indented; undefined: no JSON. Deep nesting is indented to a limit. */
export function format(text) {
  const root = parse(text);
  if (root === undefined) return undefined;
  const out = [];
  const indent = (depth) => '  '.repeat(Math.min(depth, 40));
  const work = [{node: root, depth: 0, prefix: '', suffix: ''}];
  while (work.length > 0) {
    const {node, depth, prefix, suffix} = work.pop();
    if (typeof node === 'string') {
      out.push(indent(depth) + node + suffix);
    } else if (node.literal !== undefined) {
      out.push(indent(depth) + prefix + node.literal + suffix);
    } else {
      const [first, last] = node.isObject ? ['{', '}'] : ['[', ']'];
      if (node.members.length === 0) {
        out.push(indent(depth) + prefix + first + last + suffix);
        continue;
      }
      out.push(indent(depth) + prefix + first);
      work.push({node: last, depth, prefix: '', suffix});
      for (let i = node.members.length - 1; i >= 0; --i) {
        const member = node.members[i];
        work.push({node: member.node, depth: depth + 1, prefix: node.isObject ? member.name + ': ' : '',
                   suffix: i + 1 < node.members.length ? ',' : ''});
      }
    }
  }
  return out.join('\n');
}

function literalOf(literal) {
  const kind = literal[0] === '"' ? 'string' : literal === 'true' || literal === 'false' || literal === 'null' ?
      'word' : 'number';
  const text = h('span', {class: 'json-' + kind}, visible(literal.slice(0, cut)));
  if (literal.length <= cut) return text;
  const more = h('button', {type: 'button', class: 'link'}, `show all ${literal.length.toLocaleString('en')} characters`);
  more.addEventListener('click', () => {
    text.textContent = visible(literal);
    more.remove();
  });
  return h('span', {}, text, '… ', more);
}

function membersOf(node, depth) {
  const list = h('ul', {class: 'json'});
  const show = (from) => {
    const to = Math.min(node.members.length, from + page);
    for (const member of node.members.slice(from, to)) list.append(h('li', {}, treeOf(member.node, member.name, depth + 1)));
    if (to === node.members.length) return;
    const more = h('button', {type: 'button', class: 'link'},
                   `show more: ${(node.members.length - to).toLocaleString('en')} left`);
    const item = h('li', {}, more);
    more.addEventListener('click', () => {
      item.remove();
      show(to);
    });
    list.append(item);
  };
  show(0);
  return list;
}

function treeOf(node, name, depth) {
  const label = name === undefined ? '' : h('span', {class: 'json-name'}, visible(name.slice(0, cut)) + ': ');
  if (node.literal !== undefined) return h('span', {}, label, literalOf(node.literal));
  const size = node.members.length;
  const [first, last] = node.isObject ? ['{', '}'] : ['[', ']'];
  if (size === 0) return h('span', {}, label, first + last);
  const count = node.isObject ? (size === 1 ? '1 member' : `${size} members`) : (size === 1 ? '1 item' : `${size} items`);
  const fold = h('details', {}, h('summary', {}, label, first, h('span', {class: 'faint'}, ' ' + count + ' '), last));
  // Filled when it is opened: a payload may have a million members.
  const fill = () => {
    if (fold.open && fold.childElementCount === 1) fold.append(membersOf(node, depth));
  };
  fold.addEventListener('toggle', fill);
  if (depth < openDepth) {
    fold.open = true;
    fill();
  }
  return fold;
}

/** An element; undefined: the text is no JSON. */
export function jsonTree(text) {
  const root = parse(text);
  return root && h('div', {class: 'json-tree'}, treeOf(root, undefined, 0));
}
