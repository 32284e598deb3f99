// A change: its dry run, a question, then the change of exactly those rows.
import {ApiError, post} from './api.js';
import {h, replace} from './dom.js';
import {number} from './format.js';

const cutOffName = 'inboxd.change';

/** The change that a closed page has cut off: {title, path, body, total}; null: none. */
export const cutOff = () => JSON.parse(sessionStorage.getItem(cutOffName) ?? 'null');
export const forgetCutOff = () => sessionStorage.removeItem(cutOffName);

/** A dialog that runs changes. `state.result` is the last answer. */
function changeDialog(title, resolve) {
  const body = h('div', {});
  const buttons = h('div', {class: 'buttons'});
  const dialog = h('dialog', {'aria-labelledby': 'change-title', class: 'change'}, h('h2', {id: 'change-title'}, title), body, buttons);
  const state = {result: null, isRunning: false, asked: new AbortController()};
  const close = (label) => h('button', {type: 'button', onclick: () => dialog.close()}, label);
  const show = (content, ...row) => {
    replace(body, content);
    buttons.replaceChildren(...row);
    row[0]?.focus();
  };
  const fail = (error) => show(h('p', {class: 'error', role: 'alert'}, error.message), close('Close'));
  dialog.addEventListener('cancel', (event) => { if (state.isRunning) event.preventDefault(); });
  dialog.addEventListener('close', () => {
    state.asked.abort();
    dialog.remove();
    document.dispatchEvent(new CustomEvent('inboxd-changed'));
    resolve(state.result);
  });
  document.body.append(dialog);
  dialog.showModal();

  /** `change`: as cutOff has it. */
  const run = async (change, done) => {
    state.isRunning = true;
    const bar = h('progress', {'aria-label': title});
    const stop = new AbortController();
    show(h('div', {}, h('p', {role: 'status'}, 'Working. If this page is closed, the work stops after some hundred rows; what is done stays done.'), bar),
         h('button', {type: 'button', onclick: () => stop.abort()}, 'Stop'));
    if (change.body.plan) sessionStorage.setItem(cutOffName, JSON.stringify(change));
    try {
      const wasStopped = await inSteps(change, state, bar, stop.signal);
      const what = wasStopped ? h('p', {}, 'Stopped. What was done stays done; the rest is as before.') :
        h('div', {}, h('p', {}, h('strong', {}, 'Done.')), (done ?? factsOf)(state.result));
      show(h('div', {role: 'status'}, what), close('Close'));
      forgetCutOff();
    } catch (error) {
      if (error.status !== 0) forgetCutOff();  // 0: the daemon is away; the rest may follow later
      fail(error);
    }
    state.isRunning = false;
  };
  return {state, show, fail, close, run};
}

/**
 * A request ends before its time limit; with a plan, the same request continues. True: stopped. The daemon stops
 * between two batches once the page has gone.
 */
async function inSteps({path, body, total}, state, bar, signal) {
  for (;;) {
    try {
      state.result = await post(path, body, {signal});
      return false;
    } catch (error) {
      if (error.name === 'AbortError') {
        state.result ??= {};
        return true;
      }
      const part = error.document;
      if (!(error instanceof ApiError) || error.status !== 503 || part?.dry_run !== false || !body.plan) throw error;
      state.result = part;
      if (!total || part.matched === undefined) continue;
      bar.max = total;
      bar.value = total - part.matched + (part.replayed ?? part.discarded ?? part.changed ?? 0);
      bar.title = `${number(bar.value)} of ${number(total)}`;
    }
  }
}

/**
 * `describe`: the dry run's answer → a node about its effect; `verb`: the word on the button; `done`: the last answer →
 * a node about the effect. The change takes the plan of the dry run back, so that rows that came later stay as
 * they are. Resolves to the last answer; null: cancelled.
 */
export function confirmChange({title, path, arguments: given, describe, verb = 'Do it', done}) {
  return new Promise((resolve) => {
    const {state, show, fail, close, run} = changeDialog(title, resolve);
    show(h('p', {class: 'faint'}, 'Looking at what would change…'), close('Cancel'));
    post(path, {...given, 'dry-run': true}, {signal: state.asked.signal}).then((answer) => {
      const body = answer.plan ? {...given, plan: answer.plan} : given;
      const go = h('button', {type: 'button', class: 'primary', onclick: () => run({title, path, body, total: answer.matched}, done)}, verb);
      show(h('div', {}, describe(answer)), go, close('Cancel'));
    }).catch((error) => { if (error.name !== 'AbortError') fail(error); });
  });
}

/** Asks whether to continue a change that was cut off, with the rows of its dry run. */
export function continueCutOff() {
  const change = cutOff();
  if (!change) return;
  const {show, close, run} = changeDialog(change.title, forgetCutOff);
  show(h('p', {}, 'The page was closed while this ran. What was done stays done. Shall the rest follow?'),
       h('button', {type: 'button', class: 'primary', onclick: () => run(change)}, 'Continue'), close('Leave the rest'));
}

/** Numbers and texts of an answer, for changes without words of their own. */
export function factsOf(answer) {
  const facts = Object.entries(answer).filter(([name, value]) =>
    !['dry_run', 'plan', 'message'].includes(name) && ['string', 'number'].includes(typeof value));
  return h('div', {}, answer.message ? h('p', {}, answer.message) : null,
           h('dl', {class: 'facts'}, facts.map(([name, value]) =>
             [h('dt', {}, name.replaceAll('_', ' ')), h('dd', {}, typeof value === 'number' ? number(value) : value)])));
}
