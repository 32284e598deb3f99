// One event: its content, its state for each handler, its history.
import {copyCommand, contentView, headersView, longValue} from '../content.js';
import {discardLetters, editLetter, replayLetters, retryEvent, skipEvent} from '../actions.js';
import {get} from '../api.js';
import {h} from '../dom.js';
import {duration, time} from '../format.js';
import {backLink, badge, button, empty, facts, route, stateBadge, table, when} from '../list.js';
import {commandOf, isText, keyParameters, short, shortBytes, visible} from '../values.js';
import {eventTable} from './events.js';

export const title = 'Event';

export async function load({id}, {signal}) {
  try {
    const shown = await get('/v1/events/show', {id}, {signal});
    const traced = await get('/v1/events/trace', {id: shown.event.event_id}, {signal});
    return {...shown, timeline: traced.timeline};
  } catch (error) {
    if (error.status !== 404) throw error;
    return {candidates: error.document?.events ?? [], message: error.message};
  }
}

export function render(data, parameters) {
  if (data.candidates) {
    return h('div', {}, backLink(route('events')),
             data.candidates.length > 0 ? h('p', {}, 'Several events have this id.') : '',
             data.candidates.length > 0 ? eventTable(data.candidates) : empty(visible(data.message)));
  }
  const {event, shard} = data;
  const keyed = keyParameters(event.key);
  return h('div', {class: 'event'},
    backLink(route('events')),
    h('h2', {class: 'wraps'}, event.topic ? visible(`${event.topic}/${event.partition}/${event.offset}`) : event.event_id),
    event.is_purged ? h('p', {class: 'warning'}, event.payload === undefined ? 'Purged from the inbox.' : 'Purged from the inbox; shown from the dead letter.') : '',
    h('p', {class: 'buttons'}, copyCommand(commandOf(['events', 'show', event.event_id])),
      keyed && isText(event.key) && event.key.length <= 1_000 ? h('a', {href: route('events', {q: event.key})}, 'Events with this key') : ''),
    facts([
      ['Event id', event.event_id],
      ['Shard', shard],
      ['Producer’s id', event.source_id && longValue(event.source_id)],
      ['Type', event.event_type && longValue(event.event_type)],
      ['Source', event.source && longValue(event.source)],
      ['Subject', event.subject && longValue(event.subject)],
      ['Key', event.key === null || event.key === undefined ? 'none' : longValue(event.key)],
      ['Occurred', event.occurred_at && when(event.occurred_at)],
      ['Written to Kafka', event.kafka_timestamp && when(event.kafka_timestamp)],
      ['Not before', event.deliver_at && when(event.deliver_at)],
      ['Received', event.received_at && when(event.received_at)]]),
    h('section', {}, h('h3', {}, 'Handlers'), handlersOf(data)),
    h('section', {}, h('h3', {}, 'History'), historyOf(data.timeline)),
    data.failures.length > 0 ? h('section', {}, h('h3', {}, 'Errors'), ...data.failures.map(failureOf)) : '',
    event.decoded === undefined ? '' : contentView('Decoded body', event.decoded),
    event.payload === undefined ? '' : contentView('Body', event.payload, event.payload_size),
    ...(data.edits ?? []).map(editOf),
    event.headers === undefined ? '' : h('section', {}, h('h3', {}, 'Headers'), headersView(event.headers)));
}

function handlersOf({event, handlers, shard}) {
  if (handlers.length === 0) return h('p', {class: 'faint'}, 'No handler subscribes to it.');
  return table({
    caption: 'State for each handler', rows: handlers,
    columns: [
      {title: 'Handler', cell: ({handler}) => h('a', {href: route('handlers', {handler, shard})}, visible(handler))},
      {title: 'State', cell: (state) => h('span', {}, stateBadge(state.state), state.waits_for ? ` for ${state.waits_for}` : '')},
      {title: 'Attempts', isNumber: true, cell: ({attempts}) => String(attempts)},
      {title: 'When', cell: (state) => state.finished_at ? when(state.finished_at) : state.due_at ? h('span', {}, state.state === 'leased' ? 'lease until ' : 'due ', when(state.due_at)) : '–'},
      {title: 'Last error', cell: ({last_error}) => last_error ? longValue(last_error, 120) : '–'}],
    actions: (state) => actionsFor(event, state)});
}

/** The changes that the event's state allows. */
function actionsFor({event_id}, {handler, state, dead_letter_id}) {
  if (state === 'retrying') {
    return [button('Retry now…', () => retryEvent(event_id, handler)), button('Skip…', () => skipEvent(event_id, handler))];
  }
  if (state === 'due' || state === 'waiting') return [button('Skip…', () => skipEvent(event_id, handler))];
  if (dead_letter_id === undefined) return [];
  const letter = {id: [String(dead_letter_id)]};
  const edit = async () => {
    const {dead_letters} = await get('/v1/dead/show', {id: String(dead_letter_id)}, {});
    return editLetter(dead_letters[0]);
  };
  return [...(state === 'parked' ? [] : [button('Replay…', () => replayLetters(letter)), button('Edit…', edit)]),
          button('Discard…', () => discardLetters(letter))];
}

const placeInText = /([^\s:]+\/\d+\/\d+)/;

function detailOf(what, detail) {
  const place = what.startsWith('message') ? placeInText.exec(detail) : null;
  if (!place) return longValue(detail, 200);
  return h('span', {}, visible(detail.slice(0, place.index)),
           h('a', {href: route('event', {id: place[1]})}, visible(place[1])), visible(detail.slice(place.index + place[1].length)));
}

function historyOf(timeline) {
  const shown = timeline.slice(0, 500);
  let before;
  return h('div', {}, h('ol', {class: 'timeline'}, ...shown.map(({at, what, handler, detail}) => {
    const since = before === undefined ? null : (Date.parse(at) - before) / 1000;
    before = Date.parse(at);
    return h('li', {class: /failed|dead|expired/.test(what) ? 'bad' : what === 'done' ? 'good' : ''},
             time(at), since > 0 ? h('span', {class: 'faint'}, ` +${duration(since)}`) : '',
             ' ', h('strong', {}, short(what)), handler ? h('span', {}, ' ', badge(visible(handler))) : '', ' ',
             detail ? h('span', {class: 'detail'}, detailOf(what, detail)) : '');
  })), timeline.length > shown.length ? h('p', {class: 'faint'}, `${timeline.length - shown.length} later entries: copy the command.`) : '');
}

const failureOf = ({handler, attempt, occurred_at, error_class, message, duration_seconds}) => h('article', {class: 'failure'},
  h('h4', {}, `${visible(handler)}, attempt ${attempt}: ${short(error_class) || 'failed'}`),
  h('p', {class: 'faint'}, when(occurred_at), duration_seconds ? ` after ${duration(duration_seconds)}` : ''),
  longValue(message, 2_000));

const editOf = (edit) => h('section', {},
  contentView(`Edited body for ${visible(edit.handler)}`, edit.payload, edit.payload_size),
  h('p', {class: 'faint'}, `by ${visible(edit.edited_by)}, `, when(edit.edited_at)),
  h('details', {}, h('summary', {}, 'Headers of the edit'), headersView(edit.headers)));
