// Elements, made of text and never of HTML; and updates that keep focus, selection, scroll and open details.

const svgTags = new Set(['svg', 'path', 'line', 'rect', 'circle', 'polyline', 'g', 'title']);
// Elements with listeners of their own are replaced as a whole, because a listener belongs to its element.
const wholes = 'button, form, input, select, textarea, dialog';

/** Children: text, numbers, nodes, lists of them; null, undefined and false are left out. */
export function h(tag, attributes = {}, ...children) {
  const out = svgTags.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith('on') && typeof value === 'function') out.addEventListener(name.slice(2).toLowerCase(), value);
    else out.setAttribute(name, value === true ? '' : String(value));
  }
  append(out, children);
  return out;
}

function append(parent, children) {
  for (const child of children) {
    if (child === null || child === undefined || child === false || child === '') continue;
    if (Array.isArray(child)) append(parent, child);
    else parent.append(child);  // a string becomes a text node
  }
}

/** Makes the container's children equal to these, and touches only what differs. */
export function replace(container, ...children) {
  const next = document.createElement('div');
  append(next, children);
  const focus = placeOfFocus(container);
  adjust(container, next);
  restoreFocus(container, focus);
}

function adjust(old, next) {
  const before = [...old.childNodes];
  const after = [...next.childNodes];
  const count = Math.max(before.length, after.length);
  for (let i = 0; i < count; ++i) {
    if (i >= after.length) before[i].remove();
    else if (i >= before.length) old.append(after[i]);
    else adjustOne(before[i], after[i]);
  }
}

function adjustOne(old, next) {
  if (old.isEqualNode(next)) return;
  if (old.nodeType === Node.TEXT_NODE && next.nodeType === Node.TEXT_NODE) {
    old.data = next.data;
  } else if (old.nodeType === Node.ELEMENT_NODE && next.nodeType === Node.ELEMENT_NODE && old.tagName === next.tagName &&
             old.dataset?.key === next.dataset?.key && !old.matches(wholes) && !next.querySelector('input, textarea, select')) {
    takeAttributes(old, next);
    adjust(old, next);
  } else {
    old.replaceWith(next);
  }
}

function takeAttributes(old, next) {
  for (const {name} of [...old.attributes]) {
    if (!next.hasAttribute(name) && !(name === 'open' && old.tagName === 'DETAILS')) old.removeAttribute(name);
  }
  for (const {name, value} of [...next.attributes]) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
}

/** The way from the container to the focused element, as numbers of children. */
function placeOfFocus(container) {
  const focused = document.activeElement;
  if (!focused || focused === container || !container.contains(focused)) return null;
  const path = [];
  for (let at = focused; at !== container; at = at.parentNode) path.unshift([...at.parentNode.childNodes].indexOf(at));
  return {focused, path, tag: focused.tagName};
}

function restoreFocus(container, place) {
  if (!place || place.focused.isConnected) return;
  let at = container;
  for (const index of place.path) at = at?.childNodes[index];
  if (at?.tagName === place.tag) at.focus({preventScroll: true});
}
