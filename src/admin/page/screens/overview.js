import {get} from '../api.js';
import {h} from '../dom.js';

export const title = 'Overview';
export const refreshMs = 5000;
export const load = (parameters, options) => get('/v1/status', {}, options);
export const render = (status) => h('p', {class: 'verdict'}, status.verdict);
