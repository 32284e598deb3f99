// A change: its dry run, a question, then the change of exactly those rows.
import {ApiError, post} from './api.js';
import {h, replace} from './dom.js';
import {number} from './format.js';

/**
 * `describe`: the dry run's answer → what would happen; `verb`: the button's word; `done`: the last answer → what
 * happened. The dry run's plan binds the change: rows that came later stay as they are. Resolves to the last answer;
 * null: cancelled.
 */
export function confirmChange({title, path, arguments: given, describe, verb = 'Do it', done}) {
  return new Promise((resolve) => {
    const body = h('div', {class: 'content'}, h('p', {class: 'faint'}, 'Looking what would change…'));
    const buttons = h('div', {class: 'buttons'});
    const dialog = h('dialog', {'aria-labelledby': 'change-title', class: 'change'}, h('h2', {id: 'change-title'}, title), body, buttons);
    const stop = new AbortController();
    let result = null;
    let isRunning = false;
    const close = (label) => h('button', {type: 'button', onclick: () => dialog.close()}, label);
    const show = (content, ...row) => {
      replace(body, content);
      buttons.replaceChildren(...row);
      row[0]?.focus();
    };
    const fail = (error) => show(h('p', {class: 'error', role: 'alert'}, error.message), close('Close'));
    dialog.addEventListener('cancel', (event) => { if (isRunning) event.preventDefault(); });
    dialog.addEventListener('close', () => {
      stop.abort();
      dialog.remove();
      document.dispatchEvent(new CustomEvent('inboxd-changed'));
      resolve(result);
    });

    const run = async (plan) => {
      isRunning = true;
      const halt = h('button', {type: 'button', onclick: () => {
        halt.disabled = true;
        halt.textContent = 'Stopping…';
        shouldStop = true;
      }}, 'Stop');
      let shouldStop = false;
      let steps = 0;
      try {
        for (;;) {
          show(h('div', {}, h('p', {role: 'status'}, steps === 0 ? 'Working…' : `Working… ${number(steps)} steps of at most some seconds are done.`),
                 h('progress', {'aria-label': title})), halt);
          try {
            result = await post(path, plan ? {...given, plan} : given);
            break;
          } catch (error) {
            // An early end: the rest of the plan is done by the same request again.
            if (!(error instanceof ApiError) || error.status !== 503 || !plan || error.document?.dry_run === undefined) throw error;
            result = error.document;
            ++steps;
            if (shouldStop) break;
          }
        }
        show(h('div', {role: 'status'}, done ? done(result) : h('p', {}, result.message ?? 'Done.'),
               shouldStop ? h('p', {}, 'Stopped; what was done stays done.') : ''), close('Close'));
      } catch (error) {
        fail(error);
      }
      isRunning = false;
    };

    document.body.append(dialog);
    dialog.showModal();
    buttons.replaceChildren(close('Cancel'));
    post(path, {...given, 'dry-run': true}, {signal: stop.signal}).then((answer) => {
      const go = h('button', {type: 'button', class: 'primary', onclick: () => run(answer.plan)}, verb);
      show(h('div', {}, describe(answer), answer.message ? h('p', {class: 'faint'}, answer.message) : ''), go, close('Cancel'));
    }).catch((error) => { if (error.name !== 'AbortError') fail(error); });
  });
}
