// Is anything wrong? Does it keep up?
import {get} from '../api.js';
import {h} from '../dom.js';
import {showStatus, toneOf} from '../light.js';

export const title = 'Overview';
export const refreshMs = 3_000;

export async function load(parameters, {signal}) {
  const status = await get('/v1/status', {}, {signal});
  showStatus(status);
  return {status};
}

export const render = ({status}) => h('p', {class: 'verdict ' + toneOf(status)}, status.verdict);
