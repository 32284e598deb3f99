// Elements, made of text and never of HTML, and updates in place that keep focus, selection, scroll and open details.

const svgTags = new Set(['svg', 'path', 'line', 'rect', 'circle', 'polyline', 'polygon', 'g', 'title', 'text']);
const handlersOf = new WeakMap();   // element → {onclick: function}: replace() hands them over
const keptFor = new WeakMap();      // element → the value of its attribute `keep`
const hasListeners = new WeakSet();

function addEventListener(...parameters) {
  hasListeners.add(this);
  EventTarget.prototype.addEventListener.apply(this, parameters);
}

/**
 * Children: text, numbers, nodes, lists of them; null, undefined, false and '' are left out. Attributes: null, undefined
 * and false are left out, true is an empty one. Three are special:
 * - `onclick` and the like: a function. replace() puts the new function in the old element's place.
 * - `data-key`: replace() finds the element again among its siblings, at any place. For the rows of a list.
 * - `keep`: an element with the same value (===) stays as it is, with all inside. For parts with a state of their own,
 *   whose listeners know each other: `h('section', {keep: payload}, …)`.
 * An element with a listener of addEventListener is never patched: its successor takes its place.
 */
export function h(tag, attributes = {}, ...children) {
  const out = svgTags.has(tag) ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name === 'keep') {
      keptFor.set(out, value);
    } else if (typeof value === 'function') {
      handlersOf.set(out, {...handlersOf.get(out), [name.toLowerCase()]: value});
      out[name.toLowerCase()] = value;
    } else if (value !== null && value !== undefined && value !== false) {
      out.setAttribute(name, value === true ? '' : String(value));
    }
  }
  out.addEventListener = addEventListener;
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

/** Makes the container's children equal to these, and touches only the differences. */
export function replace(container, ...children) {
  const next = document.createElement('div');
  append(next, children);
  const focus = placeOfFocus(container);
  patchChildren(container, next);
  restoreFocus(container, focus);
}

/** The same with new elements throughout: for another screen, or other data. */
export function renew(container, ...children) {
  const focus = placeOfFocus(container);
  container.replaceChildren();
  append(container, children);
  restoreFocus(container, focus);
}

const keyOf = (node) => node.dataset?.key;

function patchChildren(old, next) {
  const keyed = new Map([...old.children].filter(keyOf).map((child) => [keyOf(child), child]));
  let at = old.firstChild;
  for (const wanted of [...next.childNodes]) {
    const key = keyOf(wanted);
    const found = key ? keyed.get(key) : at && !keyOf(at) ? at : null;
    if (!found) {
      old.insertBefore(wanted, at);
      continue;
    }
    if (found === at) at = at.nextSibling;
    else old.insertBefore(found, at);
    patch(found, wanted);
  }
  while (at) {
    const after = at.nextSibling;
    at.remove();
    at = after;
  }
}

function patch(old, next) {
  if (old.nodeType === Node.TEXT_NODE && next.nodeType === Node.TEXT_NODE) {
    if (old.data !== next.data) old.data = next.data;
  } else if (keptFor.has(next) && keptFor.get(old) === keptFor.get(next)) {
    // stays
  } else if (old.tagName !== next.tagName || keptFor.has(old) || keptFor.has(next) || hasListeners.has(old) || hasListeners.has(next)) {
    old.replaceWith(next);
  } else {
    patchAttributes(old, next);
    patchChildren(old, next);
  }
}

function patchAttributes(old, next) {
  for (const {name} of [...old.attributes]) {
    // People open details, the page does not close them.
    if (!next.hasAttribute(name) && !(name === 'open' && old.tagName === 'DETAILS')) old.removeAttribute(name);
  }
  for (const {name, value} of next.attributes) {
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const name of Object.keys(handlersOf.get(old) ?? {})) old[name] = null;
  const handlers = handlersOf.get(next);
  handlersOf.delete(old);
  if (handlers) handlersOf.set(old, handlers);
  for (const [name, value] of Object.entries(handlers ?? {})) old[name] = value;
}

/** The way from the container to the focused element: keys where there are some, else numbers of children. */
function placeOfFocus(container) {
  const focused = document.activeElement;
  if (!focused || focused === container || !container.contains(focused)) return null;
  const path = [];
  for (let at = focused; at !== container; at = at.parentNode) {
    path.unshift(keyOf(at) ?? [...at.parentNode.childNodes].indexOf(at));
  }
  return {focused, path, caret: focused.selectionStart ?? null};
}

function restoreFocus(container, place) {
  if (!place || document.activeElement === place.focused) return;
  let at = container;
  for (const step of place.path) {
    at = typeof step === 'number' ? at?.childNodes[step] : [...at?.children ?? []].find((child) => keyOf(child) === step);
  }
  if (at?.tagName !== place.focused.tagName) return;
  at.focus({preventScroll: true});
  if (place.caret !== null && at.selectionStart !== null) at.setSelectionRange?.(place.caret, place.caret);
}
