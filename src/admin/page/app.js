// The frame: address → screen, refreshing, the way in.
import {ApiError, access, actor, away, get, hasToken, signIn, signOut, takeTokenFromAddress} from './api.js';
import {continueCutOff} from './confirm.js';
import {h, renew, replace} from './dom.js';
import {setLight, showStatus} from './light.js';
import './list.js';  // its keys work on every screen
import {screens} from './screens.js';
import {visible} from './values.js';

const main = document.getElementById('main');
const notice = document.getElementById('notice');
const retry_ms = 3_000;   // while the daemon does not answer
const light_ms = 15_000;  // on screens other than the overview

let current = {screen: null, module: null, parameters: {}, isShown: false};
let loading = null;
let timer = null;
let isPressing = false;
let isAway = false;

/** `#/events?topic=a&topic=b` → {name: 'events', parameters: {topic: ['a', 'b']}}. */
function addressOf(hash) {
  const [, name, query] = /^#\/([^?]*)\??(.*)$/.exec(hash) ?? [null, '', ''];
  const parameters = {};
  for (const [key, value] of new URLSearchParams(query)) {
    parameters[key] = key in parameters ? [parameters[key], value].flat() : value;
  }
  return {name, parameters};
}

function showNavigation(screen) {
  const active = screen.of ?? screen.name;
  replace(document.getElementById('nav'), screens.filter(({word}) => word).map(({name, word}) =>
    h('a', {href: '#/' + name, 'aria-current': name === active ? 'page' : null}, word)));
}

function showWho() {
  replace(document.getElementById('who'), hasToken() ?
    [h('span', {class: 'faint'}, actor()), h('button', {type: 'button', class: 'plain', onclick: leave}, 'Sign out')] :
    h('button', {type: 'button', class: 'plain', onclick: () => showWayIn('')}, 'Sign in'));
}

function leave() {
  signOut();
  location.reload();
}

function showWayIn(message) {
  if (notice.querySelector('.way-in')) return;
  const enter = (event) => {
    event.preventDefault();
    const {token, actor: name} = event.currentTarget.elements;
    signIn(token.value.trim(), name.value.trim());
    showWho();
    replace(notice);
    load();
  };
  replace(notice, h('form', {class: 'way-in', onsubmit: enter},
    h('p', {}, message ? h('strong', {}, sentence(message)) : null, message ? ' ' : null,
      'Run ', h('code', {}, 'inboxd ui'), ' on the daemon’s machine and open its link, or enter ',
      h('code', {}, 'admin.token'), ' or ', h('code', {}, 'admin.read_token'), '.'),
    h('div', {class: 'buttons'},
      h('label', {}, 'Token ', h('input', {type: 'password', name: 'token', required: true, autocomplete: 'off'})),
      h('label', {}, 'Your name, for the audit ', h('input', {type: 'text', name: 'actor', value: actor(), autocomplete: 'username'})),
      h('button', {type: 'submit', class: 'primary'}, 'Sign in'),
      h('button', {type: 'button', onclick: () => replace(notice)}, 'Not now'))));
}

const sentence = (text) => text[0].toUpperCase() + text.slice(1) + (text.endsWith('.') ? '' : '.');

// A reader has no buttons of changes. Without a token they stay: they ask for one.
access.told = (mayChange) => document.documentElement.classList.toggle('reader', !mayChange && hasToken());

access.refused = (error) => {
  showWho();
  showWayIn(error.message);
};

const titleOf = ({module, parameters}, data) =>
  typeof module?.title === 'function' ? module.title(data, parameters) : module?.title ?? 'inboxd';

function showError(error) {
  const isRefused = error instanceof ApiError && (error.status === 401 || error.status === 403);
  isAway = error instanceof ApiError && error.status === 0;
  if (isAway) setLight('unknown', 'the daemon does not answer');
  if (isRefused) showWayIn(error.message);
  document.documentElement.classList.toggle('away', isAway);
  const text = isAway ? 'The daemon does not answer; trying again. Figures below are old.' : sentence(error.message);
  if (current.isShown) {
    if (!isRefused) replace(notice, h('p', {class: 'error', role: 'alert'}, text));
  } else {
    renew(main, h('h1', {}, titleOf(current)), aboutAway(), h('p', isRefused ? {class: 'faint'} : {class: 'error', role: 'alert'},
                                                  isRefused ? 'This screen needs a token.' : text));
  }
}

const aboutAway = () => [...away].map((text) => h('p', {class: 'warning', role: 'status'}, 'Not shown: ' + visible(text)));

function showData(data) {
  const title = titleOf(current, data);
  document.title = title + ' · inboxd';
  (current.isShown ? replace : renew)(main, h('h1', {}, title), aboutAway(), current.module.render(data, current.parameters));
  current.isShown = true;
  if (isAway || notice.querySelector('.error')) replace(notice);
  isAway = false;
  document.documentElement.classList.remove('away');
}

async function load() {
  if (!current.module) return;  // it is on its way, and is loaded then
  loading?.abort();
  clearTimeout(timer);
  const mine = loading = new AbortController();
  const shown = current;
  away.clear();
  try {
    const data = await shown.module.load(shown.parameters, {signal: mine.signal});
    if (mine.signal.aborted) return;
    showData(data);
  } catch (error) {
    if (mine.signal.aborted) return;
    showError(error);
    if (!(error instanceof ApiError)) console.error(error);
  }
  main.removeAttribute('aria-busy');
  main.dataset.address = location.hash;
  schedule();
}

function schedule() {
  clearTimeout(timer);
  const after = isAway ? retry_ms : current.module?.refreshMs;
  if (after && !document.hidden) timer = setTimeout(() => mayDisturb() ? load() : schedule(), after);
}

/** Not while a dialog is open, a button is held down, text is selected or a form is filled in. */
function mayDisturb() {
  const selection = getSelection();
  const hasSelection = !selection.isCollapsed && main.contains(selection.anchorNode);
  return !isPressing && !hasSelection && !document.querySelector('dialog[open]') && !document.activeElement?.closest('main form');
}

async function show() {
  takeTokenFromAddress();
  showWho();
  const {name, parameters} = addressOf(location.hash);
  const screen = screens.find((each) => each.name === name) ?? screens[0];
  const isOther = current.screen !== screen;
  const isFirst = current.screen === null;
  showNavigation(screen);
  main.setAttribute('aria-busy', 'true');
  loading?.abort();
  current = {screen, module: null, parameters, isShown: false};
  const mine = current;
  try {
    const module = await screen.module();
    if (current !== mine) return;
    current.module = module;
  } catch {
    return showError(new ApiError(0, 'The daemon does not answer.', null));
  }
  await load();
  if (!isOther || isFirst || current !== mine) return;
  scrollTo(0, 0);
  main.focus({preventScroll: true});  // a screen reader reads the new screen
}

async function watchLight() {
  try {
    if (!document.hidden && !isAway && current.screen !== screens[0]) showStatus(await get('/v1/status'));
  } catch {
    setLight('unknown', 'the status is unknown');
  }
  setTimeout(watchLight, light_ms);
}

addEventListener('hashchange', show);
addEventListener('pointerdown', () => { isPressing = true; }, true);
for (const end of ['pointerup', 'pointercancel', 'blur']) addEventListener(end, () => { isPressing = false; }, true);
document.addEventListener('visibilitychange', () => document.hidden ? clearTimeout(timer) : current.module && load());
document.addEventListener('inboxd-changed', load);
document.getElementById('skip').addEventListener('click', () => main.focus());
show();
continueCutOff();
watchLight();
