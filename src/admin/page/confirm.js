// A change: its dry run, a question, then the change of exactly those rows.
import {ApiError, post} from './api.js';
import {h, replace} from './dom.js';

/**
 * `describe`: the dry run's answer → a node that says what would happen; `verb`: the word on the button; `done`: the
 * last answer → what has happened. The change takes the plan of the dry run back, so that rows that came later stay as
 * they are. Resolves to the last answer; null: cancelled.
 */
export function confirmChange({title, path, arguments: given, describe, verb = 'Do it', done}) {
  return new Promise((resolve) => {
    const body = h('div', {});
    const buttons = h('div', {class: 'buttons'});
    const dialog = h('dialog', {'aria-labelledby': 'change-title', class: 'change'}, h('h2', {id: 'change-title'}, title), body, buttons);
    const asked = new AbortController();
    const state = {result: null, isRunning: false, shouldStop: false};
    const close = (label) => h('button', {type: 'button', onclick: () => dialog.close()}, label);
    const show = (content, ...row) => {
      replace(body, content);
      buttons.replaceChildren(...row);
      row[0]?.focus();
    };
    const fail = (error) => show(h('p', {class: 'error', role: 'alert'}, error.message), close('Close'));

    const run = async (plan) => {
      state.isRunning = true;
      show(h('div', {}, h('p', {role: 'status'}, 'Working…'), h('progress', {'aria-label': title})),
           h('button', {type: 'button', onclick: (event) => {
             state.shouldStop = true;
             event.currentTarget.disabled = true;
             event.currentTarget.textContent = 'Stopping…';
           }}, 'Stop'));
      try {
        await inSteps(path, plan ? {...given, plan} : given, state);
        const what = done ? done(state.result) : h('p', {}, state.result.message ?? 'Done.');
        show(h('div', {role: 'status'}, what, state.wasStopped ? h('p', {}, 'Stopped. The rest is as before.') : null), close('Close'));
      } catch (error) {
        fail(error);
      }
      state.isRunning = false;
    };

    dialog.addEventListener('cancel', (event) => { if (state.isRunning) event.preventDefault(); });
    dialog.addEventListener('close', () => {
      asked.abort();
      dialog.remove();
      document.dispatchEvent(new CustomEvent('inboxd-changed'));
      resolve(state.result);
    });
    document.body.append(dialog);
    dialog.showModal();
    show(h('p', {class: 'faint'}, 'Looking at what would change…'), close('Cancel'));
    post(path, {...given, 'dry-run': true}, {signal: asked.signal}).then((answer) => {
      const go = h('button', {type: 'button', class: 'primary', onclick: () => run(answer.plan)}, verb);
      show(h('div', {}, describe(answer)), go, close('Cancel'));
    }).catch((error) => { if (error.name !== 'AbortError') fail(error); });
  });
}

/** A request ends before its time limit; with a plan, the same request continues. */
async function inSteps(path, body, state) {
  for (;;) {
    try {
      state.result = await post(path, body);
      return;
    } catch (error) {
      const isPart = error instanceof ApiError && error.status === 503 && error.document?.dry_run === false;
      if (!isPart || !body.plan) throw error;
      state.result = error.document;
      state.wasStopped = state.shouldStop;
      if (state.shouldStop) return;
    }
  }
}
