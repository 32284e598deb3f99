// Every key in force in the daemon that serves this page.
import {copyCommand, settingsTable} from '../content.js';
import {get} from '../api.js';
import {h} from '../dom.js';
import {empty, filters} from '../list.js';
import {commandOf, visible} from '../values.js';

export const title = 'Configuration';

export const load = (parameters, {signal}) => get('/v1/config/show', {}, {signal}).catch((error) => {
  if (error.status !== 404) throw error;
  return {missing: error.message};  // the page of several databases
});

export function render({file, settings, missing}, parameters) {
  if (missing) return empty(visible(missing));
  const text = (parameters.key ?? '').toLowerCase();
  const rows = settings.filter(({key, origin}) => key.toLowerCase().includes(text) && (parameters.origin !== 'set' || origin !== 'default'));
  return h('div', {},
    h('p', {}, 'From ', h('code', {}, visible(file)), ', as the daemon that serves this page has it. Secrets are stars.'),
    filters('configuration', [{name: 'key', label: 'Key', value: parameters.key, isSearch: true, isWide: true},
                              {name: 'origin', label: 'Show', value: parameters.origin, options: ['set']}]),
    rows.length === 0 ? empty('No key matches.') : settingsTable(rows),
    h('p', {}, copyCommand(commandOf(['config', 'show'], {running: true}))));
}
