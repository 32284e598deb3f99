// The page's frame: address → screen, refreshing, the way in.
import {ApiError, access, actor, get, hasToken, signIn, signOut, takeTokenFromAddress} from './api.js';
import {h, replace} from './dom.js';
import {screens} from './screens.js';

const main = document.getElementById('main');
const notice = document.getElementById('notice');
const nav = document.getElementById('nav');
const light = document.getElementById('light');
const light_every_ms = 15000;

let current = {screen: null, module: null, parameters: {}, address: null};
let loading = null;
let timer = null;

/** `#/events?topic=a&topic=b` → {name: 'events', parameters: {topic: ['a', 'b']}}. */
function addressOf(hash) {
  const [, name, query] = /^#\/([^?]*)\??(.*)$/.exec(hash) ?? [null, '', ''];
  const parameters = {};
  for (const [key, value] of new URLSearchParams(query)) {
    parameters[key] = key in parameters ? [parameters[key], value].flat() : value;
  }
  return {name, parameters};
}

function showNavigation(name) {
  const screen = screens.find((each) => each.name === name);
  const active = screen?.of ?? screen?.name;
  replace(nav, screens.filter((each) => each.word).map((each) =>
    h('a', {href: '#/' + each.name, 'aria-current': each.name === active ? 'page' : null}, each.word)));
}

function showWho() {
  replace(document.getElementById('who'), hasToken() ?
    [actor() ? h('span', {class: 'faint'}, actor()) : '', h('button', {type: 'button', class: 'plain', onclick: () => {
      signOut();
      location.reload();
    }}, 'Sign out')] : h('button', {type: 'button', class: 'plain', onclick: () => showWayIn('')}, 'Sign in'));
}

function showWayIn(message) {
  const field = h('input', {type: 'password', name: 'token', required: true, autocomplete: 'off', 'aria-label': 'token'});
  const person = h('input', {type: 'text', name: 'actor', value: actor(), autocomplete: 'username', 'aria-label': 'your name, for the audit'});
  replace(notice, h('form', {class: 'way-in', onsubmit: (event) => {
    event.preventDefault();
    signIn(field.value.trim(), person.value.trim());
    location.reload();
  }}, h('p', {}, h('strong', {}, message || 'Some of this needs a token.'), ' On the daemon’s machine run ', h('code', {}, 'inboxd ui'),
        ' and open the link that it prints, or paste ', h('code', {}, 'admin.token'), ' or ', h('code', {}, 'admin.read_token'), ':'),
     h('div', {class: 'buttons'}, h('label', {}, 'Token ', field), h('label', {}, 'Your name ', person),
       h('button', {type: 'submit', class: 'primary'}, 'Sign in'),
       h('button', {type: 'button', onclick: () => replace(notice)}, 'Not now'))));
}

access.refused = (status, message) => {
  if (status === 401 && hasToken()) signOut();  // the daemon has started again, and has another key
  showWho();
  showWayIn(message[0].toUpperCase() + message.slice(1) + '.');
};

function showError(error) {
  if (error instanceof ApiError && (error.status === 401 || error.status === 403)) {
    if (!current.isShown) replace(main, h('h1', {}, current.module?.title ?? 'inboxd'), h('p', {class: 'faint'}, 'This screen needs a token.'));
    return;
  }
  const isAway = error instanceof ApiError && error.status === 0;
  const text = isAway ? 'The daemon does not answer. The page tries again; what it shows is old.' : error.message;
  if (isAway) {
    document.documentElement.classList.add('away');
    setLight('unknown', 'the daemon does not answer');
  }
  if (!current.isShown) replace(main, h('h1', {}, current.module?.title ?? 'inboxd'), h('p', {class: 'error', role: 'alert'}, text));
  else replace(notice, h('p', {class: 'error', role: 'alert'}, text));
}

async function load() {
  loading?.abort();
  const mine = loading = new AbortController();
  clearTimeout(timer);
  const {module, parameters} = current;
  try {
    const data = await module.load(parameters, {signal: mine.signal});
    if (mine.signal.aborted) return;
    const title = typeof module.title === 'function' ? module.title(data, parameters) : module.title;
    document.title = title + ' · inboxd';
    replace(main, h('h1', {}, title), module.render(data, parameters));
    current.isShown = true;
    if (document.documentElement.classList.contains('away') || notice.querySelector('.error')) replace(notice);
    document.documentElement.classList.remove('away');
  } catch (error) {
    if (error.name === 'AbortError' || mine.signal.aborted) return;
    showError(error);
    if (!(error instanceof ApiError)) console.error(error);
  }
  schedule();
}

function schedule() {
  clearTimeout(timer);
  const after = current.module?.refreshMs ?? (document.documentElement.classList.contains('away') ? 5000 : 0);
  if (after && !document.hidden) timer = setTimeout(isBusy() ? schedule : load, after);
}

/** A refresh would disturb: a dialog is open, or somebody selects text or fills in a form. */
function isBusy() {
  const selection = getSelection();
  return document.querySelector('dialog[open]') !== null || (!selection.isCollapsed && main.contains(selection.anchorNode)) ||
    main.contains(document.activeElement?.closest('form'));
}

async function show() {
  takeTokenFromAddress();
  const {name, parameters} = addressOf(location.hash);
  const screen = screens.find((each) => each.name === name) ?? screens[0];
  const isSame = current.screen === screen;
  showNavigation(screen.name);
  let module;
  try {
    module = await screen.module();
  } catch (error) {
    return showError(error);
  }
  current = {screen, module, parameters, isShown: false};
  main.classList.toggle('loading', !isSame);
  await load();
  main.classList.remove('loading');
  if (!isSame) {
    scrollTo(0, 0);
    if (document.activeElement?.closest('#nav')) main.focus({preventScroll: true});
  }
}

function setLight(tone, text) {
  light.className = tone;
  light.parentNode.title = text;
}

/** The same light as `inboxd status`, on every screen. Overview sends its own status here. */
export function showStatus(status) {
  const tone = status.findings.some((each) => each.severity === 'problem') ? 'bad' :
    status.findings.some((each) => each.severity === 'warning') ? 'warn' : 'good';
  setLight(tone, status.verdict);
}

async function watchStatus() {
  if (!document.hidden && current.screen !== screens[0]) {
    try {
      showStatus(await get('/v1/status'));
    } catch {
      setLight('unknown', 'the status is unknown');
    }
  }
  setTimeout(watchStatus, light_every_ms);
}

addEventListener('hashchange', show);
document.addEventListener('visibilitychange', () => document.hidden ? clearTimeout(timer) : current.module && load());
document.addEventListener('inboxd-changed', () => load());
document.getElementById('skip').addEventListener('click', () => main.focus());
takeTokenFromAddress();
showWho();
show();
setTimeout(watchStatus, 1000);
