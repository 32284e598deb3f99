// Messages that the relay sends, and messages that the brokers refuse.
import {outcome} from '../actions.js';
import {confirmChange} from '../confirm.js';
import {copyCommand} from '../content.js';
import {get} from '../api.js';
import {h} from '../dom.js';
import {duration, number} from '../format.js';
import {button, empty, facts, table, when} from '../list.js';
import {commandOf, short, shortBytes, visible} from '../values.js';

export const title = 'Outbox';
export const refreshMs = 5_000;

const shown = 500;
export const load = (parameters, {signal}) => get('/v1/outbox/list', {limit: shown}, {signal});

const count = (list, name) => (list['at_least_' + name] ? '≥ ' : '') + number(list[name]);

export function render(list) {
  return h('div', {},
    facts([['To send', count(list, 'backlog')], ['Stopped, or waiting for a stopped message', count(list, 'waiting')],
           ['Oldest', list.oldest_seconds === null ? null : duration(list.oldest_seconds)]]),
    list.stopped.length === 0 ? empty('No message is stopped.', list.backlog === 0 ? 'Handlers publish with their outbox or with inbox.publish; messages appear here until all in-sync replicas have them.' : '') : stopped(list),
    h('p', {}, copyCommand(commandOf(['outbox', 'list']))));
}

const change = (verb, title_, selection, effect) => confirmChange({
  title: title_, path: '/v1/outbox/' + verb, done: outcome, arguments: selection, verb: title_,
  describe: ({matched, topics}) => h('p', {}, `${number(matched)} stopped ${matched === 1 ? 'message' : 'messages'} (${Object.entries(topics).map(([name, many]) => `${visible(name)}: ${number(many)}`).join(', ')}) ${effect}`)});

const retry = (selection) => change('retry', 'Send again', selection, 'are sent again within a second, then the messages that wait for them.');
const skip = (selection) => change('skip', 'Delete for good', selection, 'are deleted for good; messages that wait for them are sent.');
const of = (label, work, selection) => button(label, () => work(selection));

const stopped = ({stopped: rows}) => h('div', {},
  h('p', {class: 'buttons'}, of('Send all again…', retry, {all: true})),
  table({
    caption: 'Stopped messages, oldest first', rows,
    columns: [
      {title: 'Number', cell: ({outbox_id}) => String(outbox_id)},
      {title: 'Topic', cell: (row) => visible(row.topic) + (row.whole_topic ? ' (every message waits)' : '')},
      {title: 'Key', cell: ({key}) => shortBytes(key, 40)},
      {title: 'Error', cell: ({error}) => short(error, 300)},
      {title: 'Attempts', isNumber: true, cell: ({attempts}) => String(attempts)},
      {title: 'Wait', isNumber: true, cell: ({waiting}) => number(waiting)},
      {title: 'Stopped', cell: ({stopped_at}) => when(stopped_at)},
      {title: 'Next try', cell: ({due_at}) => due_at ? when(due_at) : 'an operator has to act'}],
    actions: ({outbox_id}) => [of('Send again…', retry, {id: [String(outbox_id)]}), of('Delete…', skip, {id: [String(outbox_id)]})]}),
  rows.length === shown ? h('p', {class: 'faint'}, `The oldest ${shown}.`) : '');
